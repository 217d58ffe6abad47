"""Opening a run: all its messages at once, or, if there are too many, window by window.

Windows decide message by message exactly. Where messages are compared with one another they are as good as the
whole run if no site lets messages overtake each other over more than a slice, and no chain of causes goes back so far
(`slices.exactness`, shown by the windows themselves). Otherwise a violation found is still one, but a property without
one is not checkable.
"""

from typing import Final

from tocsin.properties.audit.executor import Executor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.audit.pieces import Piece
from tocsin.properties.audit.tasks import (
    IndexAnswer,
    PiecesJob,
    Trace,
    WindowAnswer,
    WindowJob,
    index_pieces,
    solve_window,
)
from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.index import PartIndex
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.passages import Difference, find_view_synchrony
from tocsin.properties.kernels.settled import find_settled_views
from tocsin.properties.kernels.slices import Cuts, Window, choose_cuts, exactness, is_needed, windows
from tocsin.properties.kernels.solve import SETTLED, VIEW_SYNCHRONY, Solved, put_together

ORDER_PROPERTIES: Final = ("fifo", "single_source", "multiple_source", "multiple_group")


def open_run(
    executor: Executor,
    facts: RunFacts,
    pieces: list[Piece],
    trace: Trace,
    properties: tuple[str, ...],
    limits: Limits,
) -> tuple[dict[str, Found], dict[str, str]]:
    """What is found of some properties, and by property what stood in the way of deciding it."""
    rows = sum(piece.rows for piece in pieces)
    if rows <= limits.open_rows:
        job = WindowJob(trace, pieces, facts, properties, None, Window(0, 1))
        return _finish(executor, facts, [job], executor.run(solve_window, [job]), properties), {}
    parts = _index(executor, pieces, trace, limits)
    cuts = _cut(parts, facts, limits)
    jobs = [
        _window_job(window, parts, cuts, facts, trace, properties)
        for window in windows(cuts.slices, limits.core_slices)
    ]
    answers = executor.run(solve_window, jobs)
    found = _finish(executor, facts, jobs, answers, properties)
    uncertain = _uncertain(answers, cuts, properties)
    undecided = tuple(name for name in uncertain if found[name].violations == 0)
    if undecided and rows <= limits.line_rows:  # fewer properties need less memory
        job = WindowJob(trace, pieces, facts, undecided, None, Window(0, 1))
        found |= _finish(executor, facts, [job], executor.run(solve_window, [job]), undecided)
        undecided = ()
    for name in uncertain:
        found[name].at_least = bool(found[name].violations) or name in undecided
    return found, dict.fromkeys(undecided, _why_undecided(facts, cuts))


def _index(executor: Executor, pieces: list[Piece], trace: Trace, limits: Limits) -> list[IndexAnswer]:
    jobs: list[PiecesJob] = []
    room = 0
    for piece in pieces:
        if not jobs or piece.rows > room:
            jobs.append(PiecesJob(trace, []))
            room = limits.task_rows
        jobs[-1].pieces.append(piece)
        room -= piece.rows
    return [answer for answers in executor.run(index_pieces, jobs) for answer in answers]


def _cut(parts: list[IndexAnswer], facts: RunFacts, limits: Limits) -> Cuts:
    """Slices so small that a window of them fits in a task."""
    logs: dict[str, list[PartIndex]] = {}
    for answer in parts:
        for part in answer.parts:
            if part.log in facts.logs:
                logs.setdefault(part.log, []).append(part)
    for own in logs.values():
        own.sort(key=lambda part: part.first_order)
    rows = sum(part.rows for own in logs.values() for part in own)
    return choose_cuts(logs, max(1, -(-rows * (limits.core_slices + 2) // limits.open_rows)))


def _window_job(
    window: Window,
    parts: list[IndexAnswer],
    cuts: Cuts,
    facts: RunFacts,
    trace: Trace,
    properties: tuple[str, ...],
) -> WindowJob:
    needed = [answer.piece for answer in parts if any(is_needed(part, cuts, window) for part in answer.parts)]
    return WindowJob(trace, needed, facts, properties, cuts, window)


def _finish(
    executor: Executor,
    facts: RunFacts,
    jobs: list[WindowJob],
    answers: list[WindowAnswer],
    properties: tuple[str, ...],
) -> dict[str, Found]:
    solved: Solved = put_together(answer.solved for answer in answers)
    found = {name: solved.found.get(name, Found()) for name in properties if name != VIEW_SYNCHRONY}
    if VIEW_SYNCHRONY in properties:
        synchrony, difference = find_view_synchrony(facts, Members(facts), solved.sums)
        if difference is not None:
            _explain(executor, jobs, difference, synchrony)
        found[VIEW_SYNCHRONY] = synchrony
    if SETTLED in properties:
        found[SETTLED].add(find_settled_views(facts, Members(facts)))
    return found


def _explain(executor: Executor, jobs: list[WindowJob], difference: Difference, synchrony: Found) -> None:
    """Look for the message that one site has and the other lacks; some window has it."""
    asked = [job._replace(difference=difference) for job in jobs]
    for answer in executor.run(solve_window, asked):
        if answer.explained is not None:
            synchrony.witness, synchrony.why = answer.explained
            return


def _uncertain(answers: list[WindowAnswer], cuts: Cuts, properties: tuple[str, ...]) -> list[str]:
    """Those of some properties that windows may not decide as the whole run would."""
    exact = exactness((extent for answer in answers for extent in answer.extents), cuts.slices)
    names = [] if exact.order else list(ORDER_PROPERTIES)
    names += [] if exact.cycles else ["acyclic"]
    names += [] if exact.causes else ["causal"]
    return [name for name in names if name in properties]


def _why_undecided(facts: RunFacts, cuts: Cuts) -> str:
    return (
        f"run {facts.run}: too large to be opened at once, and messages overtake each other, or their causes, over "
        f"more than a {cuts.slices}th of it; `tocsin audit` can be told to open more: --spark spark.tocsin.open_rows=…"
    )
