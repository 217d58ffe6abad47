"""Flow control in the token: so many messages a rotation and no more, whoever sends them."""

from pathlib import Path
from typing import Any

from tests.mutation import mutated
from tocsin.core.config import decode_config
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.traces.buffer import TraceBuffer

SITES = 4
WINDOW = 5


def most_in_a_rotation(protocol: Protocol, options: dict[str, Any]) -> int:
    """The most messages broadcast between two departures of the token from one site, all queues being full."""
    document = {
        "protocol": "totem_ring",
        "sites": SITES,
        "duration_us": 5_000_000,
        "options": options,
        "workload": {"messages": 80, "every_us": 1, "burst": 20},
        "network": {"model": "lan", "delay_us": 1_000},
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "flow"), "flow", Path(), protocol)
    trace = TraceBuffer("flow", scenario.names)
    simulation = scenario.build(1, trace)
    run_to_end(simulation, scenario.config.duration_us)
    assert simulation.world.tally.deliveries == 80 * SITES
    sent = sorted((row.time_us, row.order, row.site, row.kind) for row in trace.rows() if row.event == "send")
    most = now = 0
    for _, _, site, kind in sent:
        if kind == "data":
            now += 1
        elif kind == "token" and site == "a":
            most, now = max(most, now), 0
    return most


def test_a_rotation_broadcasts_no_more_than_the_window() -> None:
    assert most_in_a_rotation(PROTOCOL, {"burst": 50, "window": WINDOW}) == WINDOW
    assert most_in_a_rotation(PROTOCOL, {"burst": 2, "window": 500}) == 2 * SITES


def test_a_mutant_that_does_not_look_at_the_others_floods_the_ring() -> None:
    module = "tocsin.protocols.baselines.totem_ring.circulation"
    greedy = mutated(PROTOCOL, module, "self._window - before", "self._window")
    assert most_in_a_rotation(greedy, {"burst": 50, "window": WINDOW}) > WINDOW
