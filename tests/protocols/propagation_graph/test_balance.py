"""Figure 5: a deeper forest in which the busiest site has less to do; everything that is promised stands."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.protocols.propagation_graph.storms import violation
from tocsin.core.config import decode_config
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.propagation_graph.machine import PropagationGraph
from tocsin.sim.run import check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import first_violation, run_seed
from tocsin.traces.buffer import TraceBuffer

FIGURE_5 = {"alpha": list("abcde"), "beta": list("bfgh"), "gamma": list("ab")}


def ran(options: dict[str, Any]) -> tuple[list[int], int]:
    """After a run in which nothing went wrong: how many children each site has, and how deep the forest is."""
    document = {
        "protocol": "propagation_graph",
        "sites": list("abcdefgh"),
        "groups": FIGURE_5,
        "options": options,
        "duration_us": 20_000_000,
        "workload": {"messages": 200, "every_us": 20_000},
        "network": {"delay_us": [500, 5_000], "loss": 0.02},
    }
    config = decode_config(document, ScenarioConfig, "balance")
    scenario = Scenario(config, "balance", Path(), PROTOCOL)
    trace = TraceBuffer("balance", scenario.names)
    simulation = scenario.build(1, trace)
    run_to_end(simulation, config.duration_us)
    assert first_violation(check_rows(scenario, trace.rows(), PROTOCOL.guarantees)) is None
    assert simulation.world.all_quiet()
    machines = [host.machine for host in simulation.world.sites]
    graphs = [machine._passing.graphs.present.graph for machine in machines if isinstance(machine, PropagationGraph)]
    return [len(graph.children) for graph in graphs], max(graph.level for graph in graphs)


@pytest.mark.parametrize(
    ("options", "children_max"), [({}, 7), ({"balance": 0}, 7), ({"balance": 1}, 3), ({"balance": 2}, 2)]
)
def test_figure_5(options: dict[str, Any], children_max: int) -> None:
    """b sends to all others; a step of depth leaves it two children, and the busiest site three."""
    children, depth = ran(options)
    assert max(children) == children_max
    assert (depth == 1) == (children_max == 7)


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_storms(failures: str) -> None:
    for seed in range(4):
        for balance in (0, 2):
            assert violation(PROTOCOL, seed, {"failures": failures, "balance": balance}) is None, f"storm {seed}"


def test_random_scenarios() -> None:
    varied = msgspec.structs.replace(PROTOCOL, variations={**PROTOCOL.variations, "balance": (0, 1, 4)})
    for seed in range(12):
        outcome = run_seed(varied, seed, only=EARLIER)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
