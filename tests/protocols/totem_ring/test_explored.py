"""Every order of events of `totem_ring` in small rings. Idle tokens are held long: time must pass between visits."""

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.sim.exploration import Limits

PATIENT = {"idle_us": 5_000, "retry_us": 50_000}
BRISK = {"idle_us": 5_000, "retry_us": 6_000, "loss_us": 1, "join_us": 30_000, "consensus_us": 20_000}
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
    assert explored(small(PROTOCOL, 3, 1, 150_000, {**BRISK, "beacon_us": 1_000_000}), limits).states > 50_000
