"""Agreed delivery: earlier than safe delivery, and all promised but what needs everybody to have the message."""

import re

import msgspec

from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

# A site that leaves the ring may have delivered what the others never get.
NOT_PROMISED = ("agreement", "uniform_agreement", "safe")
LACKED = re.compile("settled: site ., up and connected, has not delivered ")  # by settled, for the same reason
AGREED = msgspec.structs.replace(
    PROTOCOL,
    guarantees=tuple(name for name in PROTOCOL.guarantees if name not in NOT_PROMISED),
    variations={"delivery": ("agreed",)},
)


def test_order_and_views_are_kept() -> None:
    assert first_wrong_walk(AGREED, 3, 4, range(100), {"delivery": "agreed"}) is None
    for seed in range(15):
        outcome = run_seed(AGREED, seed, only=EARLIER)
        if outcome.violated is not None:  # all take part in one ring, and nothing is left undone
            assert LACKED.match(outcome.violated) and not outcome.neglected, outcome


def test_safe_is_not() -> None:
    safe = msgspec.structs.replace(AGREED, guarantees=("safe",))
    found = first_wrong_walk(safe, 3, 4, range(100), {"delivery": "agreed"})
    assert found is not None and "safe" in found
