"""RangeSet against a plain set of integers, the dumb twin, and its wire form against hostile input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tocsin.core.errors import DecodeError
from tocsin.core.rangeset import (
    WIRE_RANGES_MAX,
    WIRE_VALUE_MAX,
    RangeSet,
    rangeset_from_wire,
    rangeset_of,
)

VALUES = st.integers(-6, 40)  # few values, so that ranges meet, join and split often
SETS = st.sets(VALUES)


def runs(values: set[int]) -> list[tuple[int, int]]:
    """The maximal runs of a plain set, found the slow way."""
    return [
        (value, next(end for end in range(value, value + len(values) + 2) if end not in values))
        for value in sorted(values)
        if value - 1 not in values
    ]


def twin(values: set[int]) -> RangeSet:
    return rangeset_of(list(values))


class Twins(RuleBasedStateMachine):
    """Any sequence of changes leaves the RangeSet and the plain set with the same integers."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = RangeSet()
        self.plain: set[int] = set()

    @rule(value=VALUES)
    def add(self, value: int) -> None:
        assert self.ranges.add(value) == (value not in self.plain)
        self.plain.add(value)

    @rule()
    def add_next(self) -> None:
        value = max(self.plain, default=-1) + 1
        assert self.ranges.add(value)
        self.plain.add(value)

    @rule(start=VALUES, length=st.integers(-2, 20))
    def add_range(self, start: int, length: int) -> None:
        self.ranges.add_range(start, start + length)
        self.plain.update(range(start, start + length))

    @rule(value=VALUES)
    def remove(self, value: int) -> None:
        assert self.ranges.remove(value) == (value in self.plain)
        self.plain.discard(value)

    @rule(start=VALUES, length=st.integers(-2, 20))
    def remove_range(self, start: int, length: int) -> None:
        self.ranges.remove_range(start, start + length)
        self.plain.difference_update(range(start, start + length))

    @rule(values=SETS)
    def update(self, values: set[int]) -> None:
        self.ranges.update(twin(values))
        self.plain |= values

    @rule()
    def clear(self) -> None:
        self.ranges.clear()
        self.plain.clear()

    @invariant()
    def same(self) -> None:
        assert self.ranges.ranges() == runs(self.plain)
        assert self.ranges.count() == len(self.ranges) == len(self.plain)
        assert bool(self.ranges) == bool(self.plain)
        assert self.ranges == twin(self.plain)


TestTwins = Twins.TestCase
TestTwins.settings = settings(deadline=None)


@settings(deadline=None)
@given(SETS, SETS)
def test_whole_sets(left: set[int], right: set[int]) -> None:
    assert twin(left).union(twin(right)).ranges() == runs(left | right)
    assert twin(left).intersection(twin(right)).ranges() == runs(left & right)
    assert twin(left).difference(twin(right)).ranges() == runs(left - right)
    assert twin(left).difference(twin(right)).count() == len(left - right)
    assert twin(left).intersection(twin(right)).count() == len(left & right)
    assert (twin(left) == twin(right)) == (left == right)


@settings(deadline=None)
@given(SETS, VALUES, VALUES)
def test_questions(values: set[int], low: int, high: int) -> None:
    ranges = twin(values)
    assert ranges.values() == sorted(values)
    assert ranges.contains(low) == (low in ranges) == (low in values)
    assert ranges.contains_range(low, high) == (set(range(low, high)) <= values)
    assert ranges.gaps_below(high, low).values() == sorted(set(range(low, high)) - values)
    assert ranges.gaps_below(high).values() == sorted(set(range(high)) - values)
    assert ranges.next_missing(low) == next(value for value in range(low, 99) if value not in values)
    assert ranges.range_count() == len(runs(values))
    if values:
        assert (ranges.first(), ranges.last()) == (min(values), max(values))


@settings(deadline=None)
@given(SETS, VALUES)
def test_a_copy_is_independent(values: set[int], value: int) -> None:
    original = twin(values)
    copy = original.copy()
    assert copy == original
    copy.add(value)
    copy.remove_range(-9, value)
    assert original.values() == sorted(values)


def test_a_set_is_no_key_and_equals_no_other_kind() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(RangeSet())
    assert RangeSet() != set()
    assert "1" not in rangeset_of([1])


def test_repr_reads_as_ranges() -> None:
    assert repr(rangeset_of([1, 2, 3, 7])) == "RangeSet(1..3, 7)"


@settings(deadline=None)
@given(st.sets(st.integers(0, 60)))
def test_wire_form_round_trip(values: set[int]) -> None:
    assert rangeset_from_wire(twin(values).to_wire()) == twin(values)


def test_wire_form_is_short_and_keeps_the_lowest_ranges() -> None:
    assert rangeset_of([5, 6, 7, 10]).to_wire() == (5, 3, 2, 1)
    many = rangeset_of(list(range(0, 10 * WIRE_RANGES_MAX, 2)))
    assert len(many.to_wire()) == 2 * WIRE_RANGES_MAX
    assert rangeset_from_wire(many.to_wire()).values() == many.values()[:WIRE_RANGES_MAX]
    assert rangeset_from_wire(many.to_wire(3)).values() == [0, 2, 4]


@settings(deadline=None)
@given(st.lists(st.integers(-3, 9) | st.integers(), max_size=12))
def test_wire_form_is_canonical_or_refused(flat: list[int]) -> None:
    """What decodes encodes to the same integers: equal sets have equal bytes."""
    try:
        decoded = rangeset_from_wire(tuple(flat))
    except DecodeError:
        return
    assert decoded.to_wire() == tuple(flat)


@pytest.mark.parametrize(
    "flat",
    [
        (1,),
        (-1, 2),
        (0, 0),
        (0, 1, 0, 1),
        (0, -4),
        (WIRE_VALUE_MAX, 1),
        (0, WIRE_VALUE_MAX, 1, 1),
        (1, 1) * (WIRE_RANGES_MAX + 1),
    ],
)
def test_wire_form_refuses(flat: tuple[int, ...]) -> None:
    with pytest.raises(DecodeError, match="range set"):
        rangeset_from_wire(flat)


def test_the_largest_value_passes_the_wire() -> None:
    largest = rangeset_of([0, WIRE_VALUE_MAX - 1])
    assert rangeset_from_wire(largest.to_wire()) == largest
