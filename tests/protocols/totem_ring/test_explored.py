"""Every order of events of `totem_ring` in small rings. Idle tokens are held long: time must pass between visits."""

import msgspec
import pytest

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.sim.explore.exploration import Limits

PATIENT = {"idle_us": 5_000, "retry_us": 50_000}
BRISK = {"idle_us": 5_000, "retry_us": 6_000, "loss_us": 1, "join_us": 30_000, "consensus_us": 20_000}
NEVER = 10_000_000
BY_MESSAGES = {
    "idle_us": 1_000,
    **dict.fromkeys(("retry_us", "loss_us", "join_us", "consensus_us", "beacon_us"), NEVER),
}
QUICK = {"idle_us": 10_000, "retry_us": 15_000}


def test_nothing_goes_wrong() -> None:
    explored(small(PROTOCOL, 2, 1, 40_000, PATIENT), Limits())
    explored(small(PROTOCOL, 3, 1, 40_000, PATIENT), Limits())


def test_a_loss_at_any_point() -> None:
    explored(small(PROTOCOL, 2, 1, 120_000, QUICK), Limits(losses=1))
    explored(small(PROTOCOL, 3, 1, 120_000, {**BRISK, "beacon_us": 1_000_000}), Limits(losses=1))


def test_a_crash_at_any_point() -> None:
    """The two that are left notice, gather, exchange, install a ring, and deliver in it what the old one left."""
    limits = Limits(crashes=1, recoveries=0)
    assert explored(small(PROTOCOL, 3, 1, 300_000, {**BRISK, "beacon_us": 1_000_000}), limits).stands_for > 50_000


# Who comes back gathers a new ring by messages alone: no timer but that of an idle token need fire. While it is away
# nothing is owed, so a run ends when everybody is back.
RETURNING = msgspec.structs.replace(
    PROTOCOL, assumptions=msgspec.structs.replace(PROTOCOL.assumptions, crashes_recover=True)
)


def test_a_crash_and_a_return_when_nothing_is_in_flight() -> None:
    limits = Limits(crashes=1, late_recoveries=True)
    assert explored(small(RETURNING, 3, 1, 9_000, BY_MESSAGES), limits).stands_for > 90_000


@pytest.mark.long
def test_a_crash_and_a_return_at_any_point() -> None:
    assert explored(small(RETURNING, 3, 1, 9_000, BY_MESSAGES), Limits(crashes=1)).stands_for > 500_000
