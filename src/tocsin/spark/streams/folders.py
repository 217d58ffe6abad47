"""Data folders as a table and as a stream.

Offsets are positions by group (of the next message), or orders by log. They are all that a stream keeps: which folder
holds what is looked up anew, so that a batch is the same wherever and whenever it is read.
"""

import time
from typing import Any, Final

from tocsin.core.errors import InputError
from tocsin.spark.streams.filters import Condition, bounds, values_allowed
from tocsin.spark.streams.members import Members, Share, delivering, folders_of
from tocsin.spark.streams.options import EARLIEST, LATEST, STREAMED, ReadOptions, Start
from tocsin.spark.streams.ranges import Reading, told_gone

IDLE_SECONDS: Final = 0.02  # a stream without a trigger of its own asks 88 times a second
Offsets = dict[str, int]  # by group or log, in the order of their names


class Folders:
    """What a read of data folders asks of them."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._is_trace = options.rows != STREAMED
        if self._is_trace:
            found = folders_of(options.paths, options.site)
        else:
            found = delivering(options.paths, options.site)
        self.members = Members(found, with_aside=self._is_trace)
        self._folders = tuple(str(folder) for folder in found)

    def reading(self, schema: Any, conditions: tuple[Condition, ...] = ()) -> Reading:
        return Reading(self._folders, schema, conditions, self._options.fail_on_loss)

    def held(self) -> dict[str, tuple[int, int]]:
        """By group (of those asked for) or log: what there is now."""
        self.members.look()
        return self.known()

    def known(self) -> dict[str, tuple[int, int]]:
        """The same, as it was when somebody looked."""
        if self._is_trace:
            return dict(sorted(self.members.logs().items()))
        found = self.members.held()
        group = self._options.group
        if group is not None:
            found = {group: found[group]} if group in found else {}
        return dict(sorted(found.items()))

    def place(self, said: Start, held: dict[str, tuple[int, int]]) -> Offsets:
        """Where a read begins or ends, as a user says it."""
        if said == EARLIEST:
            return {name: low for name, (low, _) in held.items()}
        if said == LATEST:
            return {name: high for name, (_, high) in held.items()}
        if isinstance(said, int):
            return dict.fromkeys(held or ([self._options.group] if self._options.group else []), said)
        assert isinstance(said, dict)
        for name in said:
            if name not in held:
                known = ", ".join(held) or "none"
                raise InputError(f"positions: unknown group `{name}`; there is {known}")
        return {name: said.get(name, low) for name, (low, _) in held.items()}

    def shares(self, start: Offsets, end: Offsets, conditions: tuple[Condition, ...] = ()) -> list[Share]:
        """Where everything between two offsets is; InputError if something of it is gone, and that matters."""
        found: list[Share] = []
        groups, sites = values_allowed(conditions, "group"), values_allowed(conditions, "site")
        low, high = bounds(conditions, "position")
        for name in sorted(end):
            first, last = start.get(name, 0), end[name]
            if self._is_trace:
                if sites is None or name.split("/")[-2] in sites:
                    found += self.members.log_shares(name, first, last)[0]
                continue
            if groups is not None and name not in groups:
                continue
            shares, gone = self.members.shares(name, max(first, low), min(last, high))
            if gone and self._options.fail_on_loss:
                raise InputError(told_gone(name, *gone[0]))
            found += shares
        return found

    def partitions(self, shares: list[Share]) -> list[list[Share]]:
        """Shares for one task each, in order; at least two tasks where there is enough for two."""
        total = sum(share.rows() for share in shares)
        rows_max = max(1, min(self._options.partition_rows, -(-total // 2) if total > 50_000 else total))
        tasks: list[list[Share]] = []
        room = 0
        for share in shares:
            if not tasks or room <= 0:
                tasks.append([])
                room = rows_max
            tasks[-1].append(share)
            room -= share.rows()
        return tasks


class FolderStream:
    """The offsets of a stream; `target` is where it ends, if it reads what is there now and no more."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self.folders = Folders(options)
        self._target: Offsets | None = None

    def initial(self) -> Offsets:
        return self.folders.place(self._options.starting, self.folders.held())

    def stop_here(self) -> None:
        """What comes later is not read."""
        self._target = {name: high for name, (_, high) in self.folders.held().items()}

    def latest(self) -> Offsets:
        return {name: high for name, (_, high) in self.folders.known().items()}

    def admit(self, start: Offsets) -> Offsets:
        """Where the next batch ends."""
        held = self.folders.held()
        ends = {name: max(high, start.get(name, 0)) for name, (_, high) in held.items()}
        if self._target is not None:
            ends = {name: max(start.get(name, 0), min(end, self._target.get(name, 0))) for name, end in ends.items()}
        ends = {**start, **ends}
        lags = {name: end - self._begin(name, start, held) for name, end in ends.items()}
        if not any(lags.values()):
            time.sleep(IDLE_SECONDS)
            return dict(sorted(start.items()))
        limits = [limit for limit in (self._options.records_max, self._rows_of_bytes(start, ends)) if limit is not None]
        if limits and sum(lags.values()) > min(limits):
            ends = {name: ends[name] - lags[name] + part for name, part in parts_of(lags, min(limits)).items()}
        return dict(sorted(ends.items()))

    def _begin(self, name: str, start: Offsets, held: dict[str, tuple[int, int]]) -> int:
        """A group that came later begins with its first message."""
        return start[name] if name in start else held[name][0]

    def _rows_of_bytes(self, start: Offsets, ends: Offsets) -> int | None:
        """How many rows fit, by the average size of those that wait; at least one."""
        if self._options.bytes_max is None:
            return None
        shares = self.folders.shares(start, ends)
        segments = {
            (share.segment.site_dir, share.segment.file, share.segment.first_order): share.segment for share in shares
        }
        size = sum(each.size for each in segments.values())
        rows = sum(each.end_order - each.first_order for each in segments.values())
        return max(1, self._options.bytes_max * max(rows, 1) // max(size, 1))

    def plan(self, start: Offsets, end: Offsets) -> list[list[Share]]:
        held = self.folders.held()
        begins = {name: self._begin(name, start, held) if name in held else start.get(name, 0) for name in end}
        return self.folders.partitions(self.folders.shares(begins, end))


def parts_of(lags: Offsets, limit: int) -> Offsets:
    """So many rows in all: to each by how much waits there, the rest to the first that have more."""
    total = sum(lags.values())
    parts = {name: lag * limit // total for name, lag in lags.items()}
    for name in sorted(lags):
        parts[name] += min(limit - sum(parts.values()), lags[name] - parts[name])
    return parts
