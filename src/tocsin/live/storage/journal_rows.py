"""What a member's log notes, as rows of a trace (docs/formats.md), message by message.

`run` is the group's name, `site` the member; `order` counts over the whole life of the member's folder. A life that
ended without a word, or was closed without leaving, is a crash; where the next life starts, the site recovers. The log
of a later incarnation begins with `retained`: what the site noted on a disk that is lost is missing.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tocsin.core.cursors import is_cursor
from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live.frame_format import Run, runs_of
from tocsin.live.packing import Unpacker
from tocsin.live.storage.earlier_frames import EarlierFrames
from tocsin.live.storage.identity import Identity, read_identity
from tocsin.live.storage.journal_columns import NONE, Columns, Span
from tocsin.live.storage.log_format import (
    Broadcast,
    Deliver,
    Missed,
    Op,
    Receive,
    Rollback,
    Snapshot,
    Start,
    Stop,
    View,
)
from tocsin.live.storage.log_reader import LogReader, Noted
from tocsin.traces.rows import (
    BROADCAST,
    CRASH,
    DELIVER,
    DUPLICATE,
    EVENTS,
    LEAVE,
    MISSED,
    RECEIVE,
    RECOVER,
    RETAINED,
    ROLLBACK,
    VIEW,
)

BATCH_ROWS: Final = 65_536
BATCH_BYTES: Final = 32 << 20  # of frames


class Standing(msgspec.Struct, frozen=True):
    """Where a log's rows stand between two files."""

    next_order: int = 0
    time_us: int = 0  # of what was noted last; 0: nothing was
    is_up: bool = True  # the last life noted has not ended


class RowMaker:
    """Operations of the log in, record batches out. It goes on over any number of files, and may begin with any: what
    it needs of older ones it finds in the log."""

    def __init__(self, identity: Identity, log: LogReader) -> None:
        self._site = identity.own_number()
        self._is_renewed = identity.incarnation > FIRST_INCARNATION
        self._columns = Columns(identity, lambda: read_identity(log.site_dir))  # of the rows that wait
        self._bytes = 0  # of the frames that they came in
        self._unpackers: dict[int, Unpacker] = {}  # by group
        self._earlier = EarlierFrames(log)
        self._view = NONE
        self._positions: dict[int, int] = {}  # by group: of the next message
        # the standing after the rows made so far, those that wait included
        self._next_order = 0
        self._time_us = 0
        self._is_up = True

    def standing(self) -> Standing:
        return Standing(self._next_order, self._time_us, self._is_up)

    def positions(self) -> dict[int, int]:
        """By group: of the next message."""
        return self._positions

    def go_on_from(self, standing: Standing) -> None:
        """Where the rows stand before the first operation."""
        self._next_order = standing.next_order
        self._time_us = standing.time_us
        self._is_up = standing.is_up

    def feed(self, noted: Noted) -> None:
        """Take the next operation. FileNotFoundError as of `LogReader.read`."""
        time_us, op = noted.time_us, noted.op
        self._earlier.note(noted)
        if isinstance(op, Deliver):
            self._feed_delivery(time_us, op, noted.frame)
        elif isinstance(op, Broadcast):
            self._add(Span(op.count, time_us, _BROADCAST, op.group, self._site, op.number))
        elif isinstance(op, Receive):
            self._add(Span(op.count, time_us, _RECEIVE, NONE, op.origin, op.number))
        elif isinstance(op, View):
            if op.group < 0:
                self._view = op.view
            self._columns.add_view(Span(1, time_us, _VIEW, op.group, view=op.view), op)
            self._next_order += 1
        elif isinstance(op, Rollback):
            self._feed_rollback(time_us, op)
        elif isinstance(op, Missed):
            self._feed_missed(time_us, op)
        else:
            self._feed_rare(time_us, op)
        self._time_us = max(self._time_us, time_us)

    def _feed_delivery(self, time_us: int, op: Deliver, frame: bytes) -> None:
        number, messages, sent, sent_us = self._unpacker(op.group).feed_numbered(op.origin, frame)
        self._bytes += len(frame)
        sent_us = sent_us or NONE
        runs = () if sent is None else runs_of(sent)
        first, position = 0, op.position
        for end, answer in (*op.dropped, (len(messages), NONE)):
            for start, stop, producer, which in pieces_between(first, end, runs):
                span = Span(stop - start, time_us, _DELIVER, op.group, op.origin, number + start, position, self._view)
                span.producer, span.number = (self._columns.producer(producer), which) if producer else (NONE, NONE)
                span.sent_us = sent_us
                self._columns.add_deliveries(span, messages[start:stop])
                self._next_order += span.rows
                position += span.rows
            if end < len(messages):  # it repeats what has that position, or is too old to tell
                size = len(messages[end])
                span = Span(1, time_us, _DUPLICATE, op.group, op.origin, number + end, answer, self._view, size)
                repeated = None if sent is None else sent[end]
                if repeated is not None and not is_cursor(repeated[0]):
                    span.producer, span.number = self._columns.producer(repeated[0]), repeated[1]
                span.sent_us = sent_us
                self._add(span)
            first = end + 1
        self._positions[op.group] = op.position + op.count

    def _feed_missed(self, time_us: int, op: Missed) -> None:
        if op.position >= 0:  # messages of the group, and exactly these
            count = op.position - op.before
            self._add(Span(min(count, 1), time_us, _MISSED, op.group, NONE, NONE, op.before, NONE, count))
            self._positions[op.group] = op.position
        else:
            seqno, position = (op.first, self._positions.get(op.group, 0)) if op.origin >= 0 else (NONE, op.first)
            self._add(Span(1, time_us, _MISSED, op.group, op.origin, seqno, position, NONE, op.count))
        if op.origin < 0:
            self._unpackers.pop(op.group, None)  # nothing before can be completed, but for what was handed over
        for origin, frame in op.pieces:
            self._unpacker(op.group).feed(origin, frame)

    def _feed_rollback(self, time_us: int, op: Rollback) -> None:
        for index in reversed(range(op.count)):
            number, position = op.number + index, op.position + index
            self._add(Span(1, time_us, _ROLLBACK, op.group, op.origin, number, position))
        self._positions[op.group] = op.position
        left = self._earlier.read(op.group, op.origin, op.begins) if op.begins >= 0 else []
        self._unpacker(op.group).put_together(op.origin, op.number, left)

    def _unpacker(self, group: int) -> Unpacker:
        return self._unpackers.setdefault(group, Unpacker())

    def _feed_rare(self, time_us: int, op: Op) -> None:
        if isinstance(op, Start) and op.life == 0 and self._is_renewed:
            self._add(Span(1, time_us, _RETAINED))
        elif isinstance(op, Start) and op.life > 0:
            self.add_crash()
            self._add(Span(1, time_us, _RECOVER))
            self._is_up = True
        elif isinstance(op, Stop):
            self._add(Span(1, time_us, _LEAVE if op.left else _CRASH))
            self._is_up = False
        elif isinstance(op, Snapshot):
            self._view = NONE if op.view is None else op.view.view
            self._positions = {group: state.position for group, state in enumerate(op.groups)}
            self._go_on_with_unfinished(op)

    def _go_on_with_unfinished(self, op: Snapshot) -> None:
        """Where the first file that is read begins, large messages may be unfinished."""
        for group, state in enumerate(op.groups):
            unpacker = self._unpacker(group)
            for origin, begins in state.unfinished:
                if not unpacker.is_open(origin):
                    for frame in [each for of, each in state.handed if of == origin]:
                        unpacker.feed(origin, frame)
                    for frame in self._earlier.read(group, origin, begins):
                        unpacker.feed(origin, frame)

    def add_crash(self) -> None:
        """The last life has ended without a word, if it has not ended otherwise."""
        if self._is_up:
            self._add(Span(1, self._time_us, _CRASH))
            self._is_up = False

    def add_retained(self) -> None:
        """The rows so far were dropped: this stands in the place of the last of them."""
        self._next_order -= 1
        self._add(Span(1, self._time_us, _RETAINED))

    def _add(self, span: Span) -> None:
        if span.rows > 0:
            self._columns.add(span)
            self._next_order += span.rows

    def is_full(self) -> bool:
        return self._columns.rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def take(self) -> list[Any]:
        """The waiting rows as a record batch, if there are any."""
        rows = self._columns.rows
        batches = [self._columns.batch(self._next_order - rows)] if rows else []
        self._columns.clear()
        self._bytes = 0
        return batches


def pieces_between(first: int, end: int, runs: Sequence[Run]) -> list[tuple[int, int, str, int]]:
    """Messages `first` up to `end` of a frame, cut where producers' runs begin and end: start, stop, and the producer
    ("": none) with its number for the one at the start."""
    found: list[tuple[int, int, str, int]] = []
    at = first
    for run in runs:
        start, stop = max(run.index, first), min(run.index + run.count, end)
        if start >= stop:
            continue
        if at < start:
            found.append((at, start, "", 0))
        found.append((start, stop, run.producer, run.number + start - run.index))
        at = stop
    if at < end:
        found.append((at, end, "", 0))
    return found


_BROADCAST, _DELIVER, _ROLLBACK, _VIEW, _CRASH, _RECOVER, _RECEIVE, _MISSED, _LEAVE, _RETAINED, _DUPLICATE = map(
    EVENTS.index, (BROADCAST, DELIVER, ROLLBACK, VIEW, CRASH, RECOVER, RECEIVE, MISSED, LEAVE, RETAINED, DUPLICATE)
)
