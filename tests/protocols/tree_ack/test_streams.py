"""Long streams from several roots while sites crash and come back; logs that stay short; suspicions that are wrong."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.core.message import RECORDS_MAX
from tocsin.protocols.tree_ack.machine import TreeAck
from tocsin.sim.run import check_rows, run_to_end
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer

SITES = 20
ROOTS = ["a", "c", "f", "k", "t"]


def crashing(rounds: int, every_us: int, down_us: int) -> list[dict[str, Any]]:
    """Every so often 5 % of the sites (one of twenty) crash and come back after a while; the roots have their turn."""
    names = [chr(ord("a") + 7 * number % SITES) for number in range(rounds)]
    faults = []
    for number, name in enumerate(names):
        faults.append({"at_us": (number + 1) * every_us, "crash": [name]})
        faults.append({"at_us": (number + 1) * every_us + down_us, "recover": [name]})
    return faults


def streaming(messages: int, rounds: int, detector: str) -> dict[str, Any]:
    return {
        "protocol": "tree_ack",
        "sites": SITES,
        "duration_us": 600_000_000,
        "options": {"detector": detector, "window": 16},
        "workload": {"messages": messages, "every_us": 4_000, "senders": ROOTS},
        "network": {"delay_us": [200, 1_500], "detect_us": 5_000},
        "faults": crashing(rounds, 150_000, 90_000),
    }


def run(document: dict[str, Any], seed: int) -> tuple[Scenario, Simulation]:
    """Run and check everything that the protocol promises."""
    scenario = scenario_from_document(document, "streams", Path())
    trace = TraceBuffer("streams", scenario.names)
    simulation = scenario.build(seed, trace)
    simulation.world.record(trace, messages=False)
    run_to_end(simulation, scenario.config.duration_us)
    report = check_rows(scenario, list(trace.rows()), scenario.protocol.guarantees)
    assert first_violation(report) is None
    return scenario, simulation


def assert_nothing_lost(simulation: Simulation, messages: int) -> None:
    tally = simulation.world.tally
    assert tally.broadcasts == messages
    assert all(site.machine is not None for site in simulation.world.sites)
    assert tally.deliveries == messages * SITES


@pytest.mark.parametrize("detector", ["perfect", "timeout"])
def test_a_short_stream_with_crashes(detector: str) -> None:
    _, simulation = run(streaming(300, 3, detector), 1)
    assert_nothing_lost(simulation, 300)
    assert simulation.world.tally.recoveries == 3


@pytest.mark.long
@pytest.mark.parametrize("detector", ["perfect", "timeout"])
def test_ten_thousand_broadcasts_of_five_roots_while_sites_crash(detector: str) -> None:
    _, simulation = run(streaming(10_000, 40, detector), 2)
    assert_nothing_lost(simulation, 10_000)
    assert simulation.world.tally.recoveries == 40
    for site in simulation.world.sites:  # everybody has nearly everything: logs and records are short
        assert site.disk.end(0) == 10_000
        assert site.disk.first(0) > 10_000 - 3 * RECORDS_MAX
        assert len(site.disk.records) < RECORDS_MAX


def test_a_log_is_trimmed_once_everybody_has_a_message() -> None:
    """And not before: while b is down, the others keep what it lacks."""
    messages = 2 * RECORDS_MAX + 100
    document = {
        "protocol": "tree_ack",
        "sites": 2,
        "duration_us": 600_000_000,
        "options": {"detector": "perfect", "window": 64},
        "workload": {"messages": messages, "every_us": 10, "senders": ["a"]},
        "network": {"delay_us": 100, "detect_us": 1_000},
    }
    _, simulation = run(document, 0)
    assert simulation.world.sites[0].disk.first(0) > RECORDS_MAX // 2
    assert simulation.world.sites[1].disk.first(0) > RECORDS_MAX // 2
    down = {"at_us": 5_000, "crash": ["b"]}
    _, simulation = run({**document, "faults": [down]}, 0)
    kept = simulation.world.sites[0].disk
    assert kept.end(0) == messages
    assert kept.first(0) <= simulation.world.sites[1].disk.end(0)
    _, simulation = run({**document, "faults": [down, {"at_us": 1_000_000, "recover": ["b"]}]}, 0)
    assert simulation.world.sites[1].disk.end(0) == messages


def test_wrong_suspicions_cost_messages_and_nothing_else() -> None:
    """A partition of three seconds: both sides believe that the other has failed, and both go on broadcasting."""
    document = {
        "protocol": "tree_ack",
        "sites": 6,
        "duration_us": 30_000_000,
        "options": {"window": 4},
        "workload": {"messages": 120, "every_us": 200_000, "senders": ["a", "d", "f"]},
        "network": {"delay_us": [200, 2_000]},
        "faults": [
            {"at_us": 1_000_000, "partition": [["a", "b", "c"], ["d", "e", "f"]]},
            {"at_us": 4_000_000, "heal": True},
        ],
    }
    scenario = scenario_from_document(document, "suspicions", Path())
    trace = TraceBuffer("suspicions", scenario.names)
    simulation = scenario.build(3, trace)
    simulation.start()
    simulation.run(3_900_000, 1 << 30)
    believed = []
    for site in simulation.world.sites:
        assert isinstance(site.machine, TreeAck)
        believed.append(sorted(site.machine._peers.failed))
    assert believed == [[3, 4, 5]] * 3 + [[0, 1, 2]] * 3
    simulation.run(30_000_000, 1 << 30)
    assert first_violation(check_rows(scenario, list(trace.rows()), scenario.protocol.guarantees)) is None
    assert simulation.world.tally.deliveries == 120 * 6
    for site in simulation.world.sites:
        assert isinstance(site.machine, TreeAck)
        assert not site.machine._peers.failed
