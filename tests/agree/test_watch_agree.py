"""`watch` against the plain twin: whatever the cuts between batches, the verdicts at the end are those of the rows.

Where rows came for messages that were no longer held, or too much had to be held, a verdict may be `not checkable`
instead; it is never another one. Put aside between any two batches, a watch goes on as if it had not been.
"""

import pickle
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from tests.properties.random_traces import RandomTrace, calm_trace, live_trace, random_trace, stopped_trace, terms_of
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS
from tocsin.properties.kernels.facts import Spot
from tocsin.properties.plain.check import judge_rows
from tocsin.properties.watch import run_watch
from tocsin.properties.watch.watch import Watch
from tocsin.traces.rows import Row
from tocsin.traces.tables import trace_table

KINDS: dict[str, Callable[[int], RandomTrace]] = {
    "random": random_trace,
    "live": live_trace,
    "stopped": stopped_trace,
    "calm": calm_trace,
}
SEEDS = 150
LONG_SEEDS = 4_000


@pytest.fixture(autouse=True)
def everything_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watch, "CLOSED_ROWS_MIN", 1)


def logs_of(rows: list[Row]) -> list[list[Row]]:
    logs: dict[tuple[str, str, str | None], list[Row]] = {}
    for row in rows:
        logs.setdefault((row.run, row.site, row.incarnation), []).append(row)
    return list(logs.values())


def batches(rng: Random, rows: list[Row]) -> list[list[Row]]:
    """Each log in pieces, the logs at their own pace."""
    left = logs_of(rows)
    found: list[list[Row]] = []
    pace = rng.choice([2, 5, 20])
    while any(left):
        batch: list[Row] = []
        for number, log in enumerate(left):
            count = rng.randint(0, pace)
            batch += log[:count]
            left[number] = log[count:]
        if batch:
            found.append(batch)
    return found


def watched(trace: RandomTrace, seed: int, held_max: int) -> tuple[dict[str, str], Watch]:
    rng = Random(f"watch {seed}")
    watch = Watch(held_max)
    terms = terms_of(trace)
    known = {(row.run, Spot(row.site, row.order, row.incarnation or "")): row for row in trace.rows}

    def fetch(run: str, spots: list[Spot]) -> dict[Spot, Row]:
        return {spot: known[run, spot] for spot in spots}

    for batch in batches(rng, trace.rows):
        watch.add(trace_table(batch, trace.one_clock), terms)
        watch.close(terms)
        if rng.random() < 0.3:
            watch = pickle.loads(pickle.dumps(watch))
        if rng.random() < 0.2:
            watch.report(terms, fetch, caught_up=rng.random() < 0.5)
    report = watch.report(terms, fetch, final=True)
    return {name: verdict.verdict for name, verdict in report.properties.items()}, watch


def is_limited(run: run_watch.RunWatch, trace: RandomTrace) -> bool:
    """Rows were missing where they were asked for."""
    truncated = bool(run.numbers) and run.facts(terms_of(trace)).has_truncated()
    return bool(run.beyond or run.receipts or run.uncertain or run.unfinished or truncated)


def compare(kind: str, seeds: range, held_max: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        trace = KINDS[kind](seed)._replace(one_clock=False)  # members of live groups have clocks of their own
        expected = {
            name: verdict.verdict for name, verdict in judge_rows(trace.rows, terms_of(trace)).properties.items()
        }
        found, watch = watched(trace, seed, held_max)
        closed = any(run.numbers for run in watch.runs.values())
        limited = any(is_limited(run, trace) for run in watch.runs.values())
        seen["closed"] += closed
        for name, verdict in expected.items():
            seen[f"{verdict}{' closed' if closed else ''}"] += 1
            allowed = {verdict, NOT_CHECKABLE} if limited else {verdict}
            assert found[name] in allowed, f"{kind} {seed}: {name} is {verdict}, watched {found[name]}"
    return seen


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("held_max", [1_000_000, 12])
def test_watch_agrees_with_its_twin(kind: str, held_max: int) -> None:
    seen = compare(kind, range(SEEDS), held_max)
    assert seen["closed"] > 5 and seen[f"{PASS} closed"] and seen[f"{FAIL} closed"], seen


def test_broadcasts_that_are_noted_late() -> None:
    """What nobody broadcast was closed before the first broadcast of the run was seen."""
    compare("random", range(595, 596), 1_000_000)


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("held_max", [1_000_000, 12])
def test_watch_agrees_with_its_twin_at_length(kind: str, held_max: int) -> None:
    compare(kind, range(SEEDS, LONG_SEEDS), held_max)
