"""The audit of a trace: which pieces it has, which runs are small, what is proven by fingerprints, what must be opened.

The driver sees outlines, fingerprints and verdicts, never rows; those are read by the tasks that need them. A
small run is solved in one task. A large one is first proven in order from its logs, one by one (`certify`); what
that leaves open is decided by opening the run, at once or, if it is too large for that, in slices (`opening`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from tocsin.core.errors import InputError
from tocsin.properties.audit.columns import TraceMap
from tocsin.properties.audit.executor import Executor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.audit.opening import open_run
from tocsin.properties.audit.pieces import FileOutline, Piece, find_files
from tocsin.properties.audit.tally import Tally
from tocsin.properties.audit.tasks import (
    LineJob,
    OutlineJob,
    PiecesJob,
    RowsJob,
    RunsJob,
    ScanAnswer,
    Trace,
    fetch_rows,
    has_line,
    outline_files,
    scan_pieces,
    site_names,
    solve_runs,
    spot_of,
)
from tocsin.properties.kernels.certify import Certificate, certify
from tocsin.properties.kernels.encode import UnsortedError
from tocsin.properties.kernels.facts import RunFacts, Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.joined import LogScan, join_logs, whole_logs
from tocsin.properties.report import AT_THE_END, PROPERTIES, Report
from tocsin.properties.terms import Terms
from tocsin.traces.calm import Calm, joined
from tocsin.traces.rows import Row
from tocsin.traces.schema import COLUMNS

MESSAGE_COLUMNS: Final = ("order", "group", "origin", "seqno")  # without one of these nothing can be known

FILES_IN_TASK_MAX: Final = 64  # whose outlines one task reads
RUNS_IN_TASK_MAX: Final = 200  # of small runs: 10 ms each, however short


@dataclass(slots=True)
class AuditResult:
    report: Report
    trace: Trace
    pieces: dict[str, list[Piece]]  # by run
    columns: frozenset[str]  # which of ours all files have
    opened: dict[str, str] = field(default_factory=dict)  # run: why its fingerprints were not enough


Span = tuple[str, int, int]  # a site, and orders of its log: from one, up to and without the other
Say = Callable[[str], None]
Sort = Callable[[list[str], int, TraceMap], list[str]]  # files and their number of rows; sorted files


def outline(paths: Sequence[str], executor: Executor, trace_map: TraceMap | None = None) -> list[FileOutline]:
    """Where the rows of a trace are; the first thing an audit has to know, and quickly refused if it is no trace."""
    files = find_files(paths)
    for path, following in pairwise(sorted(files)):
        if path == following:
            raise InputError(f"{path}: expected each file once, found it named twice")
    jobs = [OutlineJob(some, trace_map or TraceMap()) for some in _shares(files, FILES_IN_TASK_MAX)]
    return [each for found in executor.run(outline_files, jobs) for each in found]


def audit(
    outlines: Sequence[FileOutline],
    executor: Executor,
    terms: Terms = Terms(),  # noqa: B008  (a value)
    *,
    trace_map: TraceMap | None = None,
    limits: Limits | None = None,
    sort: Sort | None = None,
    say: Say = lambda _: None,
) -> AuditResult:
    """Every property of a trace. Whose clocks, and since when faults were over, the files say, unless the terms say
    otherwise. `sort` makes sorted files of unsorted ones; without it they are an error."""
    work = _Audit(executor, terms, trace_map or TraceMap(), limits or Limits(), say)
    try:
        return work.run(outlines)
    except UnsortedError as error:
        if sort is None:
            raise InputError(f"trace, {error}") from None
    say("sorting the trace")
    one_clock = all(each.one_clock for each in outlines)  # sorted files say neither this …
    calm_of_all = joined(each.calm for each in outlines)  # … nor this
    files = sort([each.path for each in outlines], sum(each.rows for each in outlines), work.trace_map)
    again = outline(files, executor, trace_map)
    try:
        return work.run([each._replace(one_clock=one_clock, calm=calm_of_all) for each in again])
    except UnsortedError as error:
        raise InputError(f"trace, {error}") from None


class _Audit:
    def __init__(
        self,
        executor: Executor,
        terms: Terms,
        trace_map: TraceMap,
        limits: Limits,
        say: Say,
    ) -> None:
        self._executor = executor
        self._terms = terms
        self.trace_map = trace_map
        self._limits = limits
        self._say = say
        self._opened: dict[str, str] = {}
        self._places: dict[str, list[tuple[Piece, list[Span]]]] = {}  # of large runs: where the rows of their logs are

    def run(self, outlines: Sequence[FileOutline]) -> AuditResult:
        if not all(each.is_sorted for each in outlines):
            mixed = next(each.path for each in outlines if not each.is_sorted)
            raise UnsortedError(f"file {mixed}: its runs lie mixed; sort the trace by run, site and order")
        columns = frozenset(COLUMNS).intersection(*(each.columns for each in outlines))  # an idle group has no files
        terms = replace(
            self._terms,
            one_clock=all(each.one_clock for each in outlines),
            calm_of_run={} if self._terms.calm is not None else _calm_of_runs(outlines),
        )
        needs_times = terms.patience is not None or terms.knows_calm()
        needs_times |= any("incarnation" in each.columns for each in outlines)
        trace = Trace(self.trace_map, terms, not columns.issuperset(("view", "members")), needs_times)
        lost = self._lost(columns, terms)
        pieces: dict[str, list[Piece]] = {}
        for each in outlines:
            for piece in each.pieces:
                pieces.setdefault(piece.run, []).append(piece)
        if len(lost) == len(PROPERTIES):
            tally, sites = Tally(), self._sites(pieces, trace)
        else:
            tally, sites = self._judge(pieces, trace)
        rows = self._fetch(tally, pieces, trace)
        count = sum(each.rows for each in outlines)
        report = Report(count, len(pieces), len(sites), tally.verdicts(rows, lost))
        return AuditResult(report, trace, pieces, columns, self._opened)

    def _lost(self, columns: frozenset[str], terms: Terms) -> dict[str, str]:
        """By property: which column it cannot do without."""
        for name in MESSAGE_COLUMNS:
            if name not in columns:
                why = f"the trace has no column `{self.trace_map.theirs(name)}`"
                return dict.fromkeys(PROPERTIES, why)
        if "time_us" in columns:
            return {}
        why = f"the trace has no column `{self.trace_map.theirs('time_us')}`"
        names = [*(["safe"] if terms.one_clock else []), *(AT_THE_END if terms.patience is not None else ["settled"])]
        return dict.fromkeys(names, why)

    def _sites(self, pieces: dict[str, list[Piece]], trace: Trace) -> set[str]:
        every = [piece for found in pieces.values() for piece in found]
        jobs = [PiecesJob(trace, some) for some in self._shares(every)]
        return set[str]().union(*self._executor.run(site_names, jobs))

    def _judge(self, pieces: dict[str, list[Piece]], trace: Trace) -> tuple[Tally, set[str]]:
        """The verdicts of all runs, and the names of all sites."""
        tally = Tally()
        sites: set[str] = set()
        small, large = self._by_size(pieces)
        self._say(f"checking {len(pieces):,} runs")
        for answer in self._executor.run(solve_runs, [RunsJob(trace, runs) for runs in small]):
            tally.add(answer.tally)
            sites |= answer.sites
        jobs = [PiecesJob(trace, some) for run in large for some in self._shares(pieces[run])]
        scans: dict[str, list[ScanAnswer]] = {}
        for answers in self._executor.run(scan_pieces, jobs):
            for scanned in answers:
                scans.setdefault(scanned.piece.run, []).append(scanned)
        for run in large:
            scanned_run = scans.pop(run)
            self._places[run] = [(answer.piece, _spans(answer)) for answer in scanned_run]
            logs = join_logs(each for answer in scanned_run for each in answer.scans)
            facts = RunFacts(run, [log.facts for log in logs], trace.terms)
            sites.update(log.facts.site for log in logs)
            found, obstacles = self._judge_large(facts, logs, pieces[run], trace)
            tally.note(facts, found, obstacles)
        return tally, sites

    def _judge_large(
        self, facts: RunFacts, logs: list[LogScan], pieces: list[Piece], trace: Trace
    ) -> tuple[dict[str, Found], dict[str, str]]:
        certificate = certify(facts, whole_logs(facts, logs))
        if certificate.line_over:
            self._draw_line(certificate, facts.run, logs, pieces, trace)
        missing = tuple(name for name in PROPERTIES if name not in certificate.found)
        if not missing:
            return certificate.found, {}
        self._opened[facts.run] = certificate.refused or ""
        self._say(f"opening run {facts.run}: {certificate.refused}")
        found, obstacles = open_run(self._executor, facts, pieces, trace, missing, self._limits)
        return certificate.found | found, obstacles

    def _draw_line(
        self, certificate: Certificate, run: str, logs: list[LogScan], pieces: list[Piece], trace: Trace
    ) -> None:
        """Decide what depends on a line through some sites; take back what was proven but for it, if there is
        none.
        """
        chosen = [log for log in logs if log.facts.log in certificate.line_over]
        if sum(log.facts.rows for log in chosen) <= self._limits.line_rows:
            if all(self._executor.run(has_line, [LineJob(trace, run, pieces, certificate.line_over)])):
                return
        certificate.found.pop("acyclic", None)
        certificate.found.pop("causal", None)
        certificate.refused = certificate.refused or "groups overlap in a circle, and no line through them was found"

    def _by_size(self, pieces: dict[str, list[Piece]]) -> tuple[list[list[tuple[str, list[Piece]]]], list[str]]:
        """Small runs in shares for one task, neighbours together; and the names of large runs."""
        sizes = {run: sum(piece.rows for piece in found) for run, found in pieces.items()}
        large = sorted(run for run, rows in sizes.items() if rows > self._limits.run_rows)
        small = sorted(sizes.keys() - set(large), key=lambda run: pieces[run][0])
        shares: list[list[tuple[str, list[Piece]]]] = []
        room = 0
        for run in small:
            if not shares or sizes[run] > room or len(shares[-1]) >= RUNS_IN_TASK_MAX:
                shares.append([])
                room = self._limits.task_rows
            shares[-1].append((run, pieces[run]))
            room -= sizes[run]
        return shares, large

    def _shares(self, pieces: list[Piece]) -> list[list[Piece]]:
        """Pieces in shares for one task."""
        shares: list[list[Piece]] = []
        room = 0
        for piece in pieces:
            if not shares or piece.rows > room:
                shares.append([])
                room = self._limits.task_rows
            shares[-1].append(piece)
            room -= piece.rows
        return shares

    def _fetch(self, tally: Tally, pieces: dict[str, list[Piece]], trace: Trace) -> dict[tuple[str, Spot], Row]:
        """The rows of all witnesses."""
        jobs = [
            RowsJob(trace, run, some, spots)
            for run, spots in tally.wanted_rows().items()
            for some in self._shares(self._having(run, spots, pieces[run]))
        ]
        found = [row for rows in self._executor.run(fetch_rows, jobs) for row in rows]
        return {(row.run, spot_of(row)): row for row in found}

    def _having(self, run: str, spots: list[Spot], pieces: list[Piece]) -> list[Piece]:
        """The pieces of a run that may have some rows; of a large run it is known which those are."""
        places = self._places.get(run)
        if places is None:
            return pieces
        return [
            piece
            for piece, spans in places
            if any(site == spot.site and first <= spot.order < end for site, first, end in spans for spot in spots)
        ]


def _spans(answer: ScanAnswer) -> list[Span]:
    return [(scanned.facts.site, scanned.facts.first_order, scanned.facts.next_order) for scanned in answer.scans]


def _calm_of_runs(outlines: Sequence[FileOutline]) -> dict[str, Calm | None]:
    """By run: what its files say."""
    said: dict[str, list[Calm | None]] = {}
    for each in outlines:
        for run in {piece.run for piece in each.pieces}:
            said.setdefault(run, []).append(each.calm)
    return {run: joined(found) for run, found in said.items()}


def _shares(items: Sequence[str], size: int) -> Iterable[list[str]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]
