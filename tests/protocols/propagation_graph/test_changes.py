"""Groups that change while messages flow, the way of section 5.1: no message is lost, and nobody waits for all."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.core.config import decode_config
from tocsin.core.rng import Rng
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.propagation_graph.records import Opened, Planned
from tocsin.sim.run import answer, check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer

SITES = list("abcdefgh")


def ran(
    changes: list[dict[str, Any]], network: dict[str, Any], seed: int, options: dict[str, Any] | None = None
) -> tuple[Simulation, dict[str, Any], str | None]:
    document = {
        "protocol": "propagation_graph",
        "sites": SITES,
        "groups": {"x": ["a", "b", "c"], "y": ["b", "c", "d"], "z": ["d", "e", "f"], "w": ["f", "g", "h"]},
        "options": options or {},
        "duration_us": 12_000_000,
        "workload": {"messages": 1_000, "rate_per_site": 40.0},
        "network": network,
        "faults": changes,
    }
    config = decode_config(document, ScenarioConfig, "changes")
    scenario = Scenario(config, "changes", Path(), PROTOCOL)
    trace = TraceBuffer("changes", scenario.names)
    simulation = scenario.build(seed, trace)
    run_to_end(simulation, config.duration_us)
    report = check_rows(scenario, trace.rows())
    violated = first_violation(check_rows(scenario, trace.rows(), PROTOCOL.guarantees))
    return simulation, answer(scenario, seed, simulation, report), violated


def random_changes(seed: int, count: int, every_us: int) -> list[dict[str, Any]]:
    rng = Rng(seed)
    return [
        {
            "at_us": 100_000 + number * every_us,
            "change": {"xyzwnv"[rng.below(6)]: [SITES[site] for site in rng.sample(8, rng.between(1, 6))]},
        }
        for number in range(count)
    ]


def last_groups(simulation: Simulation) -> list[tuple[tuple[int, ...], ...]]:
    """By site: the groups of the newest graph that it knows of."""
    return [
        max(
            (record.decision for record in site.disk.records if isinstance(record, (Opened, Planned))),
            key=lambda decision: decision.number,
        ).groups
        for site in simulation.world.sites
    ]


def wanted_groups(simulation: Simulation) -> tuple[tuple[int, ...], ...]:
    """What was asked for last, by group."""
    return tuple(tuple(members) for members in simulation.world.groups)


def test_many_changes_under_losses() -> None:
    for seed in range(3):
        network = {"delay_us": [100, 5_000], "loss": 0.1, "reorder": 0.1}
        simulation, numbers, violated = ran(random_changes(seed, 40, 50_000), network, seed)
        assert violated is None
        assert last_groups(simulation) == [wanted_groups(simulation)] * 8
        # Nothing was lost: every message was delivered by somebody, and every source knows.
        assert len(simulation.world.tally.delivered_at) == numbers["broadcasts"] == 1_000
        assert all(site.machine is not None and site.machine.quiet() for site in simulation.world.sites)


def test_several_changes_in_flight() -> None:
    """Forty changes, 2 ms apart, with delays of up to 5 ms: graphs follow before others are open everywhere."""
    simulation, numbers, violated = ran(random_changes(9, 40, 2_000), {"delay_us": [100, 5_000]}, 9)
    assert violated is None
    assert last_groups(simulation) == [wanted_groups(simulation)] * 8
    assert len(simulation.world.tally.delivered_at) == numbers["broadcasts"]


def test_nobody_stops() -> None:
    """The delay of messages hardly grows while a group changes every 20 ms: there is no round in which all wait."""
    _, quiet, _ = ran([], {"delay_us": 1_000}, 3)
    _, busy, violated = ran(random_changes(3, 100, 20_000), {"delay_us": 1_000}, 3)
    assert violated is None
    assert busy["delay_us"]["p50"] <= quiet["delay_us"]["p50"] + 1_000
    assert busy["delay_us"]["p99"] <= quiet["delay_us"]["p99"] + 8_000


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_a_site_leaves_a_group_and_joins_it_again(failures: str) -> None:
    """Several times, among messages. The run ends when everybody has what it is owed, long before its time is up."""
    faults = [
        {"at_us": 100_000 + number * 150_000, "change": {"x": ["a", "b", "c"] if number % 2 else ["a", "c"]}}
        for number in range(8)
    ]
    faults.append({"at_us": 2_000_000, "change": {"n": ["b", "h"]}})
    network = {"delay_us": [100, 5_000], "loss": 0.05}
    simulation, numbers, violated = ran(faults, network, 1, {"failures": failures})
    assert violated is None
    assert numbers["verdicts"]["view_synchrony"] == "pass"
    assert [name for name, verdict in numbers["verdicts"].items() if verdict == "fail"] == ["causal", "safe"]
    assert len(simulation.world.tally.delivered_at) == numbers["broadcasts"] == 1_000
    assert simulation.world.all_quiet() and numbers["simulated_us"] < 6_000_000


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_a_site_that_lost_everything_in_its_first_moment_begins_as_all_began(failures: str) -> None:
    """b crashes before anything of it is on its disk, and the groups have changed when it is back."""
    document = {
        "protocol": "propagation_graph",
        "sites": list("abcd"),
        "groups": {"x": ["a", "b", "c"], "y": ["b", "c", "d"]},
        "options": {"failures": failures},
        "duration_us": 12_000_000,
        "workload": {"messages": 100, "every_us": 20_000},
        "network": {"delay_us": [100, 5_000]},
        "disk": {"sync_us": 2_000},
        "faults": [
            {"at_us": 500, "crash": ["b"]},
            {"at_us": 10_000, "change": {"x": ["a", "c", "d"]}},
            {"at_us": 20_000, "change": {"z": ["a", "b"]}},
            {"at_us": 400_000, "recover": ["b"]},
        ],
    }
    config = decode_config(document, ScenarioConfig, "changes")
    scenario = Scenario(config, "changes", Path(), PROTOCOL)
    for seed in range(6):  # in some of them the first step is on the disk, by chance
        trace = TraceBuffer("changes", scenario.names)
        simulation = scenario.build(seed, trace)
        run_to_end(simulation, config.duration_us)
        assert first_violation(check_rows(scenario, trace.rows(), PROTOCOL.guarantees)) is None
        assert simulation.world.all_quiet()
