"""One run of a scenario, as the rows of its trace."""

from pathlib import Path
from typing import Any

from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import Row


def traced(document: dict[str, Any], seed: int) -> list[Row]:
    scenario = scenario_from_document(document, "experiment", Path())
    trace = TraceBuffer("experiment", scenario.names)
    run_to_end(scenario.build(seed, trace), scenario.config.duration_us)
    return list(trace.rows())
