"""The survey of a trace, for its report: two passes over the rows, in the same tasks as the audit."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tocsin.properties.audit.audit import MESSAGE_COLUMNS, AuditResult
from tocsin.properties.audit.executor import Executor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.audit.pieces import Piece, read_pieces
from tocsin.properties.audit.tasks import Trace
from tocsin.properties.kernels.arrays import Hashes, Ints
from tocsin.properties.kernels.encode import NEEDED_COLUMNS, encode
from tocsin.properties.kernels.survey import (
    BINS,
    SURVEY_COLUMNS,
    Axis,
    Sample,
    Survey,
    sample_bound,
    sampled_broadcasts,
)

BOTH_COLUMNS = tuple(dict.fromkeys((*NEEDED_COLUMNS, *SURVEY_COLUMNS)))


@dataclass(slots=True)
class Surveyed:
    """What a report shows beside the verdicts."""

    survey: Survey
    axis: Axis
    sampled: int  # messages whose latencies were measured
    messages: int


class DrawJob(NamedTuple):
    trace: Trace
    pieces: list[Piece]
    bound: int


class DrawAnswer(NamedTuple):
    hashes: list[tuple[Hashes, Ints]]
    first_us: int | None
    last_us: int | None


def draw_broadcasts(job: DrawJob) -> DrawAnswer:
    """The broadcasts of drawn messages, and between which times everything happened."""
    found: list[tuple[Hashes, Ints]] = []
    times: list[int] = []
    runs = {piece.run for piece in job.pieces}
    for _, table in read_pieces(job.pieces, job.trace.trace_map, NEEDED_COLUMNS):
        for part in encode(table, job.trace.views_are_lost):
            if part.run in runs and len(part.time_us):
                found.append(sampled_broadcasts(part, job.bound))
                times += [int(part.time_us.min()), int(part.time_us.max())]
    return DrawAnswer(found, min(times, default=None), max(times, default=None))


class SurveyJob(NamedTuple):
    trace: Trace
    pieces: list[Piece]
    axis: Axis
    sample: Sample


def survey_pieces(job: SurveyJob) -> Survey:
    survey = Survey()
    runs = {piece.run for piece in job.pieces}
    for _, table in read_pieces(job.pieces, job.trace.trace_map, BOTH_COLUMNS):
        survey.add_rows(table, job.axis)
        for part in encode(table, job.trace.views_are_lost):
            if part.run in runs:
                survey.add_log(part, job.axis)
                survey.add_latencies(part, job.sample, job.trace.terms.one_clock)
    return survey


def survey_result(executor: Executor, result: AuditResult, limits: Limits) -> Surveyed | None:
    """The survey of a trace that was audited; None if it says too little."""
    if not result.columns.issuperset((*MESSAGE_COLUMNS, "time_us")):
        return None
    messages = result.report.properties["uniform_agreement"].checked
    pieces = [piece for found in result.pieces.values() for piece in found]
    return survey_trace(executor, result.trace, pieces, messages, limits)


def survey_trace(
    executor: Executor, trace: Trace, pieces: Iterable[Piece], messages: int, limits: Limits
) -> Surveyed | None:
    """`messages`: about how many there are. None if there are none."""
    shares = _by_row_group(pieces, limits.task_rows)
    bound = sample_bound(messages)
    drawn = executor.run(draw_broadcasts, [DrawJob(trace, share, bound) for share in shares])
    starts = [answer.first_us for answer in drawn if answer.first_us is not None]
    ends = [answer.last_us for answer in drawn if answer.last_us is not None]
    if not starts:
        return None
    axis = Axis(min(starts), max(1, -(-(max(ends) - min(starts) + 1) // BINS)))
    sample = Sample.of(bound, [found for answer in drawn for found in answer.hashes])
    survey = Survey()
    for found in executor.run(survey_pieces, [SurveyJob(trace, share, axis, sample) for share in shares]):
        survey.merge(found)
    survey.close_gaps(axis)
    return Surveyed(survey, axis, len(sample.hashes), messages)


def _by_row_group(pieces: Iterable[Piece], task_rows: int) -> list[list[Piece]]:
    """Pieces in shares for one task; those of one row group stay together, so that no row is counted twice."""
    shares: list[list[Piece]] = []
    room = 0
    before: tuple[str, int] | None = None
    for piece in sorted(pieces):
        if before != piece[:2] and (not shares or piece.rows > room):
            shares.append([])
            room = task_rows
        shares[-1].append(piece)
        room -= piece.rows
        before = (piece.path, piece.row_group)
    return shares
