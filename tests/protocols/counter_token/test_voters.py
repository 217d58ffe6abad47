"""Voters are added and removed while messages flow, and told so."""

from typing import Any

import pytest

from tests.protocols.counter_token.runs import ran
from tocsin.properties.plain.check import check_rows
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.protocols.counter_token.machine import CounterToken
from tocsin.sim.calm import calm_at_end
from tocsin.sim.run import named_groups
from tocsin.sim.simulation import Simulation

SECOND = 1_000_000


def changed(*faults: dict[str, Any], sites: int = 5, **more: Any) -> Simulation:
    """The run, after everything promised was checked, that it settles too."""
    document = {
        "sites": sites,
        "duration_us": 60 * SECOND,
        "workload": {"messages": 1_000, "every_us": 40_000},
        "network": {"model": "mesh", "delay_us": [50, 500]},
        "faults": list(faults),
        **more,
    }
    scenario, simulation, trace = ran(document)
    report = check_rows(
        trace.rows(),
        named_groups(scenario),
        one_clock=True,
        properties=scenario.promised(),
        calm=calm_at_end(scenario, simulation),
    )
    failed = {name: verdict.why for name, verdict in report.properties.items() if verdict.verdict == "fail"}
    assert not failed, failed
    assert report.properties["settled"].verdict == "pass", report.properties["settled"]
    return simulation


def machine_of(simulation: Simulation, site: int) -> CounterToken:
    machine = simulation.world.sites[site].machine
    assert isinstance(machine, CounterToken)
    return machine


def voters(simulation: Simulation, site: int = 0) -> list[int]:
    return [voter for voter, _ in machine_of(simulation, site)._context.view.voters]


def test_a_voter_is_added_and_counts() -> None:
    """Of three voters two would do; of four, without a and b, c and d do not: e is the fifth."""
    simulation = changed(
        {"at_us": SECOND, "add": ["d"], "by": "a"},
        {"at_us": 2 * SECOND, "add": ["e"], "by": "b"},
        {"at_us": 4 * SECOND, "crash": ["a", "b"]},
    )
    assert voters(simulation, 2) == [0, 1, 2, 3, 4]
    assert sorted(machine_of(simulation, 4)._context.view.members) == [2, 3, 4]


@pytest.mark.parametrize("asked", ["a", "c", "e"])
def test_a_removed_voter_is_told_while_it_is_there(asked: str) -> None:
    simulation = changed({"at_us": 2 * SECOND, "remove": ["b"], "by": asked})
    assert voters(simulation) == [0, 2, 3, 4]
    assert machine_of(simulation, 1).removed() and machine_of(simulation, 1).quiet()


@pytest.mark.parametrize("crash_us", [SECOND, 3 * SECOND])
def test_a_removed_voter_that_comes_back_is_told(crash_us: int) -> None:
    """It was away when it was removed, or was told and has forgotten."""
    simulation = changed(
        {"at_us": crash_us, "crash": ["b"]},
        {"at_us": 2 * SECOND, "remove": ["b"], "by": "d"},
        {"at_us": 5 * SECOND, "recover": ["b"]},
    )
    assert voters(simulation) == [0, 2, 3, 4]
    assert machine_of(simulation, 1).removed()
    assert PROTOCOL.assumptions.voter_changes


def test_a_removed_voter_that_is_of_no_group_is_told() -> None:
    groups = {"all": ["a", "c", "d", "e"]}
    simulation = changed({"at_us": 2 * SECOND, "remove": ["b"], "by": "a"}, groups=groups)
    assert machine_of(simulation, 1).removed() and simulation.world.sites[1].left


def test_absent_voters_are_removed_one_by_one() -> None:
    """Of five, d and e are gone for good: without them two more may stop."""
    simulation = changed(
        {"at_us": SECOND, "crash": ["d", "e"]},
        {"at_us": 2 * SECOND, "remove": ["d"], "by": "a"},
        {"at_us": 3 * SECOND, "remove": ["e"], "by": "b"},
        {"at_us": 5 * SECOND, "crash": ["c"]},
        sites=7,
    )
    assert voters(simulation) == [0, 1, 2, 5, 6]
