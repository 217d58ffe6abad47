"""Reads traces as a stream of rows, in bounded memory, from one file, many files or folders of files."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.traces.rows import EVENTS, Row
from tocsin.traces.schema import CLOCK_KEY, COLUMNS, NEVER_NULL, ONE_CLOCK, STRINGS, check_schema

BATCH_ROWS: Final = 32_768  # decoded at once


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """The files meant: a file is itself; a folder is every `*.parquet` below it, by name, hidden ones left out."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            found = [file for file in sorted(path.rglob("*.parquet")) if _is_visible(file, path)]
            if not found:
                raise InputError(f"{path}: expected a folder with traces (*.parquet), found none in it")
            files.extend(found)
        elif path.exists():
            files.append(path)
        else:
            raise InputError(f"{path}: cannot be read: no such file or folder")
    return files


def read_rows(paths: Iterable[Path]) -> Iterator[Row]:
    """The rows of all files, as stored. Each file is checked to be a trace; what the rows say together is not."""
    for path in trace_files(paths):
        yield from _file_rows(path)


def has_one_clock(paths: Iterable[Path]) -> bool:
    """Whether every file says that all its sites' times are of one clock."""
    for path in trace_files(paths):
        with _open(path) as file:
            if (file.metadata.metadata or {}).get(CLOCK_KEY) != ONE_CLOCK:
                return False
    return True


def count_rows(paths: Iterable[Path]) -> int:
    """How many rows `read_rows` will give; read from the ends of the files."""
    total = 0
    for path in trace_files(paths):
        with _open(path) as file:
            total += file.metadata.num_rows
    return total


def _is_visible(file: Path, below: Path) -> bool:
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(below).parts)


def _open(path: Path) -> Any:
    try:
        metadata = pq.read_metadata(path)
        present = set(metadata.schema.to_arrow_schema().names)
        return pq.ParquetFile(
            path,
            metadata=metadata,
            read_dictionary=[name for name in STRINGS if name in present],
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: expected a Parquet file: {_first_line(error)}") from None


def _file_rows(path: Path) -> Iterator[Row]:
    with _open(path) as file:
        check_schema(file.schema_arrow, str(path))
        present = [name for name in COLUMNS if name in file.schema_arrow.names]
        first = 0  # number in the file of the batch's first row
        batches = file.iter_batches(BATCH_ROWS, columns=present, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)  # bytes that changed on disk may still decode, to nonsense
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{path}: cannot be read after row {first}: {_first_line(error)}") from None
            if batch is None:
                return
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


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


_KNOWN: Final = frozenset(EVENTS)
