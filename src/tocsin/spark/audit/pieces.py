"""Where the rows of a trace are: files, their row groups, and in those the runs. Nothing here reads more than
it needs.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from tocsin.core.errors import InputError
from tocsin.properties.kernels.encode import column_codes
from tocsin.spark.audit.columns import ONLY_RUN, TraceMap
from tocsin.traces.reader import trace_files
from tocsin.traces.schema import CLOCK_KEY, NEVER_NULL, ONE_CLOCK, REQUIRED, check_schema

INTERLEAVED_PIECES_MAX: Final = 100  # of a run in a row group; a file with more is not stored run by run


class Piece(NamedTuple):
    """Neighbouring rows of one run, in one row group of one file."""

    path: str
    row_group: int
    start: int  # in the row group
    rows: int
    run: str


class FileOutline(NamedTuple):
    """What a file's footer says, and where its runs are."""

    path: str
    rows: int
    one_clock: bool
    columns: frozenset[str]  # which of ours it has
    pieces: list[Piece]
    is_sorted: bool  # False: runs lie so mixed that pieces make no sense


def find_files(paths: Iterable[str]) -> list[str]:
    """The files meant by paths and addresses (s3://…, hdfs://…): itself, or every `*.parquet` below a folder."""
    found: list[str] = []
    for path in paths:
        if "://" not in path:
            found += [str(file) for file in trace_files([Path(path)])]
            continue
        scheme = path.split("://", 1)[0]
        system, inside = pa.fs.FileSystem.from_uri(path)
        about = system.get_file_info(inside)
        if about.type == pa.fs.FileType.NotFound:
            raise InputError(f"{path}: cannot be read: no such file or folder")
        if about.type == pa.fs.FileType.File:
            found.append(path)
            continue
        listed = system.get_file_info(pa.fs.FileSelector(inside, recursive=True))
        names = sorted(each.path for each in listed if each.type == pa.fs.FileType.File)
        visible = [name for name in names if name.endswith(".parquet") and not _is_hidden(name, inside)]
        if not visible:
            raise InputError(f"{path}: expected a folder with traces (*.parquet), found none in it")
        found += [f"{scheme}://{name}" for name in visible]
    return found


def outline_file(path: str, trace_map: TraceMap) -> FileOutline:
    with open_file(path, trace_map) as file:
        names = file.schema_arrow.names
        present = trace_map.present(names)
        for needed in ("site", "event"):
            if needed not in present:
                raise InputError(
                    f"{path}: expected the columns of a trace (docs/formats.md), "
                    f"found no column `{trace_map.theirs(needed)}`; a map may say which it is (--map)"
                )
        if trace_map == TraceMap() and present.issuperset(REQUIRED):
            check_schema(file.schema_arrow, path)
        metadata = file.metadata
        clock = (metadata.metadata or {}).get(CLOCK_KEY)
        pieces: list[Piece] = []
        is_sorted = True
        for number in range(metadata.num_row_groups):
            found = _row_group_pieces(file, path, number, trace_map)
            runs = {piece.run for piece in found}
            is_sorted &= len(found) <= len(runs) * INTERLEAVED_PIECES_MAX
            pieces += found
        return FileOutline(path, metadata.num_rows, clock == ONE_CLOCK, present, pieces, is_sorted)


def read_pieces(
    pieces: Iterable[Piece], trace_map: TraceMap, columns: tuple[str, ...]
) -> Iterator[tuple[list[Piece], Any]]:
    """Pieces and their rows, with our columns. Each file is opened once, each row group read once.

    The pieces of one row group come together, with all rows from the first of them to the last.
    """
    for path, of_file in groupby(sorted(pieces), key=lambda piece: piece.path):
        with open_file(path, trace_map) as file:
            wanted = trace_map.wanted(file.schema_arrow.names, columns)
            for number, of_group in groupby(of_file, key=lambda piece: piece.row_group):
                found = list(of_group)
                try:
                    table = file.read_row_group(number, columns=wanted, use_threads=False)
                except (pa.ArrowException, OSError) as error:
                    raise InputError(f"{path}: cannot be read: {first_line(error)}") from None
                start = found[0].start
                table = trace_map.translate(table.slice(start, found[-1].start + found[-1].rows - start), columns)
                _refuse_nulls(table, path, number, start)
                yield found, table


def _refuse_nulls(table: Any, path: str, row_group: int, start: int) -> None:
    for name in NEVER_NULL:
        if name in table.column_names and table.column(name).null_count:
            row = start + table.column(name).is_null().to_pylist().index(True)
            where = f"row {row} of row group {row_group}"
            raise InputError(f"{path}: {where}, column `{name}`: expected a value, found null")


def open_file(path: str, trace_map: TraceMap) -> Any:
    """A Parquet file; its columns of words are read as numbers and a dictionary."""
    system = None
    inside = path
    try:
        if "://" in path:
            system, inside = pa.fs.FileSystem.from_uri(path)
        try:
            return pq.ParquetFile(inside, filesystem=system, read_dictionary=trace_map.string_columns())
        except KeyError:  # not all of them are there
            with pq.ParquetFile(inside, filesystem=system) as file:
                schema, metadata = file.schema_arrow, file.metadata
            words = [name for name in trace_map.string_columns() if name in schema.names and _is_text(schema, name)]
            return pq.ParquetFile(inside, filesystem=system, metadata=metadata, read_dictionary=words)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: expected a Parquet file: {first_line(error)}") from None


def _is_text(schema: Any, name: str) -> bool:
    kind = schema.field(name).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _row_group_pieces(file: Any, path: str, number: int, trace_map: TraceMap) -> list[Piece]:
    group = file.metadata.row_group(number)
    rows = group.num_rows
    if rows == 0:
        return []
    theirs = trace_map.theirs("run")
    if "run" in trace_map.constants:
        return [Piece(path, number, 0, rows, trace_map.constants["run"])]
    if theirs not in file.schema_arrow.names:
        return [Piece(path, number, 0, rows, ONLY_RUN)]
    only = _only_value(group, theirs)
    if only is not None:
        return [Piece(path, number, 0, rows, only)]
    try:
        table = file.read_row_group(number, columns=[theirs], use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read: {first_line(error)}") from None
    table = trace_map.translate(table, ("run",))
    if table.column("run").null_count:
        raise InputError(f"{path}: column `{theirs}`: expected a value, found null")
    codes, names = column_codes(table, "run")
    starts = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))
    ends = np.append(starts[1:], rows)
    return [
        Piece(path, number, start, end - start, names[codes[start]])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _only_value(group: Any, name: str) -> str | None:
    """The one value that a column has in a row group, if the footer says so."""
    for index in range(group.num_columns):
        column = group.column(index)
        if column.path_in_schema != name:
            continue
        found = column.statistics
        if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
            return None
        return found.min if isinstance(found.min, str) and found.min == found.max else None
    return None


def _is_hidden(name: str, below: str) -> bool:
    return any(part.startswith((".", "_")) for part in name[len(below) :].strip("/").split("/"))
