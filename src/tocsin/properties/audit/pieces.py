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

from tocsin.core.errors import InputError
from tocsin.properties.audit.columns import ONLY_RUN, TraceMap
from tocsin.properties.kernels.columns import column_codes
from tocsin.traces.calm import Calm
from tocsin.traces.columns import first_line
from tocsin.traces.files import TraceFile, missing, open_trace
from tocsin.traces.reader import is_trace_name, trace_files
from tocsin.traces.schema import NEVER_NULL, REQUIRED, check_schema

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
    calm: Calm | None  # since when faults were over, if it says so
    columns: frozenset[str]  # which of ours it has
    pieces: list[Piece]
    is_sorted: bool  # False: runs lie so mixed that pieces make no sense


def find_files(paths: Iterable[str]) -> list[str]:
    """The files meant by paths and addresses (s3://…, hdfs://…): itself, or every trace file below a folder."""
    found: list[str] = []
    for path in paths:
        if "://" not in path:
            found += [str(file) for file in trace_files([Path(path)])]
            continue
        try:
            found += _files_at(path)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: cannot be read: {first_line(error)}") from None
    return found


def _files_at(address: str) -> list[str]:
    scheme = address.split("://", 1)[0]
    system, inside = pyarrow.fs.FileSystem.from_uri(address)
    about = system.get_file_info(inside)
    if about.type == pyarrow.fs.FileType.NotFound:
        raise missing(address)
    if about.type == pyarrow.fs.FileType.File:
        return [address]
    listed = system.get_file_info(pyarrow.fs.FileSelector(inside, recursive=True))
    names = sorted(each.path for each in listed if each.type == pyarrow.fs.FileType.File)
    visible = [name for name in names if is_trace_name(name[len(inside) :].strip("/").split("/"))]
    if not visible:
        raise InputError(f"{address}: expected a folder with traces (*.parquet, *.arrow), found none in it")
    return [f"{scheme}://{name}" for name in visible]


def outline_file(path: str, trace_map: TraceMap) -> FileOutline:
    with open_trace(path, trace_map.string_columns()) as file:
        names = file.schema.names
        present = trace_map.present(names)
        for needed in ("site", "event"):
            if needed not in present:
                raise InputError(
                    f"{path}: expected the columns of a trace (docs/formats.md), "
                    f"found no column `{trace_map.theirs(needed)}`; a map may say which it is (--map)"
                )
        if trace_map == TraceMap() and present.issuperset(REQUIRED):
            check_schema(file.schema, path)
        pieces: list[Piece] = []
        is_sorted = True
        for number in range(file.row_groups):
            found = _row_group_pieces(file, path, number, trace_map)
            runs = {piece.run for piece in found}
            is_sorted &= len(found) <= len(runs) * INTERLEAVED_PIECES_MAX
            pieces += found
        return FileOutline(path, file.rows, file.one_clock, file.calm, present, pieces, is_sorted)


def read_pieces(
    pieces: Iterable[Piece], trace_map: TraceMap, columns: tuple[str, ...]
) -> Iterator[tuple[list[Piece], Any]]:
    """Pieces and their rows, with our columns. Each file is opened once, each row group read once.

    The pieces of one row group come together, with all rows from the first of them to the last.
    """
    for path, of_file in groupby(sorted(pieces), key=lambda piece: piece.path):
        with open_trace(path, trace_map.string_columns()) as file:
            wanted = trace_map.wanted(file.schema.names, columns)
            for number, of_group in groupby(of_file, key=lambda piece: piece.row_group):
                found = list(of_group)
                table = file.read_row_group(number, wanted)
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


def _row_group_pieces(file: TraceFile, path: str, number: int, trace_map: TraceMap) -> list[Piece]:
    rows = file.row_group_rows(number)
    if rows == 0:
        return []
    theirs = trace_map.theirs("run")
    if "run" in trace_map.constants:
        return [Piece(path, number, 0, rows, trace_map.constants["run"])]
    if theirs not in file.schema.names:
        return [Piece(path, number, 0, rows, ONLY_RUN)]
    only = file.only_value(number, theirs)
    if only is not None:
        return [Piece(path, number, 0, rows, only)]
    table = trace_map.translate(file.read_row_group(number, [theirs]), ("run",))
    if table.column("run").null_count:
        raise InputError(f"{path}: column `{theirs}`: expected a value, found null")
    codes, names = column_codes(table, "run")
    starts = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))
    ends = np.append(starts[1:], rows)
    return [
        Piece(path, number, start, end - start, names[codes[start]])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
