"""Small tools over arrays that several kernels share."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.signedinteger[Any]]  # small numbers that stand for names; of any width
Small = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]

NONE: Final = -(1 << 63)  # in an array of numbers that may be absent
DENSE_FACTOR: Final = 4  # a table with up to so many slots an entry is cheaper than sorting the entries
DENSE_MIN: Final = 1 << 16


def is_dense(slots: int, entries: int) -> bool:
    """Whether a table of so many slots is a sensible way to look at so many entries."""
    return slots <= max(DENSE_MIN, DENSE_FACTOR * entries)


def number_pairs(major: Codes, minor: Ints, majors: int) -> tuple[Ints, Ints, Ints]:
    """Number the different pairs, sorted by (major, minor).

    Returns the number of each pair, and by number its major and its minor.
    """
    count = len(major)
    if count == 0:
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    lowest = np.full(majors, np.iinfo(np.int64).max)
    highest = np.full(majors, np.iinfo(np.int64).min)
    np.minimum.at(lowest, major, minor)
    np.maximum.at(highest, major, minor)
    used = highest >= lowest
    spans = [int(high) - int(low) + 1 for low, high in zip(lowest[used], highest[used], strict=True)]
    if not is_dense(sum(spans), count):
        return _number_by_sorting(major, minor)
    bases = np.zeros(majors, np.int64)
    bases[used] = np.concatenate(([0], np.cumsum(spans)[:-1]))
    offsets = bases - np.where(used, lowest, 0)  # slot of (major, minor) = offsets[major] + minor
    slots = offsets[major] + minor
    present = np.zeros(sum(spans), np.bool_)
    present[slots] = True
    numbers = np.cumsum(present) - 1
    taken = np.flatnonzero(present)
    majors_used = np.flatnonzero(used)
    owner = majors_used[np.searchsorted(bases[used], taken, side="right") - 1]
    return numbers[slots], owner, taken - offsets[owner]


def _number_by_sorting(major: Codes, minor: Ints) -> tuple[Ints, Ints, Ints]:
    order = np.lexsort((minor, major))
    majors, minors = major[order], minor[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (majors[1:] != majors[:-1]) | (minors[1:] != minors[:-1])
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return numbers, majors[fresh].astype(np.int64), minors[fresh]


def first_indices(keys: Ints, slots: int) -> tuple[Ints, Flags]:
    """For each key its first index in `keys`; and which entries are the first of their key. Keys are below
    `slots`.
    """
    if is_dense(slots, len(keys)):
        table = np.full(slots, -1, np.int64)
        table[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)
        firsts = table[keys]
    else:
        _, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        firsts = index[inverse]
    return firsts, firsts == np.arange(len(keys))


def distinct(numbers: Ints, slots: int) -> Ints:
    """The different numbers, sorted; all are below `slots`."""
    if not is_dense(slots, len(numbers)):
        return np.unique(numbers)
    present = np.zeros(slots, np.bool_)
    present[numbers] = True
    return np.flatnonzero(present)


class Table:
    """A look-up from keys below `slots` to numbers; -1 for keys that are absent. Each key at most once."""

    def __init__(self, keys: Ints, numbers: Ints, slots: int) -> None:
        self._dense: Ints | None = None
        if is_dense(slots, len(keys)):
            self._dense = np.full(slots, -1, np.int64)
            self._dense[keys] = numbers
        else:
            order = np.argsort(keys)
            self._keys, self._numbers = keys[order], numbers[order]

    def look_up(self, keys: Ints) -> Ints:
        if self._dense is not None:
            return self._dense[keys]
        if len(self._keys) == 0:
            return np.full(len(keys), -1, np.int64)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._numbers[places], -1)


def running_max_before(values: Ints, lowest: int) -> Ints:
    """By index: the greatest value before it, `lowest` for the first."""
    result = np.empty(len(values), values.dtype)
    if len(values):
        result[0] = lowest
        np.maximum.accumulate(values[:-1], out=result[1:])
        np.maximum(result, lowest, out=result)
    return result


def group_bounds(sorted_keys: npt.NDArray[Any]) -> Ints:
    """Where runs of equal keys begin, and the end of the last."""
    if len(sorted_keys) == 0:
        return np.zeros(1, np.int64)
    changes = np.flatnonzero(sorted_keys[1:] != sorted_keys[:-1]) + 1
    return np.concatenate(([0], changes, [len(sorted_keys)])).astype(np.int64)
