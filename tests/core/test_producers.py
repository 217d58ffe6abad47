"""The table of producers, beside a dumb twin that forgets in the same way, and its bytes."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.errors import DecodeError
from tocsin.core.producers import NOT_SEEN, TOO_OLD, Producers, is_producer, producers_from_bytes

SENDS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 12)), max_size=80)


class Twin:
    """The same in the plainest way."""

    def __init__(self, numbers_max: int, producers_max: int) -> None:
        self.numbers_max = numbers_max
        self.producers_max = producers_max
        self.accepted: list[tuple[str, dict[int, int], int]] = []  # name, positions by number, largest forgotten

    def take(self, producer: str, number: int, position: int) -> int:
        found = [row for row in self.accepted if row[0] == producer]
        name, positions, floor = found[0] if found else (producer, {}, -1)
        if number in positions:
            return positions[number]
        if number <= floor:
            return TOO_OLD
        positions = {**positions, number: position}
        while len(positions) > self.numbers_max:
            floor = min(positions)
            positions = {each: at for each, at in positions.items() if each != floor}
        others = [row for row in self.accepted if row[0] != producer]
        self.accepted = [*others, (name, positions, floor)][-self.producers_max :]
        return position


@given(SENDS, st.integers(1, 6), st.integers(1, 4))
def test_it_decides_as_its_twin(sends: list[tuple[str, int]], numbers_max: int, producers_max: int) -> None:
    table, twin = Producers(numbers_max, producers_max), Twin(numbers_max, producers_max)
    position = 0
    for producer, number in sends:
        known = table.find(producer, number)
        decided = table.take(producer, number, position)
        assert decided == twin.take(producer, number, position)
        assert known == (NOT_SEEN if decided == position else decided)
        position += decided == position
    assert len(table) == len(twin.accepted)


@given(SENDS, SENDS, st.integers(1, 6), st.integers(1, 4))
def test_a_table_read_back_goes_on_as_the_one_that_was_written(
    before: list[tuple[str, int]], after: list[tuple[str, int]], numbers_max: int, producers_max: int
) -> None:
    table = Producers(numbers_max, producers_max)
    position = 0
    for producer, number in before:
        position += table.take(producer, number, position) == position
    other = producers_from_bytes(table.to_bytes(), numbers_max, producers_max)
    for producer, number in after:
        assert other.to_bytes() == table.to_bytes()
        decided = table.take(producer, number, position)
        assert other.take(producer, number, position) == decided
        position += decided == position
    assert other.to_bytes() == table.to_bytes()


@given(SENDS)
def test_repeats_leave_no_trace(sends: list[tuple[str, int]]) -> None:
    """The table is a function of what was accepted: it can be made anew from a journal."""
    table, anew = Producers(4, 3), Producers(4, 3)
    position = 0
    for producer, number in sends:
        if table.take(producer, number, position) == position:
            assert anew.take(producer, number, position) == position
            position += 1
    assert anew.to_bytes() == table.to_bytes()


@given(st.binary(max_size=60))
def test_no_bytes_break_it(data: bytes) -> None:
    try:
        table = producers_from_bytes(data)
    except DecodeError:
        return
    assert table.to_bytes() == producers_from_bytes(table.to_bytes()).to_bytes()


def test_forged_tables_are_refused() -> None:
    table = Producers()
    table.take("till", 7, 0)
    good = table.to_bytes()
    for bad in (b"", good[:-1], good + b"\0", b"\x92\x02\x90", good.replace(b"till", b"ti\nl")):
        with pytest.raises(DecodeError):
            producers_from_bytes(bad)


def test_a_late_number_is_new_while_the_table_can_tell() -> None:
    """Sent through a slow member, 6 comes after 7; it was never delivered, and is now."""
    table = Producers(numbers_max=3)
    assert [table.take("till", number, at) for at, number in enumerate((5, 7, 6))] == [0, 1, 2]
    assert table.take("till", 6, 3) == 2
    assert table.take("till", 9, 3) == 3  # forgets 5
    assert table.take("till", 5, 4) == table.take("till", 4, 4) == TOO_OLD


def test_a_forgotten_producer_counts_as_new() -> None:
    table = Producers(producers_max=2)
    for at, producer in enumerate(("a", "b", "a", "c")):
        assert table.take(producer, at, at) == at  # c makes it forget b, who was accepted longest ago
    assert table.find("a", 0) == 0
    assert table.take("b", 1, 4) == 4


def test_names() -> None:
    assert is_producer("till-3") and is_producer("Käthe") and is_producer("x" * 64)
    assert not any(map(is_producer, ("", "x" * 65, "ä" * 33, "a\nb", "a\0", "\ud800")))


def test_it_stays_cheap_at_its_bounds() -> None:
    """The cost of a message does not grow with what is kept: the last tenth takes no longer than five times a tenth
    at the start, on any machine."""
    table = Producers()
    spent = []
    for part in range(10):
        begin = time.process_time()
        for at in range(part * 20_000, (part + 1) * 20_000):
            table.take(f"p{at % 10}", at // 10, at)
        spent.append(time.process_time() - begin)
    assert max(spent[5:]) < 5 * max(min(spent), 0.002), spent
    rows = [table.find("p3", number) for number in range(20_000 - 1024, 20_000)]
    assert all(later - earlier == 10 for earlier, later in pairwise(rows))
