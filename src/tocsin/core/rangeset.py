"""A set of integers kept as sorted, disjoint, non-touching ranges: what a site has, what a peer lacks.

Sequence numbers arrive almost in order, so a set of a million of them is usually one range and the next one
extends it in constant time. Every other operation finds its place by bisection. Ranges are half open,
`[start, end)`, as in Python.
"""

from bisect import bisect_left, bisect_right
from typing import Final

from tocsin.core.errors import DecodeError

WIRE_RANGES_MAX: Final = 256  # about 1 KiB encoded, so that an acknowledgement fits one datagram of 1500 bytes
WIRE_VALUE_MAX: Final = 1 << 62  # every number of the wire form fits a signed 64-bit integer, sums included


class RangeSet:
    """Integers as ranges. Sets are equal when they hold the same integers; mutable, they have no hash."""

    def __init__(self) -> None:
        self._starts: list[int] = []  # strictly increasing
        self._ends: list[int] = []  # same length; starts[i] < ends[i] < starts[i + 1]: touching ranges are joined
        self._count: int = 0  # integers held, always the sum of ends[i] - starts[i]

    # Changing one range

    def add(self, value: int) -> bool:
        """Put `value` in; whether it was absent."""
        ends = self._ends
        if ends:
            last = ends[-1]
            if value == last:
                ends[-1] = value + 1
                self._count += 1
                return True
            if value < last:
                return self._add_inside(value)
        self._starts.append(value)
        ends.append(value + 1)
        self._count += 1
        return True

    def _add_inside(self, value: int) -> bool:
        """`add` for a value below the end of the last range."""
        starts = self._starts
        ends = self._ends
        after = bisect_right(starts, value)  # ranges before `after` start at or below value
        joins_left = False
        if after > 0:
            end = ends[after - 1]
            if value < end:
                return False
            joins_left = value == end
        joins_right = after < len(starts) and starts[after] == value + 1
        if joins_left and joins_right:
            ends[after - 1] = ends[after]
            del starts[after]
            del ends[after]
        elif joins_left:
            ends[after - 1] = value + 1
        elif joins_right:
            starts[after] = value
        else:
            starts.insert(after, value)
            ends.insert(after, value + 1)
        self._count += 1
        return True

    def add_range(self, start: int, end: int) -> None:
        """Put every integer of `[start, end)` in; an empty range changes nothing."""
        if start >= end:
            return
        starts = self._starts
        ends = self._ends
        low = bisect_left(ends, start)  # the first range that touches or follows start
        high = bisect_right(starts, end)  # one past the last range that touches or precedes end
        if low < high:
            start = min(start, starts[low])
            end = max(end, ends[high - 1])
            for place in range(low, high):
                self._count -= ends[place] - starts[place]
        starts[low:high] = [start]
        ends[low:high] = [end]
        self._count += end - start

    def remove(self, value: int) -> bool:
        """Take `value` out; whether it was there."""
        if not self.contains(value):
            return False
        self.remove_range(value, value + 1)
        return True

    def remove_range(self, start: int, end: int) -> None:
        """Take every integer of `[start, end)` out; those absent already do not matter."""
        if start >= end:
            return
        starts = self._starts
        ends = self._ends
        low = bisect_right(ends, start)  # the first range that reaches beyond start
        high = bisect_left(starts, end)  # one past the last range that begins before end
        if low >= high:
            return
        kept_starts: list[int] = []
        kept_ends: list[int] = []
        for place in range(low, high):
            self._count -= ends[place] - starts[place]
        if starts[low] < start:
            kept_starts.append(starts[low])
            kept_ends.append(start)
            self._count += start - starts[low]
        if ends[high - 1] > end:
            kept_starts.append(end)
            kept_ends.append(ends[high - 1])
            self._count += ends[high - 1] - end
        starts[low:high] = kept_starts
        ends[low:high] = kept_ends

    def clear(self) -> None:
        self._starts.clear()
        self._ends.clear()
        self._count = 0

    # Whole sets: one walk over both lists of ranges

    def update(self, other: "RangeSet") -> None:
        """Put all of `other` in."""
        if len(other._starts) <= 4:  # the usual case, a few ranges into a long list: bisect instead of walking it all
            for place in range(len(other._starts)):
                self.add_range(other._starts[place], other._ends[place])
            return
        joined = self.union(other)
        self._starts = joined._starts
        self._ends = joined._ends
        self._count = joined._count

    def union(self, other: "RangeSet") -> "RangeSet":
        result = RangeSet()
        mine = 0
        theirs = 0
        while mine < len(self._starts) or theirs < len(other._starts):
            take_mine = theirs == len(other._starts) or (
                mine < len(self._starts) and self._starts[mine] <= other._starts[theirs]
            )
            if take_mine:
                result._append(self._starts[mine], self._ends[mine])
                mine += 1
            else:
                result._append(other._starts[theirs], other._ends[theirs])
                theirs += 1
        return result

    def intersection(self, other: "RangeSet") -> "RangeSet":
        result = RangeSet()
        mine = 0
        theirs = 0
        while mine < len(self._starts) and theirs < len(other._starts):
            start = max(self._starts[mine], other._starts[theirs])
            end = min(self._ends[mine], other._ends[theirs])
            if start < end:
                result._append(start, end)
            if self._ends[mine] <= other._ends[theirs]:
                mine += 1
            else:
                theirs += 1
        return result

    def difference(self, other: "RangeSet") -> "RangeSet":
        """What is here and not in `other`."""
        result = RangeSet()
        theirs = 0
        for mine in range(len(self._starts)):
            start = self._starts[mine]
            end = self._ends[mine]
            while theirs < len(other._starts) and other._starts[theirs] < end:
                if start < other._starts[theirs]:
                    result._append(start, other._starts[theirs])
                start = max(start, other._ends[theirs])
                if other._ends[theirs] >= end:
                    break  # it may reach into the next of our ranges too
                theirs += 1
            if start < end:
                result._append(start, end)
        return result

    def gaps_below(self, bound: int, start: int = 0) -> "RangeSet":
        """The integers of `[start, bound)` that are missing: what to ask for when all below `bound` exist."""
        result = RangeSet()
        place = bisect_right(self._ends, start)
        while start < bound:
            if place == len(self._starts) or self._starts[place] >= bound:
                result._append(start, bound)
                break
            if start < self._starts[place]:
                result._append(start, self._starts[place])
            start = self._ends[place]
            place += 1
        return result

    def lowest(self, count: int) -> "RangeSet":
        """The `count` smallest values; none where that is not positive."""
        result = RangeSet()
        for start, end in self.ranges():
            if count <= 0:
                break
            result.add_range(start, min(end, start + count))
            count -= end - start
        return result

    def _append(self, start: int, end: int) -> None:
        """Add a range that starts at or after the start of the last one."""
        if self._ends and start <= self._ends[-1]:
            if end > self._ends[-1]:
                self._count += end - self._ends[-1]
                self._ends[-1] = end
            return
        self._starts.append(start)
        self._ends.append(end)
        self._count += end - start

    # Questions

    def contains(self, value: int) -> bool:
        place = bisect_right(self._starts, value) - 1
        return place >= 0 and value < self._ends[place]

    def contains_range(self, start: int, end: int) -> bool:
        """Whether every integer of `[start, end)` is here; true of an empty range."""
        if start >= end:
            return True
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and end <= self._ends[place]

    def next_missing(self, start: int) -> int:
        """The smallest integer at or above `start` that is not here: the end of the run from `start`."""
        place = bisect_right(self._starts, start) - 1
        if place >= 0 and start < self._ends[place]:
            return self._ends[place]
        return start

    def count(self) -> int:
        return self._count

    def range_count(self) -> int:
        return len(self._starts)

    def first(self) -> int:
        """The smallest integer; the set must not be empty."""
        assert self._starts, "an empty RangeSet has no first integer"
        return self._starts[0]

    def last(self) -> int:
        """The largest integer; the set must not be empty."""
        assert self._ends, "an empty RangeSet has no last integer"
        return self._ends[-1] - 1

    def ranges(self) -> list[tuple[int, int]]:
        """The ranges `[start, end)` in increasing order."""
        return [(self._starts[place], self._ends[place]) for place in range(len(self._starts))]

    def values(self) -> list[int]:
        """Every integer, in increasing order: a range of a million becomes a list of a million."""
        values: list[int] = []
        for place in range(len(self._starts)):
            values.extend(range(self._starts[place], self._ends[place]))
        return values

    def copy(self) -> "RangeSet":
        result = RangeSet()
        result._starts = self._starts[:]
        result._ends = self._ends[:]
        result._count = self._count
        return result

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count > 0

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.contains(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return self._starts == other._starts and self._ends == other._ends

    def __repr__(self) -> str:
        parts = [
            f"{start}" if end == start + 1 else f"{start}..{end - 1}" for start, end in self.ranges()[:WIRE_RANGES_MAX]
        ]
        return f"RangeSet({', '.join(parts)})"

    # The wire form: start, length, gap, length, gap, length …: small numbers, and one way to write a set.

    def to_wire(self, ranges_max: int = WIRE_RANGES_MAX) -> tuple[int, ...]:
        """A flat tuple of at most `2 * ranges_max` integers; a set of more ranges is cut to its lowest ones.

        Cutting is safe for what these sets are sent for: to acknowledge or ask for too little postpones.
        The integers must lie in `[0, WIRE_VALUE_MAX)`.
        """
        flat: list[int] = []
        reached = 0
        for place in range(min(ranges_max, len(self._starts))):
            assert self._starts[place] >= 0 and self._ends[place] <= WIRE_VALUE_MAX, "outside the wire form"
            flat.append(self._starts[place] - reached)
            flat.append(self._ends[place] - self._starts[place])
            reached = self._ends[place]
        return tuple(flat)


def rangeset_of(values: list[int]) -> RangeSet:
    """A set of the given integers, in any order, repeated or not."""
    result = RangeSet()
    for value in values:
        result.add(value)
    return result


def rangeset_from_wire(flat: tuple[int, ...], ranges_max: int = WIRE_RANGES_MAX) -> RangeSet:
    """The set that `to_wire` described; anything else, by whomever it was sent, is a DecodeError."""
    if len(flat) % 2 != 0 or len(flat) > 2 * ranges_max:
        raise DecodeError(f"range set: expected an even number of at most {2 * ranges_max} integers, found {len(flat)}")
    result = RangeSet()
    reached = 0
    for place in range(0, len(flat), 2):
        gap = flat[place]
        length = flat[place + 1]
        gap_min = 0 if place == 0 else 1
        if not (gap_min <= gap <= WIRE_VALUE_MAX and 1 <= length <= WIRE_VALUE_MAX):
            raise DecodeError(f"range set: expected gap >= {gap_min} and length >= 1, found {gap}, {length}")
        start = reached + gap
        reached = start + length
        if reached > WIRE_VALUE_MAX:
            raise DecodeError(f"range set: expected integers below {WIRE_VALUE_MAX}, found {reached - 1}")
        result._append(start, reached)
    return result
