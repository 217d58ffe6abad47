"""Every order of events of `propagation_graph` among three sites with overlapping groups."""

import msgspec
import pytest

from tests.protocols.propagation_graph.overlapping import CHAIN, THREE, overlapping
from tests.protocols.small import explored
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore

CHANGE = [{"at_us": 0, "change": {"x": ["a", "b", "c"]}}]  # c joins x at any moment
CHANGES = [*CHANGE, {"at_us": 1, "change": {"y": ["a", "b"]}}]  # then a joins y, and c leaves it
HURRIED = {  # so that a failure is noticed, and a graph decided on, within a few periods
    "failures": "non_atomic",
    "null_us": 300_000,
    "suspect_after": 1,
    "resend_us": 100_000,
    "ack_us": 10_000,
    "grace_us": 100_000,
}

SURVIVORS = msgspec.structs.replace(
    PROTOCOL,
    guarantees=("integrity", "validity", "agreement", "fifo", "single_source"),
    assumptions=msgspec.structs.replace(PROTOCOL.assumptions, crashes_recover=False),
)


def test_three_groups_three_messages_two_losses() -> None:
    assert explored(overlapping(PROTOCOL, THREE, 3, 600_000), Limits(losses=2)).stands_for > 10_000


def test_repeats_and_hasty_timers() -> None:
    explored(overlapping(PROTOCOL, THREE, 2, 600_000), Limits(losses=1, repeats=1))
    explored(overlapping(PROTOCOL, THREE, 2, 600_000), Limits(losses=1, early=1))


def test_a_crash_at_any_point() -> None:
    explored(overlapping(PROTOCOL, THREE, 2, 600_000), Limits(crashes=1))


@pytest.mark.long
def test_a_crash_and_two_losses_among_three_messages() -> None:
    """All that the three sites can live through with that."""
    found = explored(overlapping(PROTOCOL, THREE, 3, 600_000), Limits(crashes=1, losses=2))
    assert found.stands_for > 3_000_000


def test_a_group_changes_at_any_point() -> None:
    explored(overlapping(PROTOCOL, THREE, 1, 600_000, faults=CHANGE), Limits(losses=1))


@pytest.mark.parametrize(
    ("messages", "states"),
    [
        (1, 50_000),
        pytest.param(1, 5_000_000, marks=pytest.mark.long),
        pytest.param(2, 5_000_000, marks=pytest.mark.long),
    ],
)
def test_two_changes_at_once(messages: int, states: int) -> None:
    """Not to the end, which is beyond 5 million states since changes are voted on; walks go further."""
    scenario = overlapping(PROTOCOL, THREE, messages, 600_000, faults=CHANGES)
    found = explore(scenario, Limits(states_max=states))
    assert found.violation is None, found.violation
    assert found.states >= states


def test_walks_with_changes_at_once() -> None:
    groups = [[0, 1], [1, 2], [0, 2]]
    assert first_wrong_walk(PROTOCOL, 3, 4, range(150), {}, groups, ["asked"]) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("messages", "limits", "states"),
    [
        (3, Limits(losses=1), 700_000),
        (2, Limits(crashes=1), 900_000),
        (1, Limits(crashes=1, losses=1), 500_000),
    ],
    ids=["three messages and a loss", "two messages and a crash", "a message, a crash and a loss"],
)
def test_a_group_changes_among_messages_losses_and_crashes(messages: int, limits: Limits, states: int) -> None:
    found = explored(overlapping(PROTOCOL, THREE, messages, 600_000, faults=CHANGE), limits)
    assert found.stands_for > states


def test_nothing_goes_wrong_in_the_non_atomic_way() -> None:
    explored(overlapping(PROTOCOL, CHAIN, 2, 300_000, HURRIED), Limits())


def test_a_site_fails_for_good_in_the_non_atomic_way() -> None:
    """At the end the survivors have everything that one of them has. (What the failed one had is not promised.)"""
    found = explored(overlapping(SURVIVORS, CHAIN, 1, 1_500_000, HURRIED), Limits(crashes=1, recoveries=0))
    assert found.ends > 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("messages", "limits", "states"),
    [(1, Limits(crashes=1), 2_000_000), (2, Limits(crashes=1, late_recoveries=True), 1_800_000)],
    ids=["a message", "two messages, back when nothing is in flight"],
)
def test_a_site_fails_and_comes_back_in_the_non_atomic_way(messages: int, limits: Limits, states: int) -> None:
    """At any point, both: before it is missed, while a graph without it is decided, and after. Some roll back."""
    found = explored(overlapping(PROTOCOL, CHAIN, messages, 1_500_000, HURRIED), limits)
    assert found.stands_for > states
