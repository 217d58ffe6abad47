"""The checks against their dumb twin (brute.py): thousands of random traces, every verdict, every count."""

from collections import Counter

import pytest

from tests.properties.brute import BruteRun, brute_verdicts
from tests.properties.random_traces import RandomTrace, random_trace, scattered_trace
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, PROPERTIES, Verdict, check

BLOCK = 400  # traces in a test
BLOCKS = 5


def compare(name_of_trace: str, trace: RandomTrace) -> dict[str, Verdict]:
    """Both on one trace; the verdicts."""
    expected = brute_verdicts(trace.rows, trace.groups, trace.one_clock)
    report = check(trace.rows, trace.groups, one_clock=trace.one_clock)
    assert list(report.properties) == list(PROPERTIES) == list(BruteRun.PROPERTIES)
    assert report.rows == len(trace.rows)
    rows = set(trace.rows)
    for name, found in report.properties.items():
        verdict, checked, violations, smallest = expected[name]
        told = f"{name_of_trace}, {name}: {found}"
        assert (found.verdict, found.checked, found.violations) == (verdict, checked, violations), told
        assert (found.why is None) == (found.verdict == PASS), told
        if smallest is None:
            assert found.witness is None, told
            continue
        assert found.witness is not None and rows.issuperset(found.witness), told
        if name == "causal":  # a row that serves two links is shown once
            assert 3 <= len(found.witness) <= smallest, told
        else:
            assert len(found.witness) == smallest, told
    return report.properties


@pytest.mark.parametrize("block", range(BLOCKS))
def test_equal_to_brute_force(block: int) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        for name, found in compare(f"random_trace({seed})", random_trace(seed)).items():
            seen[name, found.verdict] += 1
    for name in PROPERTIES:  # what happened: traces in which every property holds prove little
        for verdict in (PASS, FAIL, NOT_CHECKABLE):
            assert seen[name, verdict] >= BLOCK // 100, (name, verdict, seen)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_equal_to_brute_force_over_long_ways(block: int) -> None:
    long_cycles = long_chains = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        found = compare(f"scattered_trace({seed})", scattered_trace(seed))
        long_cycles += len(found["acyclic"].witness or ()) > 4
        long_chains += len(found["causal"].witness or ()) > 4
    assert long_cycles >= 2 and long_chains >= 2
