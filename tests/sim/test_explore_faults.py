"""What the explorer lets happen: each kind of fault finds the bug that only it can find, and none where none is."""

from typing import Any

import pytest

from tests.sim.toys import toy
from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore

FAULTS: dict[str, tuple[Limits, str, dict[str, Any]]] = {  # kind: how many, the bug it finds, in which scenario
    "a wipe, and a number again": (Limits(wipes=1), "numbers", {"messages": 2}),
    "a wipe, and nobody tells": (Limits(wipes=1), "ticks", {}),
    "an older disk, and a number again": (Limits(restores=1), "numbers", {"messages": 2}),
    "a return, and nobody listens": (Limits(leaves=1), "bye", {}),
    "a dead link, and nobody relays": (Limits(dead_links=1), "relay", {"sites": 3, "ticks": 1}),
    "a loss, and it was said once": (Limits(losses=1), "once", {}),
    "a crash, and no rest after it": (Limits(crashes=1), "restless", {}),
}


def explored(found: Exploration) -> Exploration:
    assert found.violation is None, found.violation
    assert found.finished and found.ends > 0 and found.settled > 0 and found.unknown == 0
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_bug_is_found_by_its_fault_and_by_no_other(name: str) -> None:
    limits, bug, world = FAULTS[name]
    found = explore(toy(bug, **world), limits).violation
    assert found is not None
    explored(explore(toy(bug, **world), Limits()))
    explored(explore(toy(**world), limits))


def test_everybody_leaves_and_returns() -> None:
    found = explored(explore(toy(), Limits(leaves=2)))
    assert found.states > explored(explore(toy(), Limits(leaves=2, returns=1))).states
    assert explored(explore(toy(), Limits(leaves=1, returns=0))).states < found.states


SCRIPTS: dict[str, tuple[list[dict[str, Any]], str, dict[str, Any]]] = {
    "wipe": ([{"at_us": 0, "wipe": ["a"]}, {"at_us": 1, "recover": ["a"]}], "numbers", {"messages": 2}),
    "damage": ([{"at_us": 0, "damage": ["a"]}, {"at_us": 1, "recover": ["a"]}], "numbers", {"messages": 2}),
    "restore": (
        [{"at_us": 0, "save": ["a"]}, {"at_us": 1, "restore": ["a"]}, {"at_us": 2, "recover": ["a"]}],
        "numbers",
        {"messages": 2},
    ),
    "leave": ([{"at_us": 0, "leave": ["b"]}, {"at_us": 1, "restart": ["b"]}], "bye", {}),
    "dead": ([{"at_us": 0, "dead": [["a", "c"]]}], "relay", {"sites": 3, "ticks": 1}),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_faults_of_a_scenario_happen_at_any_point(name: str) -> None:
    faults, bug, world = SCRIPTS[name]
    assert explore(toy(bug, faults=faults, **world), Limits()).violation is not None
    explored(explore(toy(faults=faults, **world), Limits()))


def test_a_stopped_process_hears_and_says_nothing_until_it_goes_on() -> None:
    pause = {"at_us": 0, "pause": ["b"]}
    resume = {"at_us": 1, "resume": ["b"]}
    found = explore(toy(faults=[pause, resume]), Limits())
    assert explored(found).states > explored(explore(toy(), Limits())).states
    stopped = explore(toy(faults=[pause]), Limits(), None)
    assert stopped.violation is not None and "b" in stopped.violation.why, "it is up, and has nothing"


def test_a_new_partition_takes_the_place_of_the_old_one() -> None:
    faults = [{"at_us": 0, "partition": [["a"], ["b"]]}, {"at_us": 1, "partition": [["a", "b"]]}]
    explored(explore(toy(faults=faults), Limits()))


def test_whom_the_scenario_lets_leave_the_scenario_brings_back() -> None:
    leave = [{"at_us": 0, "leave": ["b"]}]
    gone = explored(explore(toy(faults=leave), Limits()))
    assert gone.states < explored(explore(toy(faults=leave), Limits(returns=1))).states
