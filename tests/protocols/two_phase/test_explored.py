"""Every order of events of `two_phase` in small groups."""

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.two_phase import PROTOCOL
from tocsin.sim.explore.exploration import Limits


def test_nothing_goes_wrong() -> None:
    assert explored(small(PROTOCOL, 3, 2, 100_000), Limits()).stands_for > 5_000


def test_losses_repeats_and_hasty_timers() -> None:
    explored(small(PROTOCOL, 3, 1, 300_000), Limits(losses=2))
    explored(small(PROTOCOL, 3, 1, 300_000), Limits(losses=1, early=1))
    explored(small(PROTOCOL, 2, 2, 300_000), Limits(repeats=1, losses=1))


def test_a_crash_at_any_point() -> None:
    explored(small(PROTOCOL, 3, 1, 1_000_000), Limits(crashes=1))
    assert explored(small(PROTOCOL, 3, 1, 700_000), Limits(crashes=1, losses=1)).stands_for > 50_000
