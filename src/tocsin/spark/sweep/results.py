"""Where a sweep's results lie, so that nothing half-written is ever read as whole and the next call goes on.

DIR/waves/<code version>/000017.parquet    finished cells, a file per wave, written beside and renamed
DIR/results.parquet                        all of them in one table, made when the sweep ends
DIR/traces/<key>.parquet                   the cells' traces, if asked for
DIR/status.json                            how far it is, for `tocsin sweep --status`
DIR/.lock                                  held by the one sweep that works here
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.spark.sweep.cell import OK, CellResult, parameters_json
from tocsin.spark.sweep.grid import Grid

SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # of everything the result depends on, the code aside
        pa.field("name", pa.string(), nullable=False),  # of the grid
        pa.field("parameters", pa.map_(pa.string(), pa.string()), nullable=False),  # dotted key: value in JSON
        pa.field("replicate", pa.int32(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("code", pa.string(), nullable=False),  # version of the code that made it
        pa.field("status", pa.string(), nullable=False),  # ok, error, timeout, memory, crash
        pa.field("error", pa.string()),
        pa.field("metrics", pa.map_(pa.string(), pa.float64()), nullable=False),
        pa.field("verdicts", pa.map_(pa.string(), pa.string()), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),  # the only column that differs between two runs
    ]
)


class Results:
    """The results folder of one sweep."""

    def __init__(self, folder: Path, grid: Grid, code: str) -> None:
        self.folder = folder
        self.table_path = folder / "results.parquet"
        self._grid = grid
        self._code = code
        self._waves = folder / "waves" / code
        self._next_wave = 0
        self.cells: dict[str, CellResult] = {}  # finished, by key

    def open(self, keep_old: bool) -> None:
        """Read what is finished; results of other code versions are dropped, or left where they are."""
        with explained(self.folder):
            self._waves.mkdir(parents=True, exist_ok=True)
            if not keep_old:
                for other in self._waves.parent.iterdir():
                    if other.name != self._code:
                        shutil.rmtree(other)
            for leftover in self._waves.glob(".*"):
                leftover.unlink()
        known = self._keys()
        for path in sorted(self._waves.glob("*.parquet")):
            self._next_wave = max(self._next_wave, int(path.stem) + 1)
            for row in pq.read_table(path).to_pylist():
                place = known.get(row["key"])
                if place is not None:  # a cell of another grid stays in its file and out of this sweep
                    self.cells[row["key"]] = _result(row, *place)

    def _keys(self) -> dict[str, tuple[int, int]]:
        grid = self._grid
        return {
            grid.key(combination, replicate): (combination, replicate)
            for combination in range(grid.combinations)
            for replicate in range(grid.replicates_max)
        }

    def find(self, combination: int, replicate: int) -> CellResult | None:
        return self.cells.get(self._grid.key(combination, replicate))

    def add(self, results: list[CellResult]) -> None:
        """Keep a wave: on disk first, as a whole."""
        rows = [self._row(result) for result in results]
        with explained(self.folder):
            _write_table(self._waves / f"{self._next_wave:06d}.parquet", rows)
        self._next_wave += 1
        for row, result in zip(rows, results, strict=True):
            self.cells[row["key"]] = result

    def write_table(self, wanted: list[tuple[int, int]]) -> None:
        """All results in one table, in the order of the grid."""
        found = [self.find(*place) for place in sorted(wanted)]
        with explained(self.folder):
            _write_table(self.table_path, [self._row(result) for result in found if result is not None])

    def _row(self, result: CellResult) -> dict[str, Any]:
        grid = self._grid
        return {
            "key": grid.key(result.combination, result.replicate),
            "name": grid.name,
            "parameters": parameters_json(grid.parameters(result.combination)),
            "replicate": result.replicate,
            "seed": grid.seed(result.combination, result.replicate),
            "code": self._code,
            "status": result.status,
            "error": result.error,
            "metrics": result.metrics,
            "verdicts": result.verdicts,
            "seconds": result.seconds,
        }

    def write_status(self, status: dict[str, Any]) -> None:
        with explained(self.folder):
            write_whole(self.folder / "status.json", json.dumps(status).encode())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: two sweeps in one folder would run every cell twice."""
        with explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{self.folder}: another sweep is running there; wait for it (tocsin sweep --status {self.folder})"
                ) from None
            yield
        finally:
            os.close(descriptor)


def read_status(folder: Path) -> dict[str, Any]:
    """The last status of a sweep, and whether somebody works on it now."""
    path = folder / "status.json"
    try:
        status: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        raise InputError(f"{folder}: expected the folder of a sweep, found no readable status.json") from None
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        status["running_now"] = False
    except BlockingIOError:
        status["running_now"] = True
    finally:
        os.close(descriptor)
    return status


def _result(row: dict[str, Any], combination: int, replicate: int) -> CellResult:
    return CellResult(
        combination=combination,
        replicate=replicate,
        status=row["status"],
        error=row["error"],
        seconds=row["seconds"],
        metrics=dict(row["metrics"]),
        verdicts=dict(row["verdicts"]),
    )


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write beside, then rename."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([_maps(row) for row in rows], SCHEMA), sink, compression="zstd")
    write_whole(path, sink.getvalue().to_pybytes())


def _maps(row: dict[str, Any]) -> dict[str, Any]:
    """Arrow takes maps as lists of pairs; sorted, so that equal results are equal bytes."""
    return {key: sorted(value.items()) if isinstance(value, dict) else value for key, value in row.items()}


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """A folder that cannot be written to is said to be so, in one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def failed(results: list[CellResult]) -> list[CellResult]:
    return [result for result in results if result.status != OK]
