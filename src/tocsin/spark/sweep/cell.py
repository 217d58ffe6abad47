"""Running cells: in a forked child, so that an error, an endless run or a memory hog costs one row and nothing else.

A child runs the cells of a task one after another and sends each result through a pipe. When it dies or hangs, the
cell it was at becomes a row with the error, and another child goes on with the rest.
"""

import contextlib
import faulthandler
import json
import math
import os
import resource
import select
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tocsin._processes import die_with
from tocsin.properties import Report
from tocsin.sim.calm import calm_at_end
from tocsin.sim.run import answer, check_file, check_rows, run_to_end, without_trace
from tocsin.spark.sweep.experiment import Experiment
from tocsin.spark.sweep.grid import Grid
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.writer import TraceWriter

OK, ERROR, TIMEOUT, MEMORY, CRASH = "ok", "error", "timeout", "memory", "crash"

_HEADER = struct.Struct("<I")


class Cell(msgspec.Struct, frozen=True):
    """One simulation of a sweep."""

    combination: int
    replicate: int


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the results."""

    combination: int
    replicate: int
    status: str
    error: str | None
    seconds: float
    metrics: dict[str, float]
    verdicts: dict[str, str]


def run_cell(grid: Grid, cell: Cell, traces: Path | None = None) -> CellResult:
    """Simulate or measure one cell, in this process."""
    began = time.perf_counter()
    seed = grid.seed(cell.combination, cell.replicate)
    experiment = grid.experiment(cell.combination)
    verdicts: dict[str, str] = {}
    if experiment is not None:
        metrics = _measured(experiment, seed)
    else:
        result = _simulated(grid, cell, seed, traces)
        metrics, verdicts = _metrics(result), result["verdicts"]
    return CellResult(
        combination=cell.combination,
        replicate=cell.replicate,
        status=OK,
        error=None,
        seconds=time.perf_counter() - began,
        metrics=metrics,
        verdicts=verdicts,
    )


def _measured(experiment: Experiment, seed: int) -> dict[str, float]:
    """What an experiment measures; whatever is not numbers by name is the experiment's error, and becomes a row."""
    found: Any = experiment.measure(seed)
    if not isinstance(found, dict):
        raise TypeError(f"measure: expected numbers by name, found {type(found).__name__}")
    metrics = {str(name): float(value) for name, value in sorted(found.items())}
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise ValueError(f"measure: `{name}`: expected a finite number, found {value}")
    return metrics


def _simulated(grid: Grid, cell: Cell, seed: int, traces: Path | None) -> dict[str, Any]:
    scenario = grid.scenario(cell.combination)
    run = grid.key(cell.combination, cell.replicate)
    duration_us = scenario.config.duration_us
    if traces is not None:
        path = traces / f"{run}.parquet"
        with TraceWriter(path, run, scenario.names, one_clock=True) as writer:
            simulation = scenario.build(seed, writer)
            run_to_end(simulation, duration_us)
            writer.calm = calm_at_end(scenario, simulation)
        report = check_file(scenario, path)
    elif grid.config.verdicts:
        buffer = TraceBuffer(run, scenario.names)
        simulation = scenario.build(seed, buffer)
        run_to_end(simulation, duration_us)
        report = check_rows(scenario, buffer.rows(), calm=calm_at_end(scenario, simulation))
    else:
        simulation = without_trace(scenario, seed)
        report = Report(0, 0, 0, {})
    return answer(scenario, seed, simulation, report)


def _metrics(result: dict[str, Any]) -> dict[str, float]:
    """The numbers of an answer, by dotted names."""
    load = list(result["load"].values())
    flat: dict[str, float] = {"load.max": float(max(load)), "load.mean": sum(load) / len(load)}
    for key in ("sites", "simulated_us", "broadcasts", "deliveries", "control_per_broadcast"):
        flat[key] = float(result[key])
    for key in ("sends", "multicasts", "delay_us", "link_traffic"):
        flat.update({f"{key}.{name}": float(v) for name, v in result.get(key, {}).items() if v is not None})
    for name, value in result["happened"].items():
        if isinstance(value, dict):
            flat[f"happened.{name}"] = float(sum(value.values()))
        else:
            flat[f"happened.{name}"] = float(value)
    return dict(sorted(flat.items()))


def run_cells(grid: Grid, cells: list[Cell], traces: Path | None = None) -> Iterator[CellResult]:
    """Simulate cells in children; always one result for each cell, in order."""
    limits = grid.config.limits
    waiting = list(cells)
    while waiting:
        child = _Child(grid, waiting, traces)
        try:
            while waiting:
                began = time.monotonic()
                result, failure = child.receive(limits.seconds)
                if result is None:
                    seconds = time.monotonic() - began
                    yield _failed(waiting.pop(0), failure, child.explain(failure), seconds)
                    break
                waiting.pop(0)
                yield result
        finally:
            child.end()


def _failed(cell: Cell, status: str, error: str, seconds: float) -> CellResult:
    return CellResult(
        combination=cell.combination,
        replicate=cell.replicate,
        status=status,
        error=error,
        seconds=seconds,
        metrics={},
        verdicts={},
    )


class _Child:
    """A forked process that runs cells and dies with its parent."""

    def __init__(self, grid: Grid, cells: list[Cell], traces: Path | None) -> None:
        self._limits = grid.config.limits
        read_end, write_end = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            code = 1
            try:
                os.close(read_end)
                faulthandler.disable()  # a crash becomes a row, not pages on the console
                die_with(parent)
                _limit_memory(self._limits.memory_mb)
                _serve(grid, cells, traces, write_end)
                code = 0
            except MemoryError:
                code = 77
            finally:
                os._exit(code)  # no cleanup of what belongs to the parent
        os.close(write_end)
        self._pipe = read_end
        self._status: int | None = None

    def receive(self, seconds_max: float) -> tuple[CellResult | None, str]:
        """The next result, or None and what went wrong: too late, out of memory, dead."""
        deadline = time.monotonic() + seconds_max
        header = self._read(_HEADER.size, deadline)
        if header is None:
            return None, TIMEOUT
        if len(header) < _HEADER.size:
            self._wait()
            return None, MEMORY if self._exit_code() == 77 else CRASH
        data = self._read(_HEADER.unpack(header)[0], deadline)
        if data is None:
            return None, TIMEOUT
        result = msgspec.json.decode(data, type=CellResult)
        return result, result.status

    def _read(self, count: int, deadline: float) -> bytes | None:
        """That many bytes; fewer when the child is gone, None when the deadline has passed."""
        data = b""
        while len(data) < count:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            part = os.read(self._pipe, count - len(data))
            if not part:
                break
            data += part
        return data

    def _wait(self) -> None:
        if self._status is None:
            _, self._status = os.waitpid(self._pid, 0)

    def _exit_code(self) -> int:
        return os.waitstatus_to_exitcode(self._status) if self._status is not None else 0

    def explain(self, failure: str) -> str:
        if failure == TIMEOUT:
            return f"ran longer than {self._limits.seconds:g} s (limits.seconds)"
        if failure == MEMORY:
            return f"wanted more than {self._limits.memory_mb} MB (limits.memory_mb)"
        code = self._exit_code()
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"died with exit code {code}"

    def end(self) -> None:
        os.close(self._pipe)
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._wait()


def _serve(grid: Grid, cells: list[Cell], traces: Path | None, pipe: int) -> None:
    """The child's work: run each cell and send its result."""
    for cell in cells:
        try:
            result = run_cell(grid, cell, traces)
        except MemoryError:
            result = _failed(
                cell, MEMORY, f"wanted more than {grid.config.limits.memory_mb} MB (limits.memory_mb)", 0.0
            )
        except Exception as error:  # whatever it is, it becomes a row
            result = _failed(cell, ERROR, f"{type(error).__name__}: {error}", 0.0)
        data = msgspec.json.encode(result)
        os.write(pipe, _HEADER.pack(len(data)))
        while data:
            data = data[os.write(pipe, data) :]


def _limit_memory(memory_mb: int) -> None:
    """Address space for what is mapped already, and so much more."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + memory_mb * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def parameters_json(parameters: dict[str, Any]) -> dict[str, str]:
    """Parameters as the results keep them: each value in JSON, so that every type fits one column."""
    return {key: json.dumps(value) for key, value in parameters.items()}
