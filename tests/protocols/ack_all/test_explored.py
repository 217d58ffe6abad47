"""Every order of events of `ack_all` among three sites."""

from pathlib import Path

from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import load_scenario

SMALL = Path(__file__).parents[3] / "examples" / "explore.toml"


def explored(limits: Limits) -> Exploration:
    found = explore(load_scenario(SMALL), limits)
    assert found.violation is None, found.violation
    assert found.finished and found.ends > 0
    return found


def test_nothing_goes_wrong() -> None:
    assert explored(Limits()).executions == 9072


def test_losses_repeats_and_hasty_timers() -> None:
    explored(Limits(losses=2))
    explored(Limits(losses=1, early=1))
    explored(Limits(repeats=1))


def test_a_crash_at_any_point() -> None:
    found = explored(Limits(crashes=1))
    assert found.stands_for > 10_000


def test_two_losses_and_a_crash() -> None:
    explored(Limits(losses=2, crashes=1))
