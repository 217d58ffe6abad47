"""Audits against their plain twin: every verdict, every count, witnesses of the same size.

Whole runs, opened runs and runs cut into slices, through the same functions that Spark's tasks call, with limits
so small that traces of a few dozen rows go through everything that is made for billions. More of the same in
`make test-all`.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.properties.random_traces import RandomTrace, calm_trace, live_trace, random_trace, stopped_trace, terms_of
from tests.properties.stories import differences
from tests.spark.trace_files import MadeRun, write_rows
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, PROPERTIES
from tocsin.properties.audit import tasks
from tocsin.properties.audit.audit import AuditResult, audit, outline
from tocsin.properties.audit.executor import LocalExecutor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.kernels import scan
from tocsin.properties.kernels.index import index_part
from tocsin.properties.plain.check import check_rows, judge_rows
from tocsin.traces.rows import BROADCAST, DELIVER, RECEIVE, SEND, Row

BLOCK = 150  # traces in a test, and …
MORE_MAX = 600  # … so many more at the most, until every property has had every verdict
BLOCKS = 1
LONG_BLOCKS = 40

MODES: dict[str, Callable[[Random], Limits]] = {
    "whole": lambda rng: Limits(),
    "certified or opened": lambda rng: Limits(run_rows=0, task_rows=rng.choice([1, 20])),
    "sliced": lambda rng: Limits(
        run_rows=0,
        task_rows=5,
        open_rows=rng.choice([6, 10, 20, 30]),
        core_slices=rng.choice([1, 2, 4]),
        line_rows=rng.choice([1, 1, 1000]),
    ),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of four messages, an index of every second delivery."""
    monkeypatch.setattr(scan, "CHUNK_MASK", np.uint64(3))
    monkeypatch.setattr(tasks, "index_part", lambda part: index_part(part, 2))


def audited(rows: list[Row], trace: RandomTrace, folder: Path, limits: Limits, row_group_size: int) -> AuditResult:
    path = write_rows(folder / "trace.parquet", rows, trace.one_clock, row_group_size)
    executor = LocalExecutor()
    return audit(outline([str(path)], executor), executor, terms_of(trace), limits=limits)


def unseen(seen: Counter[str]) -> list[str]:
    """What no trace has shown yet."""
    wanted = [f"{name} {verdict}" for name in PROPERTIES for verdict in (PASS, FAIL, NOT_CHECKABLE)]
    return [what for what in wanted if not seen[what]]


def compare_block(mode: str, block: int, folder: Path) -> None:
    seen: Counter[str] = Counter()
    more = 1_000_000 + block * MORE_MAX
    for seed in (*range(block * BLOCK, (block + 1) * BLOCK), *range(more, more + MORE_MAX)):
        if seed >= 1_000_000 and not unseen(seen):
            break
        make = (live_trace, random_trace, calm_trace, stopped_trace)[seed % 4]
        trace = make(seed)
        rng = Random(seed)
        limits, row_group_size = MODES[mode](rng), rng.choice([3, 10, 1000])
        expected = judge_rows(trace.rows, terms_of(trace))
        found = audited(trace.rows, trace, folder, limits, row_group_size)
        wrong = list(differences(expected, found.report, trace.rows))
        assert not wrong, f"{make.__name__}({seed}), {mode}: {wrong}"
        seen.update(f"{name} {answer.verdict}" for name, answer in found.report.properties.items())
        seen["opened"] += len(found.opened)
        seen["proven"] += found.report.runs - len(found.opened)
    assert not unseen(seen), (unseen(seen), seen)  # traces in which every property holds prove little
    if mode == "certified or opened":
        assert seen["opened"] >= BLOCK // 10 and seen["proven"] >= BLOCK // 20, seen


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("mode", MODES)
def test_equal_to_the_plain_definitions(mode: str, block: int, tmp_path: Path) -> None:
    compare_block(mode, block, tmp_path)


def test_an_obstacle_that_has_a_cure_is_told_first(tmp_path: Path) -> None:
    """In one run of this trace a row is missing, and another is too large for these limits."""
    trace = random_trace(4066)
    limits = Limits(run_rows=0, task_rows=5, open_rows=6, line_rows=1, core_slices=4)
    found = audited(trace.rows, trace, tmp_path, limits, 3).report
    expected = check_rows(trace.rows, trace.groups, one_clock=trace.one_clock)
    assert not list(differences(expected, found, trace.rows))
    fifo = found.properties["fifo"]
    assert fifo.verdict == NOT_CHECKABLE and fifo.why is not None
    assert "run run1: too large" in fifo.why and "spark.tocsin.open_rows" in fifo.why
    assert "truncated" in (found.properties["integrity"].why or "")


@pytest.mark.long
@pytest.mark.parametrize("block", range(BLOCKS, LONG_BLOCKS))
@pytest.mark.parametrize("mode", MODES)
def test_equal_to_the_plain_definitions_on_thousands(mode: str, block: int, tmp_path: Path) -> None:
    compare_block(mode, block, tmp_path)


def plant_several(made: MadeRun) -> None:
    made.swap("b", 100)
    made.swap("d", 600, 3)
    made.drop("a", 50)


RIGHT = "nothing"
FAULTS: dict[str, Callable[[MadeRun], object]] = {
    RIGHT: lambda made: None,
    "two swapped": lambda made: made.swap("b", 500),
    "far apart swapped": lambda made: made.swap("b", 500, 40),
    "one dropped": lambda made: made.drop("c", 700),
    "one repeated": lambda made: made.repeat("a", 200, 30),
    "the last dropped": lambda made: made.drop("c", len(made.deliveries("c")) - 1),
    "several": plant_several,
}
OVERLAPS = {
    "one group": {"all": ["a", "b", "c", "d"]},
    "a tree of groups": {"g": ["a", "b", "c"], "h": ["a", "b", "d"], "k": ["a", "c", "d"]},
    "a circle of groups": {"g": ["a", "b"], "h": ["b", "c"], "k": ["c", "d"], "l": ["d", "a"]},
}


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_in_longer_runs(fault: str, overlap: str, tmp_path: Path) -> None:
    made = MadeRun(OVERLAPS[overlap], 1500, seed=len(fault) + len(overlap))
    FAULTS[fault](made)
    rows = made.rows()
    expected = check_rows(rows, made.groups)
    assert (expected.properties["acyclic"].verdict == PASS) or fault != RIGHT
    trace = RandomTrace(rows, made.groups, False)
    whole = audited(rows, trace, tmp_path, Limits(run_rows=0), 400)
    assert not list(differences(expected, whole.report, rows))
    assert bool(whole.opened) == (fault != RIGHT)
    sliced = audited(rows, trace, tmp_path, Limits(run_rows=0, task_rows=500, open_rows=1500, line_rows=1), 400)
    assert not list(differences(expected, sliced.report, rows))
    for name, answer in sliced.report.properties.items():  # messages overtake each other by little: slices decide all
        if name not in ("acyclic", "causal"):
            assert answer[:3] == expected.properties[name][:3], name


def chain_going_back(fillers: int, links: int, turns: list[int]) -> tuple[list[Row], dict[str, list[str]]]:
    """Fillers in order, and a chain of causes: each site q… delivers one of its messages and then broadcasts the next.
    `turns`: at which filler each message of the chain is delivered, its last effect first, its cause last.
    """

    def link(number: int) -> tuple[str, str, int]:
        return f"chain{number}", "p" if number >= links - 1 else f"q{number}", 0

    def filler(number: int) -> tuple[str, str, int]:
        place = number % links
        if place == 0:
            return "fill", "rt"[number // links % 2], number
        return f"fill{place}", f"b{place}", number

    events: dict[str, list[tuple[str, tuple[str, str, int]]]] = {
        "p": [(BROADCAST, link(links)), (BROADCAST, link(links - 1))]
    }
    groups = {"fill": ["s", "x"]} | {f"fill{place}": [f"q{place - 1}", "x"] for place in range(1, links)}
    swapped = fillers // 2 // (2 * links) * (2 * links)  # at s, so that the run has to be opened
    for number in range(fillers):
        for at in [at for at, turn in enumerate(turns) if turn == number]:
            if at in (0, links):
                events.setdefault("s", []).append((DELIVER, link(at)))
            else:
                events.setdefault(f"q{at - 1}", []).extend([(DELIVER, link(at)), (BROADCAST, link(at - 1))])
        group, origin, _ = filler(number)
        events.setdefault(origin, []).append((BROADCAST, filler(number)))
        for site in groups[group]:
            shift = {swapped: links, swapped + links: -links}.get(number, 0) if site == "s" else 0
            events.setdefault(site, []).append((DELIVER, filler(number + shift)))
    groups |= {link(at)[0]: ["s"] if at in (0, links) else [f"q{at - 1}"] for at in range(links + 1)}
    rows = [
        Row("run", site, order, order, event, *message)
        for site in sorted(events)
        for order, (event, message) in enumerate(events[site])
    ]
    return rows, groups


def test_a_chain_of_causes_that_leaves_every_window_is_not_missed(tmp_path: Path) -> None:
    """Each link goes back by one slice, so each looks harmless; the chain as a whole is in no window."""
    rows, groups = chain_going_back(600, 4, [27, 38, 49, 59, 70])
    trace = RandomTrace(rows, groups, False)
    assert check_rows(rows, groups).properties["causal"].violations == 1
    limits = Limits(run_rows=1, open_rows=200, line_rows=1)
    undecided = audited(rows, trace, tmp_path, limits, 100_000).report.properties["causal"]
    assert undecided.verdict == NOT_CHECKABLE and "too large to be opened at once" in (undecided.why or "")
    opened = audited(rows, trace, tmp_path, Limits(run_rows=1, open_rows=200), 100_000).report.properties["causal"]
    assert opened.verdict == FAIL and opened.violations == 1


def test_windows_that_miss_a_chain_say_at_least(tmp_path: Path) -> None:
    told = {
        "a": "d a1, d a1, d b2, r b3, b a1, d b1, r b2, s b1, s b1, d b3",
        "b": "d a1, r b3, d a1, r a1, d b3, b b3, b b2, s b1, b b1, r b1, d b1",
    }
    events = {"b": BROADCAST, "d": DELIVER, "r": RECEIVE, "s": SEND}
    rows = [
        Row("run", site, order, order, events[event[0]], "all", event[2], int(event[3]), kind="data")
        for site, said in told.items()
        for order, event in enumerate(said.split(", "))
    ]
    expected = check_rows(rows).properties["causal"]
    limits = Limits(run_rows=0, task_rows=5, open_rows=20, line_rows=1, core_slices=1)
    found = audited(rows, RandomTrace(rows, {}, False), tmp_path, limits, 1000).report.properties["causal"]
    assert found.verdict == FAIL and found.violations < expected.violations
    assert "there are at least so many violations" in (found.why or "")


def test_the_highest_number_there_is_in_windows(tmp_path: Path) -> None:
    """A cut behind it is at a number that has no 64 bits."""
    rows: list[Row] = []
    for site in "abc":
        numbers = [*range(40), (1 << 63) - 1]
        if site == "b":
            numbers[10], numbers[11] = numbers[11], numbers[10]
        events = [(event, n) for n in numbers for event in ((BROADCAST, DELIVER) if site == "a" else (DELIVER,))]
        rows += [Row("run", site, at, at, event, "g", "a", number) for at, (event, number) in enumerate(events)]
    expected = check_rows(rows)
    for open_rows in (6, 20, 40, 80):
        limits = Limits(run_rows=0, task_rows=5, open_rows=open_rows, line_rows=1)
        found = audited(rows, RandomTrace(rows, {}, False), tmp_path, limits, 1000).report
        assert not list(differences(expected, found, rows))
