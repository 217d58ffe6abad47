"""Non-atomic recovery: who rolls back, who takes over, and what is kept."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.protocols.propagation_graph.storms import violation
from tocsin.core.config import decode_config
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.propagation_graph.machine import PropagationGraph
from tocsin.protocols.propagation_graph.records import Learned
from tocsin.sim.run import check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer

NON_ATOMIC = msgspec.structs.replace(PROTOCOL, variations={"failures": ("non_atomic",)})
FIGURE_6 = {"alpha": ["a", "b", "c", "d", "e"], "beta": ["c", "d", "e"], "gamma": ["a", "b"]}


def ran(document: dict[str, Any], seed: int) -> tuple[Simulation, TraceBuffer, str | None]:
    config = decode_config(document, ScenarioConfig, "recovery")
    scenario = Scenario(config, "recovery", Path(), NON_ATOMIC)
    trace = TraceBuffer("recovery", scenario.names)
    simulation = scenario.build(seed, trace)
    run_to_end(simulation, config.duration_us)
    violated = first_violation(check_rows(scenario, trace.rows(), NON_ATOMIC.guarantees))
    return simulation, trace, violated


def test_only_sites_that_were_left_out_roll_back() -> None:
    """A minority goes on delivering until it notices; what it delivered and the majority did not is taken back."""
    rolled_back = 0
    for seed in range(6):
        parts = [["a", "b"], ["c", "d", "e"]] if seed % 2 else [["a", "b", "d"], ["c", "e"]]
        document = {
            "protocol": "propagation_graph",
            "sites": 5,
            "groups": FIGURE_6,
            "options": {"failures": "non_atomic"},
            "duration_us": 8_000_000,
            "workload": {"messages": 300, "every_us": 10_000},
            "network": {"delay_us": [500, 5_000], "loss": 0.05},
            "faults": [{"at_us": 200_000, "partition": parts}, {"at_us": 1_500_000, "heal": True}],
        }
        simulation, trace, violated = ran(document, seed)
        assert violated is None
        left_out: set[str] = set()
        for site in simulation.world.sites:
            for record in site.disk.records:
                if isinstance(record, Learned):
                    left_out.update(simulation.world.names[other] for other in record.decision.away)
        sites = [row.site for row in trace.rows() if row.event == "rollback"]
        assert left_out.issuperset(sites) and len(left_out) < 5
        rolled_back += len(sites)
    assert rolled_back > 0


@pytest.mark.parametrize("dies_us", range(280_000, 480_000, 20_000))
def test_a_manager_dies_in_the_middle_of_a_recovery(dies_us: int) -> None:
    """c fails at 0; a, the manager, some time later: while c is suspected, while reports come, votes, messages."""
    document = {
        "protocol": "propagation_graph",
        "sites": 5,
        "groups": FIGURE_6,
        "options": {"failures": "non_atomic"},
        "duration_us": 8_000_000,
        "workload": {"messages": 600, "every_us": 10_000, "senders": ["b", "d", "e"]},
        "network": {"delay_us": [500, 5_000], "loss": 0.05},
        "faults": [
            {"at_us": 50_000, "crash": ["c"]},
            {"at_us": dies_us, "crash": ["a"]},
            {"at_us": 3_000_000, "recover": ["a", "c"]},
        ],
    }
    simulation, trace, violated = ran(document, dies_us)
    assert violated is None
    decided = [record for record in simulation.world.sites[1].disk.records if isinstance(record, Learned)]
    assert any(record.decision.away == (0, 2) for record in decided)  # b has taken over
    survivors = {row.site for row in trace.rows() if row.event == "deliver" and 1_500_000 < row.time_us < 3_000_000}
    assert survivors == {"b", "d", "e"}  # they go on without waiting for a and c
    assert simulation.world.all_quiet()


def test_what_everybody_has_is_not_kept() -> None:
    for failures in ("atomic", "non_atomic"):
        document = {
            "protocol": "propagation_graph",
            "sites": 5,
            "groups": FIGURE_6,
            "options": {"failures": failures},
            "duration_us": 30_000_000,
            "workload": {"messages": 1_500, "every_us": 10_000},
            "network": {"delay_us": [500, 5_000], "loss": 0.05},
        }
        simulation, _, violated = ran(document, 1)
        assert violated is None
        simulation.stop_when_quiet = False
        simulation.run(simulation.kernel.now + 2_000_000, 1_000_000)  # the last acknowledgements
        for site in simulation.world.sites:
            machine = site.machine
            assert isinstance(machine, PropagationGraph) and machine.quiet()
            assert len(machine._passing.graphs.present.log) == 0
            history = machine._passing.history
            assert (history is None) == (failures == "atomic")
            assert history is None or history.count() == 0


@pytest.mark.long
@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_three_hundred_storms(failures: str) -> None:
    for seed in range(300):
        assert violation(PROTOCOL, seed, {"failures": failures}) is None, f"storm {seed}"
