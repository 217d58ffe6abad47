"""Agreed delivery: earlier than safe delivery, and all promised but what needs everybody to have the message."""

import msgspec

from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.sim.swarm.swarm import first_failure

# A site that leaves the ring may have delivered what the others never get.
NOT_PROMISED = ("agreement", "uniform_agreement", "safe")
AGREED = msgspec.structs.replace(
    PROTOCOL,
    guarantees=tuple(name for name in PROTOCOL.guarantees if name not in NOT_PROMISED),
    variations={"delivery": ("agreed",)},
)


def test_order_and_views_are_kept() -> None:
    assert first_wrong_walk(AGREED, 3, 4, range(100), {"delivery": "agreed"}) is None
    assert first_failure(AGREED, range(15)) is None


def test_safe_is_not() -> None:
    safe = msgspec.structs.replace(AGREED, guarantees=("safe",))
    found = first_wrong_walk(safe, 3, 4, range(100), {"delivery": "agreed"})
    assert found is not None and "safe" in found
