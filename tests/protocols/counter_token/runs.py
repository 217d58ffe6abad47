"""Runs of `counter_token` from a scenario document."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.sim.run import answer, check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation
from tocsin.traces.buffer import TraceBuffer


def scenario_of(document: dict[str, Any]) -> Scenario:
    config = decode_config({"protocol": PROTOCOL.name, **document}, ScenarioConfig, "test")
    return Scenario(config, "test", Path(), PROTOCOL)


def ran(document: dict[str, Any], seed: int = 1) -> tuple[Scenario, Simulation, TraceBuffer]:
    """A finished run, with its trace."""
    scenario = scenario_of(document)
    trace = TraceBuffer("test", scenario.names)
    simulation = scenario.build(seed, trace)
    run_to_end(simulation, scenario.config.duration_us)
    return scenario, simulation, trace


def simulated(document: dict[str, Any], seed: int = 1, properties: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The run's numbers; what the protocol promises is checked unless `properties` says otherwise."""
    scenario = scenario_of(document)
    trace = TraceBuffer("test", scenario.names) if properties is None else None
    simulation = scenario.build(seed, trace)
    run_to_end(simulation, scenario.config.duration_us)
    wanted = PROTOCOL.guarantees if properties is None else properties
    rows = [] if trace is None else trace.rows()
    report = check_rows(scenario, rows, wanted)
    failed = {name: verdict.why for name, verdict in report.properties.items() if verdict.verdict == "fail"}
    assert not failed, failed
    return answer(scenario, seed, simulation, report)
