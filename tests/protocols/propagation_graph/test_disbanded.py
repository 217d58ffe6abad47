"""Groups that have no members any more: what was ordered is let go, what was not waits, and neither holds up others."""

from pathlib import Path
from typing import Any, cast

import pytest

from tocsin.core.config import decode_config
from tocsin.protocols.propagation_graph.machine import PropagationGraph
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation


def run(failures: str, faults: list[dict[str, Any]], until_us: int) -> Simulation:
    document: dict[str, Any] = {
        "protocol": "propagation_graph",
        "sites": 4,
        "groups": {"g0": ["b", "c"], "g1": ["b", "d"]},
        "duration_us": 60_000_000,
        "options": {"failures": failures, "backlog": 4},
        "workload": {"messages": 200, "every_us": 5_000, "size": 10, "senders": ["a"]},
        "network": {"model": "mesh", "delay_us": [100, 2_000]},
        "faults": faults,
    }
    simulation = Scenario(decode_config(document, ScenarioConfig, "test"), "test", Path()).build(1, None)
    simulation.stop_when_quiet = False
    simulation.start()
    while simulation.run(until_us, 1 << 60):
        pass
    return simulation


def machine(simulation: Simulation, site: int) -> PropagationGraph:
    return cast(PropagationGraph, simulation.world.sites[site].machine)


def delivered(simulation: Simulation, site: int, group: int) -> int:
    return simulation.world.sites[site].disk.end(group)


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_a_disbanded_group_holds_up_no_other(failures: str) -> None:
    """The source's backlog is four, and a hundred of its messages are for a group that is no more."""
    simulation = run(failures, [{"at_us": 100_000, "change": {"g0": []}, "by": "b"}], 5_000_000)
    waiting = [group for group, _ in simulation.world.sites[0].pending]
    to_g0 = len(waiting) + delivered(simulation, 1, 0)
    kept = machine(simulation, 0)._passing.outlets.by_group[0]
    assert set(waiting) == {0}, "what is for the other group is not held up"
    assert delivered(simulation, 1, 1) == 200 - to_g0 - len(kept.waiting) > 50
    assert machine(simulation, 0).room() == 4 and machine(simulation, 0).room_for(0) == 0
    assert kept.settled == delivered(simulation, 1, 0), "what was ordered is let go"


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_what_waited_is_delivered_when_the_group_has_members_again(failures: str) -> None:
    faults = [
        {"at_us": 100_000, "change": {"g0": []}, "by": "b"},
        {"at_us": 3_000_000, "change": {"g0": ["c", "d"]}, "by": "c"},
    ]
    simulation = run(failures, faults, 20_000_000)
    assert simulation.world.sites[0].pending == []
    assert delivered(simulation, 1, 0) + delivered(simulation, 3, 0) + delivered(simulation, 1, 1) == 200
    assert machine(simulation, 0).quiet()
    assert machine(simulation, 0)._passing.outlets.by_group[0].is_settled()
