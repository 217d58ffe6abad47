"""Where a sweep's results lie, so that nothing half-written is ever read as whole and the next call goes on.

DIR/waves/<code version>/000017.parquet    finished cells of a wave, written beside and renamed
DIR/results.parquet                        all of them in one table, made when the sweep ends
DIR/traces/<key>.parquet                   the cells' traces, if asked for
DIR/status.json                            how far it is, for `tocsin sweep --status`
DIR/.lock                                  held by the one sweep that works here
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
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

_WAVE = re.compile(r"[0-9]{6,}\.parquet")  # what `add` writes, and …
_LEFTOVER = re.compile(r"\.[0-9]{6,}\.parquet\.")  # … what is left of that when it was interrupted


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sweep is, as it lies in status.json."""

    cells: int  # wanted so far; a precision may want more
    done: int
    failed: int
    running: int
    estimated_seconds_left: float | None
    seconds: float
    updated_at: float


class Results:
    """The results folder of one sweep."""

    def __init__(self, folder: Path, grid: Grid, code: Callable[[int], str]) -> None:
        self.folder = folder
        self.table_path = folder / "results.parquet"
        self._grid = grid
        self._code = code  # of a combination: the version of all that its results depend on
        self._waves = folder / "waves"
        self._next_wave = 0
        self.cells: dict[str, CellResult] = {}  # finished, by key

    def open(self, keep_old: bool) -> None:
        """Read what is finished. Results of this grid's cells by other code are dropped, or left where they are; cells
        of other grids stay in their files and out of this sweep. What no sweep has written is not touched."""
        known = self._keys()
        with explained(self.folder):
            self._waves.mkdir(parents=True, exist_ok=True)
            for path in sorted(path for path in self._waves.glob("*/*") if _WAVE.fullmatch(path.name)):
                self._next_wave = max(self._next_wave, int(path.stem) + 1)
                if self._read(path, known) and not keep_old:
                    path.unlink()
            for folder in filter(Path.is_dir, list(self._waves.iterdir())):
                for leftover in filter(lambda path: _LEFTOVER.match(path.name), list(folder.iterdir())):
                    leftover.unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()

    def _read(self, path: Path, known: dict[str, tuple[int, int]]) -> bool:
        """Take the results of a wave that are this grid's and new; whether all in it are this grid's, and old."""
        try:
            table = pq.read_table(pa.OSFile(os.fsencode(path)))  # whatever its name is
        except pa.ArrowException as error:
            why = str(error).splitlines()[0]
            raise InputError(f"{path}: expected finished cells of a sweep: {why}; remove the file") from None
        if table.schema.names != SCHEMA.names:
            return False
        rows = table.to_pylist()
        old = 0
        for row in rows:
            place = known.get(row["key"])
            if place is not None and row["code"] == self._code(place[0]):
                self.cells[row["key"]] = _result(row, *place)
            elif place is not None:
                old += 1
        return old == len(rows)

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
            for code in sorted({row["code"] for row in rows}):
                (self._waves / code).mkdir(parents=True, exist_ok=True)
                path = self._waves / code / f"{self._next_wave:06d}.parquet"
                _write_table(path, [row for row in rows if row["code"] == code])
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
            "code": self._code(result.combination),
            "status": result.status,
            "error": result.error,
            "metrics": result.metrics,
            "verdicts": result.verdicts,
            "seconds": result.seconds,
        }

    def write_status(self, status: Status) -> None:
        with explained(self.folder):
            write_whole(self.folder / "status.json", msgspec.json.encode(status))

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
        status = msgspec.json.decode(path.read_bytes(), type=Status)
    except (OSError, ValueError) as error:  # msgspec's are among them
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{folder}: expected the folder of a sweep, found no readable status.json ({why})") from None
    return {**msgspec.to_builtins(status), "running_now": _is_locked(folder / ".lock")}


def _is_locked(path: Path) -> bool:
    """Whether a sweep holds the lock. Who may read it can tell."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"{path}: cannot be read ({why}), and only it tells whether a sweep is running") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


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
