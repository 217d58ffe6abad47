"""The table of estimates against a dictionary, its news, and its bytes."""

import numpy as np
import pytest

from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree.estimates import Columns, read_few, write_few
from tocsin.protocols.reliability_tree.knowledge import Knowledge, is_newer, link_key
from tocsin.protocols.reliability_tree.news import (
    News,
    decode_news,
    encode_news,
    read_many,
    read_varint,
    varint,
    write_many,
)

SITES = 6


class DumbKnowledge:
    """Algorithm 3, estimate by estimate."""

    def __init__(self, site: int) -> None:
        self.rows: dict[int, tuple[int, int, int, int]] = {}  # key: successes, failures, version, distortion
        self._site = site

    def merge(self, table: list[tuple[int, int, int, int, int]]) -> None:
        for key, successes, failures, version, distortion in table:
            if key == self._site or (key >= SITES and (key - SITES) // SITES == self._site):
                continue
            known = self.rows.get(key)
            mine = (successes, failures, version, min(distortion + 1, 255))
            if known is None or is_newer(version, known[2]) or (version == known[2] and mine[3] < known[3]):
                self.rows[key] = mine


def random_table(rng: Rng) -> list[tuple[int, int, int, int, int]]:
    keys = {rng.below(SITES) for _ in range(rng.below(5))}
    for _ in range(rng.below(8)):
        first, second = rng.below(SITES), rng.below(SITES)
        if first != second:
            keys.add(link_key(first, second, SITES))
    return [(key, rng.below(65_536), rng.below(300), rng.below(6), rng.below(256)) for key in sorted(keys)]


def as_news(table: list[tuple[int, int, int, int, int]]) -> News:
    rows = np.array(table, dtype=np.int64).reshape(-1, 5)
    nearness = 255 - np.minimum(rows[:, 4] + 1, 255)
    return News(rows[:, 0], rows[:, 1] << 16 | rows[:, 2], rows[:, 3] << 16 | nearness, SITES)


def rows(knowledge: Knowledge) -> dict[int, tuple[int, int, int, int]]:
    _, data = knowledge.news(0, 1 << 20)
    if not data:
        return {}
    news = decode_news(data, SITES)
    assert news is not None
    found: dict[int, tuple[int, int, int, int]] = {}
    for row, key in enumerate(news.keys.tolist()):
        successes, failures = divmod(int(news.evidence[row]), 1 << 16)
        found[key] = (successes, failures, int(news.ranks[row]) >> 16, knowledge.distortion(key))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_bulk_merging_is_merging_one_by_one(seed: int) -> None:
    rng = Rng(seed)
    clever, dumb = Knowledge(2, SITES), DumbKnowledge(2)
    for _ in range(60):
        table = random_table(rng)
        clever.merge(as_news(table), rng.below(3))
        dumb.merge(table)
        assert rows(clever) == dumb.rows


@pytest.mark.parametrize("seed", range(10))
def test_news_since_the_acknowledged_number_are_enough(seed: int) -> None:
    """A neighbour that gets only changes, in pieces, some of them lost, knows the same in the end."""
    rng = Rng(seed)
    here, there = Knowledge(2, SITES), Knowledge(5, SITES)
    held = 0
    sent = 0
    for step in range(200):
        if step < 150:
            here.merge(as_news(random_table(rng)), 0)
            here.publish(2, step + 1, step, 1)
        upto, news = here.news(held, 4)
        if news:
            table = decode_news(news, SITES)
            assert table is not None and len(table) <= 4
            sent += len(table)
            if rng.chance(0.7):
                there.merge(table, 1)
                held = upto
    assert held == here.changes
    expected = {key: row for key, row in rows(here).items() if key != 5 and (key - SITES) // SITES != 5}
    assert {key: row[:3] for key, row in rows(there).items()} == {key: row[:3] for key, row in expected.items()}
    assert sent > 150


def test_what_is_ours_is_never_replaced_and_contradiction_is_noticed() -> None:
    knowledge = Knowledge(1, SITES)
    knowledge.publish(1, 3, 100, 2)
    key = link_key(4, 1, SITES)
    knowledge.publish(key, 5, 50, 1)
    foreign = link_key(1, 0, SITES)
    table = as_news([(1, 7, 7, 4, 0), (foreign, 9, 0, 2, 0), (key, 9, 9, 5, 0)])
    assert knowledge.merge(table, 0) == [(1, 4)]  # an older life told version 4 of us
    assert rows(knowledge) == {1: (100, 2, 3, 0), key: (50, 1, 5, 0), foreign: (9, 0, 2, 1)}


def test_versions_wrap_round() -> None:
    assert is_newer(0, 65_535) and is_newer(5, 65_000) and not is_newer(65_535, 0)
    assert not is_newer(7, 7) and is_newer(0, -1)
    knowledge = Knowledge(0, SITES)
    knowledge.merge(as_news([(3, 10, 0, 65_535, 0)]), 0)
    knowledge.merge(as_news([(3, 20, 0, 0, 7)]), 0)
    assert rows(knowledge)[3] == (20, 0, 0, 8)


def test_silence_of_the_neighbour_distorts_what_came_from_it() -> None:
    knowledge = Knowledge(0, SITES)
    knowledge.merge(as_news([(3, 10, 0, 1, 0)]), 0)
    knowledge.merge(as_news([(4, 10, 0, 1, 4)]), 1)
    knowledge.age(0)
    assert (knowledge.distortion(3), knowledge.distortion(4), knowledge.distortion(5)) == (2, 5, -1)
    knowledge.merge(as_news([(3, 10, 0, 1, 0)]), 1)  # the other neighbour is as near as the first was: it is better now
    assert knowledge.distortion(3) == 1
    knowledge.age(0)
    assert knowledge.distortion(3) == 1
    for _ in range(300):
        knowledge.age(1)
    assert knowledge.distortion(3) == 255


def test_gone_links_are_not_on_the_map() -> None:
    knowledge = Knowledge(0, SITES)
    present, gone = link_key(1, 2, SITES), link_key(3, 2, SITES)
    knowledge.merge(as_news([(4, 8, 1, 1, 0), (present, 10, 3, 1, 0), (gone, 0, 0, 9, 0)]), 0)
    assert knowledge.links() == ([1], [2], [10], [3])
    assert knowledge.processes() == ([4], [8], [1])


def test_an_estimate_takes_a_few_bytes() -> None:
    """A hundred processes and a thousand links, with the evidence of 400 heartbeats."""
    rng = Rng(1)
    ends = [rng.sample(100, 2) for _ in range(1_200)]
    pairs = sorted({link_key(first, second, 100) for first, second in ends})[:1_000]
    keys = np.array(list(range(100)) + pairs)
    count = len(keys)
    columns = [keys, np.full(count, 760), np.full(count, 40), np.full(count, 30), np.full(count, 3)]
    data = encode_news(columns)
    assert len(data) / count < 7
    table = decode_news(data, 100)
    assert table is not None and (table.keys == keys).all()
    assert (table.evidence == 760 << 16 | 40).all()
    assert (table.ranks == 30 << 16 | 255 - 4).all()  # one hand further


def many(data: bytes) -> Columns | None:
    found = read_many(data, SITES)
    return None if found is None else (found.keys.tolist(), found.evidence.tolist(), found.ranks.tolist())


def test_few_and_many_are_written_and_read_alike() -> None:
    rng = Rng(5)
    for _ in range(500):
        table = random_table(rng)
        if table:
            columns = [list(column) for column in zip(*table, strict=True)]
            data = write_few(columns)
            assert data == write_many([np.array(column) for column in columns])
            assert read_few(data, SITES) == many(data) is not None
            place = rng.below(len(data))
            spoiled = data[:place] + bytes([rng.below(256)]) + data[place + 1 :]
            assert read_few(spoiled, SITES) == many(spoiled)
    for _ in range(3_000):
        noise = bytes(rng.below(256) if rng.chance(0.3) else rng.below(9) for _ in range(5 * rng.below(8)))
        assert read_few(noise, SITES) == many(noise)
    for length in range(1, 12):
        long = b"\xff" * length + b"\x00" + bytes(4)
        assert read_few(long, SITES) == many(long)


def test_varints() -> None:
    rng = Rng(3)
    for _ in range(300):
        value = rng.between(0, (1 << (1 + rng.below(62))) - 1)
        assert read_varint(varint(value), 0) == (value, len(varint(value)))
    assert read_varint(b"\x80\x80", 0)[0] == -1
    assert read_varint(b"\xff" * 12, 0)[0] == -1


def test_news_that_no_process_sends() -> None:
    good = encode_news([np.array(column) for column in ([1, 12], [5, 5], [0, 0], [1, 1], [0, 0])])
    assert decode_news(good, SITES) is not None
    assert decode_news(good, 3) is None  # sites that do not exist
    assert decode_news(b"", SITES) is None and decode_news(good[:-1], SITES) is None
    assert decode_news(good + b"\x80", SITES) is None
    link_to_itself = encode_news([np.array([column]) for column in (SITES + 2 * SITES + 2, 5, 0, 1, 0)])
    assert decode_news(link_to_itself, SITES) is None
    too_much = encode_news([np.array([column]) for column in (1, 70_000, 0, 1, 0)])
    assert decode_news(too_much, SITES) is None
    rng = Rng(4)
    for _ in range(3_000):
        noise = bytes(rng.below(256) for _ in range(rng.below(40)))
        table = decode_news(noise, SITES)
        if table is not None:
            Knowledge(1, SITES).merge(table, 0)
