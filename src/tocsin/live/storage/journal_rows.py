"""What a member's log notes, as rows of a trace (docs/formats.md), message by message.

`run` is the group's name, `site` the member; `order` counts over the whole life of the member's folder. A life that
ended without a word, or was closed without leaving, is a crash; where the next life starts, the site recovers.
"""

from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tocsin.live.packing import Unpacker
from tocsin.live.storage.identity import Identity
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
from tocsin.live.storage.log_reader import Noted
from tocsin.traces.rows import (
    BROADCAST,
    CRASH,
    DATA,
    DELIVER,
    EVENTS,
    LEAVE,
    MISSED,
    RECEIVE,
    RECOVER,
    RETAINED,
    ROLLBACK,
    VIEW,
)
from tocsin.traces.schema import JOURNAL

BATCH_ROWS: Final = 65_536
BATCH_BYTES: Final = 32 << 20  # of frames

NONE: Final = -1  # in a run: the column is null


class Standing(msgspec.Struct, frozen=True):
    """Where a log's rows stand between two files."""

    next_order: int = 0
    time_us: int = 0  # of what was noted last; 0: nothing was
    is_up: bool = True  # the last life noted has not ended


class _Run(msgspec.Struct, gc=False):
    """Rows that differ in payload only; `seqno` and `position` are those of the first, and count up."""

    rows: int
    time_us: int
    event: int  # place in EVENTS
    group: int = NONE
    origin: int = NONE
    seqno: int = NONE
    position: int = NONE
    view: int = NONE
    size: int = NONE  # where there is no payload to tell


class RowMaker:
    """Operations of the log in, record batches out. It goes on over any number of files."""

    def __init__(self, identity: Identity, standing: Standing = Standing()) -> None:  # noqa: B008  (a value)
        self.standing = standing  # after the rows made so far, those that wait included
        self._run = identity.group
        self._name = identity.site
        self._sites = identity.sites
        self._groups = tuple(identity.groups)
        self._site = identity.sites.index(identity.site)
        self._unpackers: dict[int, Unpacker] = {}
        self._view = NONE
        self._positions: dict[int, int] = {}  # by group: of the next message
        self._runs: list[_Run] = []  # that wait
        self._payloads: list[list[bytes]] = []  # of the deliveries among them
        self._views: dict[int, View] = {}  # of the view rows among them, by their place in `_runs`
        self._rows = 0  # that wait
        self._bytes = 0  # of frames whose messages wait

    def feed(self, noted: Noted) -> None:
        """Take the next operation."""
        time_us, op, frame = noted
        if isinstance(op, Deliver):
            self._feed_delivery(time_us, op, frame)
        elif isinstance(op, Broadcast):
            self._add(_Run(op.count, time_us, _BROADCAST, op.group, self._site, op.number))
        elif isinstance(op, Receive):
            self._add(_Run(op.count, time_us, _RECEIVE, NONE, op.origin, op.number))
        elif isinstance(op, View):
            self._view = op.view
            self._views[len(self._runs)] = op
            self._add(_Run(1, time_us, _VIEW, view=op.view))
        elif isinstance(op, Rollback):
            for index in reversed(range(op.count)):
                self._add(
                    _Run(1, time_us, _ROLLBACK, op.group, op.origin, op.number + index, op.position + index, NONE, NONE)
                )
            self._positions[op.group] = op.position
        elif isinstance(op, Missed):
            seqno, position = (op.first, self._positions.get(op.group, 0)) if op.origin >= 0 else (NONE, op.first)
            self._add(_Run(1, time_us, _MISSED, op.group, op.origin, seqno, position, NONE, op.count))
        else:
            self._feed_rare(time_us, op)
        if time_us > self.standing.time_us:
            self.standing = msgspec.structs.replace(self.standing, time_us=time_us)

    def _feed_delivery(self, time_us: int, op: Deliver, frame: bytes) -> None:
        unpacker = self._unpackers.setdefault(op.group, Unpacker())
        number, messages = unpacker.feed(op.origin, frame)
        self._bytes += len(frame)
        if messages:
            self._add(_Run(len(messages), time_us, _DELIVER, op.group, op.origin, number, op.position, self._view))
            self._payloads.append(messages)
        self._positions[op.group] = op.position + op.count

    def _feed_rare(self, time_us: int, op: Op) -> None:
        if isinstance(op, Start) and op.life > 0:
            self.add_crash()
            self._add(_Run(1, time_us, _RECOVER))
            self.standing = msgspec.structs.replace(self.standing, is_up=True)
        elif isinstance(op, Stop):
            self._add(_Run(1, time_us, _LEAVE if op.left else _CRASH))
            self.standing = msgspec.structs.replace(self.standing, is_up=False)
        elif isinstance(op, Snapshot):
            self._view = NONE if op.view is None else op.view.view
            self._positions = {group: state.position for group, state in enumerate(op.groups)}

    def add_crash(self) -> None:
        """The last life has ended without a word, if it has not ended otherwise."""
        if self.standing.is_up:
            self._add(_Run(1, self.standing.time_us, _CRASH))
            self.standing = msgspec.structs.replace(self.standing, is_up=False)

    def add_retained(self) -> None:
        """The rows so far were dropped: this stands in the place of the last of them."""
        self.standing = msgspec.structs.replace(self.standing, next_order=self.standing.next_order - 1)
        self._add(_Run(1, self.standing.time_us, _RETAINED))

    def _add(self, run: _Run) -> None:
        if run.rows > 0:
            self._runs.append(run)
            self._rows += run.rows
            self.standing = Standing(self.standing.next_order + run.rows, self.standing.time_us, self.standing.is_up)

    def is_full(self) -> bool:
        return self._rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def forget(self, standing: Standing) -> None:
        """Drop waiting rows, and go on from here; the first pieces of unfinished messages are kept."""
        self._runs, self._payloads, self._views = [], [], {}
        self._rows = self._bytes = 0
        self.standing = standing

    def take(self) -> list[Any]:
        """The waiting rows as a record batch, if there are any."""
        if not self._rows:
            return []
        batch = self._batch()
        self.forget(self.standing)
        return [batch]

    # Columns

    def _batch(self) -> Any:
        runs = self._runs
        lengths = _column(runs, "rows")
        which = np.repeat(np.arange(len(runs)), lengths)  # by row: its run
        within = np.arange(self._rows) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        event = _column(runs, "event")[which]
        payload, sizes = self._payload_column(event == _DELIVER)
        size = np.where(event == _DELIVER, sizes, _column(runs, "size")[which])
        columns = {
            "run": pa.repeat(self._run, self._rows),
            "site": pa.repeat(self._name, self._rows),
            "order": pa.array(np.arange(self.standing.next_order - self._rows, self.standing.next_order)),
            "time_us": pa.array(_column(runs, "time_us")[which]),
            "event": _names(event, EVENTS),
            "group": _names(_column(runs, "group")[which], self._group_names(max(run.group for run in runs))),
            "origin": _names(_column(runs, "origin")[which], self._sites),
            "seqno": _counted(_column(runs, "seqno")[which], within),
            "size": pa.array(size.astype(np.int32), mask=size == NONE),
            "position": _counted(_column(runs, "position")[which], within),
            "view": _counted(_column(runs, "view")[which], 0),
            "payload": payload,
        }
        if (event == _RECEIVE).any():
            columns["kind"] = _names(np.where(event == _RECEIVE, 0, NONE), (DATA,))
        if self._views:
            columns |= self._view_columns(which)
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(self._rows, field.type) for field in JOURNAL
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=JOURNAL)

    def _group_names(self, last: int) -> tuple[str, ...]:
        """Groups that were made while running have no name of their own."""
        return self._groups + tuple(f"group-{group}" for group in range(len(self._groups), last + 1))

    def _payload_column(self, delivered: Any) -> tuple[Any, Any]:
        """The payloads, and by row how long they are (0 where there is none)."""
        messages = pa.array(list(chain.from_iterable(self._payloads)), pa.binary())
        _, ends, data = messages.buffers()
        sizes = np.zeros(self._rows, np.int64)
        sizes[delivered] = np.diff(np.frombuffer(ends, np.int32, len(messages) + 1))
        offsets = np.zeros(self._rows + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        valid = None if delivered.all() else pa.py_buffer(np.packbits(delivered, bitorder="little"))
        array = pa.BinaryArray.from_buffers(pa.binary(), self._rows, [valid, pa.py_buffer(offsets), data])
        return array, sizes

    def _view_columns(self, which: Any) -> dict[str, Any]:
        """Members and primary, of view rows only."""
        places = np.zeros(len(self._runs), np.int64)  # in the lists below, where 0 is: none
        places[list(self._views)] = np.arange(1, len(self._views) + 1)
        views = self._views.values()
        members = [None, *([self._sites[member] for member in view.members] for view in views)]
        primary = [None, *(view.primary for view in views)]
        chosen = pa.array(places[which])
        return {
            "members": pa.array(members, JOURNAL.field("members").type).take(chosen),
            "primary": pa.array(primary, pa.bool_()).take(chosen),
        }


def _column(runs: list[_Run], name: str) -> Any:
    return np.fromiter((getattr(run, name) for run in runs), np.int64, len(runs))


def _names(places: Any, names: tuple[str, ...]) -> Any:
    """Names by their places; null for NONE."""
    indices = pa.array(places.astype(np.int32), mask=places == NONE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


def _counted(firsts: Any, within: Any) -> Any:
    """Numbers that count up within a run; null where its first is NONE."""
    return pa.array(firsts + within, mask=firsts == NONE)


_BROADCAST, _DELIVER, _ROLLBACK, _VIEW, _CRASH, _RECOVER, _RECEIVE, _MISSED, _LEAVE, _RETAINED = map(
    EVENTS.index, (BROADCAST, DELIVER, ROLLBACK, VIEW, CRASH, RECOVER, RECEIVE, MISSED, LEAVE, RETAINED)
)
