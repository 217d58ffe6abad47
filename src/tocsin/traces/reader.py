"""Reads traces as a stream of rows, in bounded memory, from one file, many files or folders of files."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.traces.files import SUFFIXES, missing, open_trace
from tocsin.traces.rows import EVENTS, Row
from tocsin.traces.schema import COLUMNS, NEVER_NULL, check_schema

BATCH_ROWS: Final = 32_768  # decoded at once


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """The files meant: a file is itself; a folder is every `*.parquet` and `*.arrow` below it, by name, hidden ones
    left out."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = sorted(path.rglob("*"))
            found = [file for file in below if is_trace_name(file.relative_to(path).parts) and file.is_file()]
            if not found:
                raise InputError(f"{path}: expected a folder with traces (*.parquet, *.arrow), found none in it")
            files.extend(found)
        elif path.exists():
            files.append(path)
        else:
            raise missing(path)
    return files


def is_trace_name(parts: Iterable[str]) -> bool:
    """Whether a file in a folder is part of the trace, by its path from there: hidden ones are not."""
    names = list(parts)
    return names[-1].endswith(SUFFIXES) and not any(name.startswith((".", "_")) for name in names)


def read_rows(paths: Iterable[Path]) -> Iterator[Row]:
    """The rows of all files, as stored. Each file is checked to be a trace; what the rows say together is not."""
    for path in trace_files(paths):
        yield from _file_rows(path)


def has_one_clock(paths: Iterable[Path]) -> bool:
    """Whether every file says that all its sites' times are of one clock."""
    for path in trace_files(paths):
        with open_trace(str(path)) as file:
            if not file.one_clock:
                return False
    return True


def count_rows(paths: Iterable[Path]) -> int:
    """How many rows `read_rows` will give; read from the ends of the files."""
    total = 0
    for path in trace_files(paths):
        with open_trace(str(path)) as file:
            total += file.rows
    return total


def _file_rows(path: Path) -> Iterator[Row]:
    with open_trace(str(path)) as file:
        check_schema(file.schema, str(path))
        present = [name for name in COLUMNS if name in file.schema.names]
        first = 0  # number in the file of the batch's first row
        for batch in file.batches(present, BATCH_ROWS):
            _refuse_nulls(batch, path, first)
            columns = [
                _values(batch.column(name), path) if name in present else repeat(None, batch.num_rows)
                for name in COLUMNS
            ]
            _refuse_unknown_events(columns[COLUMNS.index("event")], path, first)
            yield from map(Row._make, zip(*columns, strict=True))
            first += batch.num_rows


def _values(column: Any, path: Path) -> Iterable[Any]:
    """A column as Python values; equal strings are one object."""
    if column.null_count == len(column):
        return repeat(None, len(column))
    if pa.types.is_dictionary(column.type):
        words: list[Any] = [*column.dictionary.to_pylist(), None]
        places = column.indices.fill_null(len(words) - 1) if column.null_count else column.indices
        return list(map(words.__getitem__, places.to_numpy().tolist()))
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lists = column.to_pylist()
        if any(names is not None and None in names for names in lists):
            raise InputError(f"{path}: column `members`: expected names of sites, found a null among them")
        return [None if names is None else tuple(names) for names in lists]
    if column.null_count == 0:
        return list(column.to_numpy(zero_copy_only=False).tolist())
    return list(column.to_pylist())


def _refuse_nulls(batch: Any, path: Path, first: int) -> None:
    for name in NEVER_NULL:
        column = batch.column(name)
        if column.null_count:
            row = first + column.is_null().to_pylist().index(True)
            raise InputError(f"{path}: row {row}, column `{name}`: expected a value, found null")


def _refuse_unknown_events(events: Iterable[Any], path: Path, first: int) -> None:
    if set(events) <= _KNOWN:
        return
    row, event = next((row, event) for row, event in enumerate(events) if event not in _KNOWN)
    raise InputError(
        f"{path}: row {first + row}, column `event`: unknown event `{event}`{suggestion(event, list(EVENTS))}"
    )


_KNOWN: Final = frozenset(EVENTS)
