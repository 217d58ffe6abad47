"""A sweep: the cells of a grid as Spark tasks, in waves, until every cell that is wanted is done.

A wave is a Spark job: `spark.range` with one partition per task, a task being a few seconds of cells (many tiny ones,
or a single long one), the longest first. Two waves are in flight, so that no core waits at the end of one. The driver
writes a wave's results when it is whole; what was under way at a crash runs again.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from tocsin.spark.sweep.cell import OK, Cell, CellResult, run_cells
from tocsin.spark.sweep.grid import Grid
from tocsin.spark.sweep.results import Results, Status, failed
from tocsin.spark.sweep.sources import files_to_ship
from tocsin.spark.sweep.wanted import Place, missing_cells, wanted_cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_SECONDS = 0.5  # of cells in a task, if they are short: Spark's own 30 ms a task are then 6 %
WAVE_SECONDS = 8.0  # of work in a wave, per core; a crash costs at most two waves
WAVE_CELLS_MAX = 5_000  # rows that come back to the driver at once
WAVES_IN_FLIGHT = 2
FIRST_WAVE_CELLS = 4  # per core, before anything was measured: they may be long
FIRST_GUESS_SECONDS = 0.05  # per cell


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sweep is."""

    cells: int  # wanted so far; a precision may want more
    done: int
    failed: int
    running: int
    estimated_seconds_left: float | None


class Sweep:
    """Runs what is missing of a grid, on a session that the caller started."""

    def __init__(
        self,
        session: "SparkSession",
        grid: Grid,
        results: Results,
        cores: int,
        traces: bool = False,
        watch: Callable[[Progress], None] | None = None,
    ) -> None:
        self._session = session
        self._grid = grid
        self._results = results
        self._cores = cores
        self._traces = (results.folder / "traces").resolve() if traces else None
        self._watch = watch
        self._costs = [grid.cost(combination) for combination in range(grid.combinations)]
        self._seconds = 0.0  # measured, and …
        self._cost = 0.0  # … the cost guesses of the same cells
        self._stop = threading.Event()

    def run(self) -> list[Place]:
        """Run until nothing is missing; the cells that the grid wanted."""
        self._ship_experiment()
        wanted = wanted_cells(self._grid, self._results)
        for place in wanted:
            self._learn(self._results.find(*place))
        while missing := missing_cells(self._results, wanted):
            self._run_all(missing, len(wanted))
            wanted = wanted_cells(self._grid, self._results)
        return wanted

    def _ship_experiment(self) -> None:
        """Workers import the experiment by its path, also where this process found it in a folder of its own."""
        from tocsin.spark.session import ship_modules

        experiment = self._grid.config.experiment
        if experiment is not None:
            files = files_to_ship(experiment)
            ship_modules(self._session, experiment.partition(".")[0].partition(":")[0], files)

    # Waves

    def _run_all(self, missing: list[Place], wanted: int) -> None:
        waiting = sorted(missing, key=lambda place: (-self._costs[place[0]], place))
        began = time.monotonic()
        in_flight: dict[Future[list[CellResult]], int] = {}
        with ThreadPoolExecutor(WAVES_IN_FLIGHT, thread_name_prefix="wave") as pool:
            try:
                while waiting or in_flight:
                    while waiting and len(in_flight) < WAVES_IN_FLIGHT:
                        wave, waiting = self._cut_wave(waiting)
                        tasks = self._cut_tasks(wave)
                        in_flight[pool.submit(self._run_wave, tasks)] = len(wave)
                    self._tell(wanted, len(waiting), sum(in_flight.values()), began)
                    done, _ = wait(in_flight, timeout=1.0, return_when=FIRST_COMPLETED)
                    for future in done:
                        del in_flight[future]
                        results = future.result()
                        self._results.add(results)
                        for result in results:
                            self._learn(result)
            except BaseException:
                self._stop.set()
                self._cancel()
                raise
        self._tell(wanted, 0, 0, began)

    def _cut_wave(self, waiting: list[Place]) -> tuple[list[Place], list[Place]]:
        """As many cells as keep the cores busy for a while; at least one for each core."""
        if self._cost == 0.0:
            return waiting[: FIRST_WAVE_CELLS * self._cores], waiting[FIRST_WAVE_CELLS * self._cores :]
        seconds = 0.0
        count = 0
        for place in waiting[:WAVE_CELLS_MAX]:
            if count >= self._cores and seconds > WAVE_SECONDS * self._cores:
                break
            seconds += self._guess(place)
            count += 1
        return waiting[:count], waiting[count:]

    def _cut_tasks(self, wave: list[Place]) -> list[list[Place]]:
        """Cells grouped to tasks of half a second, the long ones alone; never fewer tasks than cores."""
        total = sum(self._guess(place) for place in wave)
        target = min(TASK_SECONDS, total / (2 * self._cores))
        tasks: list[list[Place]] = [[]]
        seconds = 0.0
        for place in wave:
            if tasks[-1] and seconds + self._guess(place) > target:
                tasks.append([])
                seconds = 0.0
            tasks[-1].append(place)
            seconds += self._guess(place)
        return tasks

    def _guess(self, place: Place) -> float:
        if self._cost == 0.0:
            return FIRST_GUESS_SECONDS
        return self._costs[place[0]] * self._seconds / self._cost

    def _learn(self, result: CellResult | None) -> None:
        if result is not None and result.status == OK:
            self._seconds += result.seconds
            self._cost += self._costs[result.combination]

    def _run_wave(self, tasks: list[list[Place]]) -> list[CellResult]:
        grid, traces = self._grid, self._traces
        schema = "result binary"

        def run_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    cells = [Cell(*place) for place in tasks[task]]
                    encoded = [msgspec.json.encode(result) for result in run_cells(grid, cells, traces)]
                    yield pa.RecordBatch.from_arrays([pa.array(encoded, pa.binary())], ["result"])

        rows: Any = self._session.range(0, len(tasks), 1, len(tasks)).mapInArrow(run_tasks, schema)
        return [msgspec.json.decode(bytes(row.result), type=CellResult) for row in rows.collect()]

    def _cancel(self) -> None:
        """End what is running on Spark, so that Ctrl-C does not wait for it."""
        from tocsin.spark.session import cancel_all

        cancel_all(self._session)

    def _tell(self, wanted: int, waiting: int, running: int, began: float) -> None:
        finished = list(self._results.cells.values())
        left = None
        if self._cost > 0.0:
            work = self._seconds / max(1, len(finished)) * (waiting + running)
            left = work / self._cores
        progress = Progress(
            cells=wanted,
            done=wanted - waiting - running,
            failed=len(failed(finished)),
            running=running,
            estimated_seconds_left=left,
        )
        told = msgspec.structs.asdict(progress)
        self._results.write_status(Status(**told, seconds=time.monotonic() - began, updated_at=time.time()))
        if self._watch is not None:
            self._watch(progress)
