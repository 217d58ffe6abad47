"""Every order of events of `push_gossip` in small groups."""

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.push_gossip import PROTOCOL
from tocsin.sim.explore.exploration import Limits


def test_losses_repeats_and_hasty_timers() -> None:
    explored(small(PROTOCOL, 3, 2, 100_000, {"steps": 2}), Limits(losses=1))
    explored(small(PROTOCOL, 3, 1, 100_000, {"steps": 3}), Limits(losses=2, early=1, repeats=1))


def test_a_crash_at_any_point() -> None:
    explored(small(PROTOCOL, 3, 2, 100_000, {"steps": 2}), Limits(crashes=1))
    assert explored(small(PROTOCOL, 3, 2, 100_000, {"steps": 2}), Limits(crashes=1, losses=1)).stands_for > 40_000
