"""What runs in tasks: each reads its own rows from the files and answers with something small.

Every function takes one argument and is found by its name on the other side.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tocsin.properties.audit.columns import TraceMap
from tocsin.properties.audit.pieces import FileOutline, Piece, outline_file, read_pieces
from tocsin.properties.audit.tally import Tally
from tocsin.properties.kernels.arrays import Ints
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.columns import column_codes, column_numbers
from tocsin.properties.kernels.encode import DELIVER, NEEDED_COLUMNS, POSITION, LogPart, encode
from tocsin.properties.kernels.facts import RunFacts, Spot
from tocsin.properties.kernels.index import PartIndex, index_part
from tocsin.properties.kernels.lines import draw_line
from tocsin.properties.kernels.passages import Difference, explain_difference
from tocsin.properties.kernels.scan import PartScan, scan
from tocsin.properties.kernels.slices import Cuts, Extent, Window, cut_out, extents
from tocsin.properties.kernels.solve import Solved, solve, solve_run
from tocsin.properties.terms import Terms
from tocsin.traces.rows import Row
from tocsin.traces.schema import COLUMNS

SCAN_COLUMNS = tuple(name for name in NEEDED_COLUMNS if name != "time_us")  # … unless the ends of logs matter
CALM_COLUMNS = (POSITION, "size")  # what `settled` needs besides


class Trace(NamedTuple):
    """What every task has to know of the trace."""

    trace_map: TraceMap
    terms: Terms
    views_are_lost: bool  # there is no column that says what view events mean
    needs_times: bool  # of a log's first and last row


# Outlines


class OutlineJob(NamedTuple):
    paths: list[str]
    trace_map: TraceMap


def outline_files(job: OutlineJob) -> list[FileOutline]:
    return [outline_file(path, job.trace_map) for path in job.paths]


def site_names(job: "PiecesJob") -> set[str]:
    """The sites of a trace of which nothing else can be known."""
    found: set[str] = set()
    for _, table in read_pieces(job.pieces, job.trace.trace_map, ("site",)):
        codes, names = column_codes(table, "site")
        found.update(names[code] for code in np.unique(codes).tolist())
    return found


# Whole runs


class RunsJob(NamedTuple):
    """Some small runs, each with all its pieces."""

    trace: Trace
    runs: list[tuple[str, list[Piece]]]


class RunsAnswer(NamedTuple):
    tally: Tally
    sites: set[str]


def solve_runs(job: RunsJob) -> RunsAnswer:
    answer = RunsAnswer(Tally(), set())
    parts: dict[str, list[LogPart]] = {run: [] for run, _ in job.runs}
    for _, some in _encoded([piece for _, pieces in job.runs for piece in pieces], job.trace, NEEDED_COLUMNS):
        for part in some:
            if part.run in parts:
                parts[part.run].append(part)
    for run in parts:
        facts, found = solve_run(run, parts[run], job.trace.terms)
        answer.sites.update(part.site for part in parts[run])
        answer.tally.note(facts, found)
    return answer


# Large runs


class PiecesJob(NamedTuple):
    """Some pieces of large runs."""

    trace: Trace
    pieces: list[Piece]


class ScanAnswer(NamedTuple):
    piece: Piece
    scans: list[PartScan]


def scan_pieces(job: PiecesJob) -> list[ScanAnswer]:
    return [
        ScanAnswer(piece, [scan(part) for part in parts if part.run == piece.run])
        for pieces, parts in _encoded(job.pieces, job.trace, NEEDED_COLUMNS if job.trace.needs_times else SCAN_COLUMNS)
        for piece in _one_a_run(pieces)
    ]


class IndexAnswer(NamedTuple):
    piece: Piece
    parts: list[PartIndex]


def index_pieces(job: PiecesJob) -> list[IndexAnswer]:
    return [
        IndexAnswer(piece, [index_part(part) for part in parts if part.run == piece.run])
        for pieces, parts in _encoded(job.pieces, job.trace, SCAN_COLUMNS)
        for piece in _one_a_run(pieces)
    ]


def _one_a_run(pieces: list[Piece]) -> list[Piece]:
    """The pieces of one row group, those of one run as one."""
    found: dict[str, Piece] = {}
    for piece in pieces:
        first = found.setdefault(piece.run, piece)
        found[piece.run] = first._replace(rows=piece.start + piece.rows - first.start)
    return list(found.values())


class WindowJob(NamedTuple):
    """A slice of a run, or all of it if `cuts` is None; the pieces are those that may have rows of it."""

    trace: Trace
    pieces: list[Piece]
    facts: RunFacts
    properties: tuple[str, ...]
    cuts: Cuts | None
    window: Window
    difference: Difference | None = None  # two passages to explain, instead of all else


class WindowAnswer(NamedTuple):
    solved: Solved
    extents: list[Extent]
    explained: tuple[tuple[Spot, ...], str] | None


def solve_window(job: WindowJob) -> WindowAnswer:
    case = _window_case(job)
    if job.difference is not None:
        return WindowAnswer(Solved(), [], explain_difference(case, job.difference))
    found = [] if job.cuts is None else extents(case, job.cuts, job.window)
    return WindowAnswer(solve(case, job.properties), found, None)


def _window_case(job: WindowJob) -> Case:
    parts: list[LogPart] = []
    for _, some in _encoded(job.pieces, job.trace, NEEDED_COLUMNS):
        for part in some:
            if part.run == job.facts.run and part.log in job.facts.logs:
                parts.append(part if job.cuts is None else cut_out(part, job.cuts, job.window))
    parts.sort(key=lambda part: (job.facts.logs[part.log], part.first_order))
    cuts, window = job.cuts, job.window
    if cuts is None:
        return Case(job.facts, parts)

    def core_of(streams: list[tuple[str | None, str]], stream: Ints, seqno: Ints) -> np.ndarray:
        return cuts.holds(streams, stream, seqno, window.first, window.end)

    return Case(job.facts, parts, core_of)


class LineJob(NamedTuple):
    """Logs of a run in which all groups are known to have one order each."""

    trace: Trace
    run: str
    pieces: list[Piece]
    logs: tuple[str, ...]


def has_line(job: LineJob) -> bool:
    """Whether one line holds the sequences of some logs.

    All sites have the same sequence of each group, so the n-th message of a group is the same everywhere.
    """
    groups: dict[str, int] = {}
    sequences: dict[str, list[Ints]] = {log: [] for log in job.logs}
    for _, parts in _encoded(job.pieces, job.trace, SCAN_COLUMNS):
        for part in parts:
            if part.run == job.run and part.log in sequences:
                numbers = [groups.setdefault(group or "", len(groups)) for group, _ in part.streams]
                delivered = part.stream[part.event == DELIVER]
                sequences[part.log].append(np.array(numbers, np.int64)[delivered])
    lines = [np.concatenate(found) for found in sequences.values() if found]
    sizes = np.max([np.bincount(line, minlength=len(groups)) for line in lines], axis=0)
    bases = np.concatenate(([0], np.cumsum(sizes)))
    numbered = [_count_up(line, len(groups), bases) for line in lines]
    drawn = draw_line(numbered, int(bases[-1]))
    return drawn.is_total or not np.any(drawn.tangle >= 0)


def _count_up(groups: Ints, count: int, bases: Ints) -> Ints:
    """By delivery: the number of its message, the messages of each group counted from its base."""
    numbers = np.empty(len(groups), np.int64)
    for group in range(count):
        own = np.flatnonzero(groups == group)
        numbers[own] = bases[group] + np.arange(len(own))
    return numbers


# Witnesses


class RowsJob(NamedTuple):
    """Rows to be fetched, by site and order."""

    trace: Trace
    run: str
    pieces: list[Piece]
    spots: list[Spot]


def fetch_rows(job: RowsJob) -> list[Row]:
    found: list[Row] = []
    wanted = set(job.spots)
    orders = np.array(sorted({spot.order for spot in wanted}), np.int64)
    for _, table in read_pieces(job.pieces, job.trace.trace_map, COLUMNS):
        places = np.flatnonzero(np.isin(column_numbers(table, "order"), orders))
        for values in table.take(places).to_pylist():
            row = trace_row(values)
            if row.run == job.run and spot_of(row) in wanted:
                found.append(row)
    return found


def spot_of(row: Row) -> Spot:
    return Spot(row.site, row.order, row.incarnation or "")


def trace_row(values: dict[str, Any]) -> Row:
    """A row from the values of its columns; others than those of a trace are left out."""
    known = {name: value for name, value in values.items() if name in Row._fields}
    if known.get("members") is not None:
        known["members"] = tuple(known["members"])
    return Row(**known)


def _encoded(
    pieces: list[Piece], trace: Trace, columns: tuple[str, ...]
) -> Iterator[tuple[list[Piece], list[LogPart]]]:
    """The parts of logs in each row group, and the pieces that asked for it; parts of other runs may be among
    them.
    """
    if trace.terms.knows_calm():
        columns = (*columns, *CALM_COLUMNS)
    for found, table in read_pieces(pieces, trace.trace_map, columns):
        yield found, encode(table, trace.views_are_lost)
