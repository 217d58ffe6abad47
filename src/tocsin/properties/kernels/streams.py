"""The streams of a table: pairs of group and origin, as numbers."""

import numpy as np

from tocsin.properties.kernels.arrays import Codes, Ints, is_dense

Stream = tuple[str | None, str]  # group (None: a receive row that names none) and origin


class Streams:
    """Numbers for the pairs of group and origin that a table's rows name."""

    def __init__(self, groups: Codes, group_names: list[str], origins: Codes, origin_names: list[str]) -> None:
        self._width = len(origin_names) + 1
        self._group_names: list[str | None] = [None, *group_names]
        self._origin_names = origin_names
        self._pairs = (groups.astype(np.int64) + 1) * self._width + origins
        self._slots = len(self._group_names) * self._width
        self._number = np.full(self._slots, -1, np.int32) if is_dense(self._slots, len(groups)) else None
        self._found: dict[int, int] = {}  # pair: its number

    def numbers(self, rows: Ints) -> Codes:
        pairs = self._pairs if len(rows) == len(self._pairs) else self._pairs[rows]
        if self._number is None:
            different, inverse = np.unique(pairs, return_inverse=True)
            return np.array([self._add(pair) for pair in different.tolist()], np.int32)[inverse]
        for pair in np.flatnonzero(np.bincount(pairs, minlength=self._slots)).tolist() if len(pairs) else ():
            self._number[pair] = self._add(pair)
        numbers: Codes = self._number[pairs]
        return numbers

    def _add(self, pair: int) -> int:
        return self._found.setdefault(pair, len(self._found))

    def names(self) -> list[Stream]:
        return [
            (self._group_names[pair // self._width], self._origin_names[pair % self._width]) for pair in self._found
        ]
