"""Choose a protocol from Python: `tocsin.simulate` runs one scenario, `tocsin.sweep` a grid of them on Spark."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tocsin.core.files import name_of_file
from tocsin.sim.beyond import refuse_beyond
from tocsin.sim.calm import calm_at_end
from tocsin.sim.duties.duties import Duties
from tocsin.sim.run import add_duties, answer, check_rows, run_to_end
from tocsin.sim.scenario import Scenario, load_scenario, scenario_from_document
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.calm import Calm

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SimulationResult:
    """A run of the simulator: what happened in numbers, and every event."""

    summary: dict[str, Any]  # the answer of `tocsin simulate --json` (docs/formats.md)
    _events: TraceBuffer
    _calm: Calm | None  # since when nothing went wrong

    @cached_property
    def trace(self) -> "pyarrow.Table":
        """Every event of the run, in the columns of a trace (docs/formats.md); made when first asked for."""
        from tocsin.traces.schema import SIMULATED
        from tocsin.traces.tables import trace_table

        return trace_table(self._events.rows(), True, SIMULATED, self._calm)


def simulate(
    scenario: str | Path | Mapping[str, Any], seed: int = 0, *, beyond_assumptions: bool = False
) -> SimulationResult:
    """Run a scenario, from its file or given as a mapping with the same keys. The same seed gives the same result.

    `beyond_assumptions`: also run faults that the protocol does not claim to stand.
    """
    read, name = _read(scenario)
    if not beyond_assumptions:
        refuse_beyond(read, "beyond_assumptions=True runs it all the same")
    events = TraceBuffer(f"{name}-{seed}", read.names)
    simulation = read.build(seed, events)
    duties = Duties(read, simulation)
    run_to_end(simulation, read.config.duration_us)
    calm = calm_at_end(read, simulation)
    report = check_rows(read, events.rows(), calm=calm)
    summary = answer(read, seed, simulation, report)
    add_duties(summary, duties.judge(read.config.duration_us))
    return SimulationResult(summary, events, calm)


def _read(scenario: str | Path | Mapping[str, Any]) -> tuple[Scenario, str]:
    """The scenario, and a name for its runs. Paths inside a mapping are relative to the current folder."""
    if isinstance(scenario, Mapping):
        return scenario_from_document(dict(scenario), "scenario", Path()), "scenario"
    return load_scenario(Path(scenario)), name_of_file(Path(scenario))


def sweep(grid: str | Path, out: str | Path, spark: "SparkSession | None" = None) -> "pyarrow.Table":
    """Simulate every cell of a grid file on Spark; what `out` has already is not run again. A row per cell.

    `spark`: a session to use, classic or Connect; without one, a local session is started and stopped.
    The columns are those of `results.parquet` (docs/sweeps.md); a cell that failed says so in `status` and `error`.
    """
    import pyarrow.parquet as pq

    from tocsin.spark.session import SessionOptions, cores_of, given_or_local
    from tocsin.spark.sweep.grid import load_grid
    from tocsin.spark.sweep.results import Results
    from tocsin.spark.sweep.sources import CodeVersions
    from tocsin.spark.sweep.sweep import Sweep
    from tocsin.spark.sweep.wanted import missing_cells, wanted_cells

    loaded = load_grid(Path(grid))
    results = Results(Path(out), loaded, CodeVersions(loaded).of)
    with results.locked():
        results.open(keep_old=False)
        wanted = wanted_cells(loaded, results)
        if missing_cells(results, wanted):
            with given_or_local(spark, "tocsin sweep") as session:
                wanted = Sweep(session, loaded, results, cores_of(session, SessionOptions())).run()
        results.write_table(wanted)
    return pq.read_table(io.BytesIO(results.table_path.read_bytes()))
