"""The small tools under audits, each against a slow and plain way of saying the same."""

from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest

from tests.properties.random_traces import random_trace
from tests.spark.trace_files import MadeRun, trace_table
from tocsin.properties.kernels import scan as scan_module
from tocsin.properties.kernels.arrays import Table, first_indices, number_pairs
from tocsin.properties.kernels.certify import cyclic_core
from tocsin.properties.kernels.encode import encode
from tocsin.properties.kernels.index import index_part
from tocsin.properties.kernels.joined import LogScan, join_scans
from tocsin.properties.kernels.lines import draw_line
from tocsin.properties.kernels.scan import scan
from tocsin.properties.kernels.slices import choose_cuts, cut_out, is_needed, windows


@pytest.mark.parametrize("spread", [3, 10**12], ids=["dense", "sparse"])
def test_pairs_are_numbered_in_order(spread: int) -> None:
    rng = np.random.default_rng(spread)
    major = rng.integers(0, 7, 500).astype(np.int32)
    minor = rng.integers(-spread, spread, 500)
    numbers, majors, minors = number_pairs(major, minor, 9)
    different = sorted(set(zip(major.tolist(), minor.tolist(), strict=True)))
    assert list(zip(majors.tolist(), minors.tolist(), strict=True)) == different
    assert [different[number] for number in numbers] == list(zip(major.tolist(), minor.tolist(), strict=True))


@pytest.mark.parametrize("slots", [50, 10**15], ids=["dense", "sparse"])
def test_first_indices_and_tables(slots: int) -> None:
    rng = np.random.default_rng(slots % 97)
    keys = rng.integers(0, 50, 300) * (slots // 50)
    firsts, is_first = first_indices(keys, slots)
    listed = keys.tolist()
    assert firsts.tolist() == [listed.index(key) for key in listed]
    assert is_first.tolist() == [listed.index(key) == at for at, key in enumerate(listed)]
    chosen = np.flatnonzero(is_first)
    table = Table(keys[chosen], chosen, slots)
    assert table.look_up(keys).tolist() == firsts.tolist()
    absent = np.array([key for key in range(0, slots, slots // 50) if key not in set(listed)][:5], np.int64)
    assert table.look_up(absent).tolist() == [-1] * len(absent)


def tangles_by_reaching(sequences: list[list[int]], count: int) -> set[frozenset[int]]:
    """Messages that are before each other, by reachability."""
    reach = [[False] * count for _ in range(count)]
    for sequence in sequences:
        for one, other in combinations(sequence, 2):
            reach[one][other] = True
    for middle in range(count):
        for one in range(count):
            if reach[one][middle]:
                for other in range(count):
                    reach[one][other] |= reach[middle][other]
    found = set()
    for one in range(count):
        if reach[one][one]:
            found.add(frozenset(other for other in range(count) if reach[one][other] and reach[other][one]))
    return found


def test_lines_and_tangles() -> None:
    seen = {True: 0, False: 0}
    for seed in range(400):
        rng = Random(seed)
        count = rng.randint(1, 12)
        total = list(range(count))
        rng.shuffle(total)
        sequences: list[list[int]] = []
        for _ in range(rng.randint(1, 5)):
            chosen = [message for message in total if rng.random() < rng.choice([0.3, 0.7, 1.0])]
            for _ in range(rng.choice([0, 0, 1, 2])):
                if len(chosen) > 1:
                    at = rng.randrange(len(chosen) - 1)
                    chosen[at], chosen[at + 1] = chosen[at + 1], chosen[at]
            sequences.append(chosen)
        line = draw_line([np.array(sequence, np.int64) for sequence in sequences], count)
        expected = tangles_by_reaching(sequences, count)
        found: dict[int, set[int]] = {}
        for message, tangle in enumerate(line.tangle.tolist()):
            if tangle >= 0:
                found.setdefault(tangle, set()).add(message)
        assert {frozenset(each) for each in found.values()} == expected, (seed, sequences)
        if line.is_total:
            assert not expected
            for sequence in sequences:
                ranks = line.rank[sequence].tolist()
                assert ranks == sorted(ranks) and -1 not in ranks
        seen[bool(expected)] += 1
    assert min(seen.values()) > 50


def is_tree_like(sets: list[frozenset[str]]) -> bool:
    """A heaviest tree over the sets, by what they share, has the weight that only a tree-like family reaches.

    Bernstein and Goodman 1981: the sum over elements of (sets that hold it - 1).
    """
    wanted = sum(sum(name in each for each in sets) - 1 for name in frozenset().union(*sets))
    joined = [{index} for index in range(len(sets))]
    weight = 0
    for one, other in sorted(combinations(range(len(sets)), 2), key=lambda pair: -len(sets[pair[0]] & sets[pair[1]])):
        home, away = (next(part for part in joined if index in part) for index in (one, other))
        if home is not away:
            joined.remove(away)
            home |= away
            weight += len(sets[one] & sets[other])
    return weight == wanted


def test_the_cyclic_core_is_empty_for_tree_like_sets_only() -> None:
    seen = {True: 0, False: 0}
    for seed in range(500):
        rng = Random(seed)
        sets = list({frozenset(rng.sample("ghklm", rng.randint(1, 4))) for _ in range(rng.randint(1, 5))})
        expected = is_tree_like(sets)
        assert (not cyclic_core(sets)) == expected, sets
        seen[expected] += 1
    assert min(seen.values()) > 50
    circle = [frozenset("gh"), frozenset("hk"), frozenset("kg"), frozenset("gm")]
    assert set(cyclic_core(circle)) == set(circle[:3])
    assert cyclic_core([*circle, frozenset("ghk")]) == []


def as_plain(log: LogScan) -> object:
    groups = {
        name: tuple(column.tolist() for column in (each.begins, each.counts, each.sums, each.ordered))
        for name, each in log.sequences.items()
    }
    pairs = {pair: sums.tolist() for pair, sums in log.interleaved.items()}
    return groups, pairs, log.facts, log.delivered, log.broadcast, log.sent, log.own, log.intervals


def test_scans_add_up_however_a_log_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "CHUNK_MASK", np.uint64(3))
    cuts = 0
    for seed in range(60):
        rng = Random(seed)
        if seed % 2:
            rows = MadeRun({"g": ["a", "b"], "h": ["a", "b"], "k": ["a"]}, 60, seed).rows()
        else:
            rows = random_trace(seed).rows
        for site in {(row.run, row.site) for row in rows}:
            table = trace_table([row for row in rows if (row.run, row.site) == site])
            whole = join_scans([scan(part) for part in encode(table)])
            edges = sorted({0, table.num_rows, *(rng.randrange(table.num_rows + 1) for _ in range(4))})
            parts = [scan(part) for start, end in pairwise(edges) for part in encode(table.slice(start, end - start))]
            assert as_plain(join_scans(parts)) == as_plain(whole), (seed, site, edges)
            cuts += len(parts) - 1
    assert cuts > 200


def test_every_row_lies_in_the_core_of_one_window() -> None:
    made = MadeRun({"g": ["a", "b", "c"], "h": ["b", "c", "d"], "k": ["e", "f"]}, 900, seed=5)
    parts = encode(trace_table(made.rows()))
    logs = {part.site: [index_part(part, 8)] for part in parts}
    cuts = choose_cuts(logs, 7)
    found: dict[tuple[str, int], int] = {}
    for window in windows(cuts.slices, 2):
        for part in parts:
            inside = cuts.holds(part.streams, part.stream, part.seqno, window.first, window.end)
            own = cut_out(part, cuts, window)
            assert set(part.order[inside].tolist()) <= set(own.order.tolist())
            assert is_needed(logs[part.site][0], cuts, window) or len(own.order) == 0
            for order in part.order[inside].tolist():
                found[part.site, order] = found.get((part.site, order), 0) + 1
    assert set(found.values()) == {1}
    assert len(found) == len(made.rows())
    numbers = cuts.slice_of(parts[0].streams, parts[0].stream.astype(np.int64), parts[0].seqno)
    assert set(numbers.tolist()) == set(range(7))
