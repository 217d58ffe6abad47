"""`coordinator_tree` in the explorer of the product: crashes, losses, repeats and hasty timers, up to a horizon.

The long run, with partitions that come and go, is `test_exhaustive.py`.
"""

from pathlib import Path
from typing import Any

from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import scenario_from_document


def explored(sites: int, duration_us: int, limits: Limits, **options: Any) -> Exploration:
    """One message, every order of events, all guarantees at every end; with the defaults of options not given."""
    document = {
        "protocol": "coordinator_tree",
        "sites": sites,
        "duration_us": duration_us,
        "options": options,
        "workload": {"messages": 1, "every_us": 1, "senders": ["a"]},
    }
    found = explore(scenario_from_document(document, "explored", Path()), limits)
    assert found.violation is None, found.violation
    assert found.finished and found.ends > 0
    return found


def test_a_crash_at_any_point() -> None:
    assert explored(2, 1_000_000, Limits(crashes=1)).stands_for > 5_000


def test_a_loss_at_any_point() -> None:
    assert explored(3, 700_000, Limits(losses=1)).stands_for > 500
    hasty = {"measure_periods": 0, "report_periods": 1, "silence": 2, "patience": 2}
    assert explored(3, 700_000, Limits(losses=1), **hasty).stands_for > 2_000


def test_a_message_twice_and_a_hasty_timer() -> None:
    explored(2, 500_000, Limits(repeats=1, early=1))


def test_stability_with_a_loss() -> None:
    explored(2, 500_000, Limits(losses=1), report_periods=1)
