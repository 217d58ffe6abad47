"""What a reader gets: rows from a position on, without a gap or a repeat, out of files or out of memory.

    where the next row is             what happens
    in the window                     it is given from memory
    older than the window             files are read, up to where the window begins
    not told of yet                   the end; or, where it follows, it waits
    kept nowhere at this member       TooOld: another door may still have it

A reader holds no more than the batch that it is given: one that is slow reads older rows, and holds up nobody.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from tocsin.core.errors import TocsinError
from tocsin.door.history import History
from tocsin.door.limits import CANCEL_SECONDS, READ_BYTES_MAX, READ_ROWS_MAX
from tocsin.door.link import Link
from tocsin.door.rows import first_position, last_position, pieces
from tocsin.door.tail import Tail
from tocsin.door.window import Window
from tocsin.live.errors import Closed, TooOld
from tocsin.traces.schema import STREAMED

SIGN_SECONDS: Final = 2.0  # after which a reader that waits gets an empty batch, and so knows that the door is there
NO_ROWS: Final = pa.RecordBatch.from_pylist([], schema=STREAMED)
FOUND_SECONDS_MAX: Final = 10.0  # for rows that the member has told of to be found in its files


class Reading:
    """For all readers of a door."""

    def __init__(self, link: Link, history: History, window: Window, tail: Tail) -> None:
        self._link = link
        self._history = history
        self._window = window
        self._tail = tail
        self._groups = link.settings.groups

    def next_position(self, group: str) -> int:
        """Of the next message that will be delivered here."""
        return self._link.told().positions[self._groups.index(group)]

    def first_position(self, group: str) -> int:
        """The oldest that is kept here; the next one, where there is none."""
        following = self.next_position(group)  # first: what comes while the files are read is not left out
        first = self._history.first(group)
        return following if first is None else min(first, following)

    def read(
        self, group: str, position: int, limit: int | None, follows: bool, is_cancelled: Callable[[], bool]
    ) -> Iterator[Any]:
        """Record batches of streamed rows, from a position on."""
        reader = _Reader(group, position, limit)
        end = self.next_position(group)
        lost_since: float | None = None  # since when rows that were told of are not found
        said_at = time.monotonic()  # when the reader got something last
        while not reader.is_done() and (follows or reader.position < end) and not is_cancelled():
            count = self._tail.count()
            told = self.next_position(group) if follows else end
            before = reader.position
            for rows in self._rows(group, reader.position, told):
                yield from reader.take(rows, told)
                if reader.is_done() or is_cancelled():
                    return
            if reader.position > before:
                lost_since, said_at = None, time.monotonic()
                continue
            if time.monotonic() - said_at > SIGN_SECONDS:
                said_at = time.monotonic()
                yield NO_ROWS
            if reader.position < told:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > FOUND_SECONDS_MAX:
                    raise TocsinError(f"`{group}`: position {reader.position} is not found in this member's files")
            self._wait(count, follows, reader.position)

    def _rows(self, group: str, position: int, told: int) -> Iterator[Any]:
        """What there is now of the rows from a position on."""
        if position >= told:
            return
        rows = self._window.rows(group, position)
        if rows is not None:
            yield from rows
            return
        begins = self._window.begin(group)
        for older in self._history.read(group, position):
            yield older
            if begins is not None and last_position(older) >= begins:
                return

    def _wait(self, count: int, follows: bool, position: int) -> None:
        if self._link.is_closing.is_set():
            raise Closed(
                f"the door of `{self._link.settings.site}` closes; go on at another one, after {position - 1}: "
                f"{', '.join(self._link.settings.others) or 'there is none'}"
            )
        if follows:
            self._link.check(True)
        self._tail.wait(count, CANCEL_SECONDS)


class _Reader:
    """How far one has come."""

    def __init__(self, group: str, position: int, limit: int | None) -> None:
        self.position = position  # of the next row
        self._group = group
        self._left = limit  # rows; None: no limit

    def is_done(self) -> bool:
        return self._left == 0

    def take(self, rows: Any, told: int) -> Iterator[Any]:
        """Of these rows, what is next and was told of."""
        first = first_position(rows)
        if first >= told:
            return  # the log has more than may be seen
        if first > self.position:
            raise TooOld(
                f"`{self._group}`: positions {self.position} to {first - 1} are not kept here; another door may"
            )
        count = min(rows.num_rows, told - first)
        skip = self.position - first
        if self._left is not None:
            count = min(count, skip + self._left)
        for piece in pieces(rows.slice(skip, max(count - skip, 0)), READ_ROWS_MAX, READ_BYTES_MAX):
            self.position += piece.num_rows
            if self._left is not None:
                self._left -= piece.num_rows
            yield piece
