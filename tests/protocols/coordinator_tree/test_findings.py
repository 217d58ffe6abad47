"""What was once found by trying to break it: schedules that failed, and the cause of each."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import main
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.round_trips import AGE_US_MAX, RoundTrips
from tocsin.sim.scenario import scenario_from_document
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import run_document

HERE = Path(__file__).parent


def started(document: dict[str, Any]) -> Simulation:
    whole = {"protocol": "coordinator_tree", "duration_us": 10**9, **document}
    simulation = scenario_from_document(whole, "found", Path()).build(0, None)
    simulation.stop_when_quiet = False
    simulation.start()
    return simulation


def until(simulation: Simulation, at_us: int) -> None:
    while simulation.run(at_us, 100_000):
        pass


@pytest.mark.parametrize("medium_us", [1, 500, 1_000])
def test_a_slow_medium_is_not_flooded(medium_us: int) -> None:
    """CO1, requirement (b): 2,000 messages are redelivered to three hosts, over a medium that carries one at a time."""
    names = ["a", "n", "k0", "k1", "k2"]
    simulation = started(
        {
            "sites": names,
            "workload": {"messages": 2_000, "every_us": 2_000, "senders": ["a"], "start_us": 1_000_000},
            "network": {"model": "lan", "delay_us": 500, "medium_us": medium_us},
            "faults": [{"at_us": 900_000, "partition": [names[:2], names[2:]]}, {"at_us": 7_000_000, "heal": True}],
        }
    )
    until(simulation, 6_999_999)
    tally = simulation.world.tally
    before = tally.sends.get("data", 0) + tally.multicasts.get("data", 0)
    at_us = 7_000_000
    while sum(simulation.world.owed) and at_us < 60_000_000:
        at_us += 100_000
        until(simulation, at_us)
    assert not sum(simulation.world.owed)
    assert tally.sends.get("data", 0) + tally.multicasts.get("data", 0) - before < 1.1 * 2_000


@pytest.mark.parametrize("dead", [[["a", "b"]], [["a", "b"], ["b", "a"]], [["b", "a"]], [["a", "d"], ["d", "a"]]])
def test_a_host_hears_its_source_through_others(dead: list[list[str]]) -> None:
    """The link is dead from the start: the host never hears of the stream, or the source never of the host."""
    document = {
        "protocol": "coordinator_tree",
        "sites": 4,
        "duration_us": 30_000_000,
        "workload": {"messages": 50, "every_us": 50_000, "senders": ["a"]},
        "network": {"delay_us": 500},
        "faults": [{"at_us": 0, "dead": dead}],
    }
    outcome = run_document(PROTOCOL, document, 0)
    assert outcome.violated is None, outcome.violated


def test_a_source_waits_for_a_host_that_reports() -> None:
    """CO2: b takes 5 ms a message, and is never more than the window behind; c is cut off, and holds nobody back."""
    simulation = started(
        {
            "sites": 3,
            "options": {"window": 40},
            "workload": {"messages": 400, "every_us": 1_000, "senders": ["a"]},
            "network": {"delay_us": 500, "receive_us": {"b": 5_000}, "receive_buffer": 1_000},
            "faults": [{"at_us": 0, "cut": [["a", "c"], ["c", "a"], ["b", "c"], ["c", "b"]]}],
        }
    )
    furthest = 0
    for at_us in range(100_000, 20_000_000, 100_000):
        until(simulation, at_us)
        sites = simulation.world.sites
        if at_us > 3_000_000:
            furthest = max(furthest, sites[0].disk.end(0) - sites[1].disk.end(0))
    assert simulation.world.sites[1].disk.end(0) == 400
    assert furthest <= 40


def test_a_null_for_all_groups_is_no_offence() -> None:
    """CO3: c is not in g0, and b not in g1."""
    simulation = started(
        {
            "sites": 3,
            "groups": {"g0": ["a", "b"], "g1": ["a", "c"]},
            "workload": {"messages": 10, "every_us": 10_000, "senders": ["a"]},
            "network": {"delay_us": 200},
        }
    )
    until(simulation, 10_000_000)
    for site in simulation.world.sites:
        assert isinstance(site.machine, CoordinatorTree) and site.machine.stat_dropped == 0


def test_round_trips_age() -> None:
    trips = RoundTrips()
    trips.note(2_000, 1, 1_000)
    trips.note(1_000_000, 2, 999_900)
    assert trips.ordered(1_000_000, [1, 2]) == [2, 1]
    assert trips.ordered(1_000 + AGE_US_MAX, [1, 2]) == [2, 1]
    assert trips.ordered(10_000 + AGE_US_MAX, [1, 2]) == [1, 2], "what is left is measured anew"


def test_a_wiped_source_goes_on() -> None:
    """TA4, CO the same: it asks where its stream ends, and everybody delivers what it sends."""
    document = {
        "protocol": "coordinator_tree",
        "sites": 3,
        "duration_us": 40_000_000,
        "workload": {"messages": 60, "every_us": 200_000},
        "network": {"delay_us": 200},
        "faults": [
            {"at_us": 13_000_000, "crash": ["c"]},
            {"at_us": 14_000_000, "wipe": ["c"]},
            {"at_us": 14_500_000, "recover": ["c"]},
        ],
    }
    document["workload"] = {"messages": 60, "every_us": 200_000, "still_us": [12_000_000, 17_000_000]}
    outcome = run_document(PROTOCOL, document, 0)
    assert outcome.violated is None, outcome.violated


@pytest.mark.long
def test_explored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(HERE / "coordinator_tree-wiped.toml"), "--wipes", "1"]) == 0
    assert "every promise kept" in capsys.readouterr().out
