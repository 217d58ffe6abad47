"""The array kernels against the plain definitions: thousands of random traces, every verdict, every count."""

from collections import Counter

import pytest

from tests.properties.random_traces import (
    RandomTrace,
    calm_trace,
    live_trace,
    random_trace,
    scattered_trace,
    stopped_trace,
    terms_of,
)
from tests.properties.stories import differences, table_of
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, PROPERTIES, Report
from tocsin.properties.audit.tables import judge_table
from tocsin.properties.plain.check import judge_rows

BLOCK = 400  # traces in a test
BLOCKS = 5
UNTIMED = [name for name in PROPERTIES if name != "settled"]  # without knowing when faults were over


def compare(name_of_trace: str, trace: RandomTrace) -> Report:
    """Both on one trace; the verdicts."""
    plain = judge_rows(trace.rows, terms_of(trace))
    arrays = judge_table(table_of(trace.rows), terms_of(trace), trace.one_clock, PROPERTIES)
    assert tuple(plain.properties) == tuple(arrays.properties) == PROPERTIES
    for one, other in ((plain, arrays), (arrays, plain)):
        wrong = list(differences(one, other, trace.rows))
        assert not wrong, f"{name_of_trace}: {wrong}"
    return plain


def verdicts_seen(traces: list[tuple[str, RandomTrace]]) -> Counter[tuple[str, str]]:
    seen: Counter[tuple[str, str]] = Counter()
    for name, trace in traces:
        for each, found in compare(name, trace).properties.items():
            seen[each, found.verdict] += 1
    return seen


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_traces(block: int) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    seen = verdicts_seen([(f"random_trace({seed})", random_trace(seed)) for seed in seeds])
    for name in UNTIMED:  # what happened: traces in which every property holds prove little
        for verdict in (PASS, FAIL, NOT_CHECKABLE):
            assert seen[name, verdict] >= BLOCK // 100, (name, verdict, seen)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_traces_of_live_members(block: int) -> None:
    """With members that leave, repeats of producers, minority views, and logs of which retention dropped a part."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    seen = verdicts_seen([(f"live_trace({seed})", live_trace(seed)) for seed in seeds])
    for name in UNTIMED:
        for verdict in (FAIL, NOT_CHECKABLE):
            assert seen[name, verdict] >= BLOCK // 200, (name, verdict, seen)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_traces_of_groups_that_were_stopped(block: int) -> None:
    """All have left, or all but a few."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    seen = verdicts_seen([(f"stopped_trace({seed})", stopped_trace(seed)) for seed in seeds])
    for name in ("agreement", "uniform_agreement", "safe"):
        for verdict in (PASS, FAIL, NOT_CHECKABLE):
            assert seen[name, verdict] >= BLOCK // 40, (name, verdict, seen)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_traces_of_which_it_is_known_when_faults_were_over(block: int) -> None:
    """With missed ranges, lost broadcasts, new incarnations, and members that are running."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    seen = verdicts_seen([(f"calm_trace({seed})", calm_trace(seed)) for seed in seeds])
    for verdict in (PASS, FAIL, NOT_CHECKABLE):
        assert seen["settled", verdict] >= BLOCK // 40, (verdict, seen)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_long_ways(block: int) -> None:
    long_cycles = long_chains = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        found = compare(f"scattered_trace({seed})", scattered_trace(seed))
        long_cycles += len(found["acyclic"].evidence or ()) > 4
        long_chains += len(found["causal"].evidence or ()) > 4
    assert long_cycles >= 2 and long_chains >= 2
