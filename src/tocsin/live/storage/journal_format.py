"""The journal: what was delivered, message by message, as Arrow files that any Arrow reader takes as they are.

One row is one event of the member's life, in order: deliver, view, rollback, missed, broadcast, receive, start, stop,
leave. A file is made of a closed file of the write-ahead log, has its number, and never changes.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from tocsin.live.packing import Unpacker
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

SCHEMA: Final = pa.schema(
    [
        pa.field("event", pa.string(), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),  # this member's wall clock
        pa.field("group", pa.string()),
        pa.field("origin", pa.string()),
        pa.field("seqno", pa.int64()),  # of the message, as its origin numbers messages; of `missed`, the first
        pa.field("position", pa.int64()),  # in the group's sequence here, net of rollbacks
        pa.field("payload", pa.binary()),
        pa.field("view", pa.int64()),
        pa.field("members", pa.list_(pa.string())),
        pa.field("primary", pa.bool_()),
        pa.field("frame", pa.int64()),  # the protocol's number of the frame that carried it; of `start`, the life
        pa.field("count", pa.int64()),  # of `missed`: how many
    ]
)
BATCH_ROWS: Final = 65_536
BATCH_BYTES: Final = 32 << 20


class RowMaker:
    """Operations of the write-ahead log to rows of the journal, column by column."""

    def __init__(self, sites: tuple[str, ...], group_names: tuple[str, ...], site: int) -> None:
        self._sites = sites
        self._groups = group_names
        self._site = site
        self._unpackers: dict[int, Unpacker] = {}
        self._view: int | None = None
        self._rows: list[dict[str, Any]] = []  # columns of runs of rows
        self.count = 0  # rows waiting
        self.bytes = 0  # payload bytes waiting

    def group_name(self, group: int) -> str:
        return self._groups[group] if group < len(self._groups) else f"group-{group}"

    def site_name(self, site: int) -> str:
        return self._sites[site] if 0 <= site < len(self._sites) else f"site-{site}"

    def feed(self, time_us: int, op: Op, content: bytes) -> None:
        """Take the next operation. `content` is a delivered frame, or empty."""
        if isinstance(op, Deliver):
            unpacker = self._unpackers.setdefault(op.group, Unpacker())
            number, messages = unpacker.feed(op.origin, content)
            if messages:
                self._add(
                    len(messages),
                    time_us,
                    event="deliver",
                    group=self.group_name(op.group),
                    origin=self.site_name(op.origin),
                    seqno=number,
                    position=op.position,
                    payload=messages,
                    view=self._view,
                    frame=op.frame,
                )
                self.bytes += sum(map(len, messages))
        elif isinstance(op, Broadcast):
            if op.count > 0:
                self._add(
                    op.count,
                    time_us,
                    event="broadcast",
                    group=self.group_name(op.group),
                    origin=self.site_name(self._site),
                    seqno=op.number,
                    frame=op.frame,
                )
        elif isinstance(op, View):
            self._view = op.view
            members = [self.site_name(member) for member in op.members]
            self._add(1, time_us, event="view", view=op.view, members=members, primary=op.primary)
        elif isinstance(op, Rollback):
            for index in reversed(range(op.count)):
                self._add(
                    1,
                    time_us,
                    event="rollback",
                    group=self.group_name(op.group),
                    origin=self.site_name(op.origin),
                    seqno=op.number + index,
                    position=op.position + index,
                    frame=op.frame,
                )
        else:
            self._feed_rare(time_us, op)

    def _feed_rare(self, time_us: int, op: Op) -> None:
        if isinstance(op, Missed):
            group = self.group_name(op.group)
            origin = self.site_name(op.origin) if op.origin >= 0 else None
            self._add(1, time_us, event="missed", group=group, origin=origin, seqno=op.first, count=op.count)
        elif isinstance(op, Receive):
            self._add(1, time_us, event="receive", origin=self.site_name(op.origin), frame=op.frame)
        elif isinstance(op, Start):
            self._add(1, time_us, event="start", frame=op.life)
        elif isinstance(op, Stop):
            self._add(1, time_us, event="leave" if op.left else "stop")
        elif isinstance(op, Snapshot) and op.view is not None:
            self._view = op.view.view

    def _add(self, rows: int, time_us: int, **columns: Any) -> None:
        columns["time_us"] = time_us
        columns["rows"] = rows
        self._rows.append(columns)
        self.count += rows

    def is_full(self) -> bool:
        return self.count >= BATCH_ROWS or self.bytes >= BATCH_BYTES

    def take(self) -> Any:
        """The waiting rows as a record batch."""
        rows = self._rows
        lengths = np.fromiter((row["rows"] for row in rows), np.int64, len(rows))
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        arrays = [self._column(field, rows, lengths, within) for field in SCHEMA]
        self._rows = []
        self.count = 0
        self.bytes = 0
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    def _column(self, field: Any, rows: list[dict[str, Any]], lengths: Any, within: Any) -> Any:
        if field.name == "payload":
            payloads: list[bytes | None] = []
            for row in rows:
                found = row.get("payload")
                if found is None:
                    payloads.extend([None] * row["rows"])
                else:
                    payloads.extend(found)
            return pa.array(payloads, field.type)
        values = pa.array([row.get(field.name) for row in rows], field.type)
        repeated = values.take(pa.array(np.repeat(np.arange(len(rows)), lengths)))
        if field.name in ("seqno", "position"):  # the first of a run; the others count on
            return pa.compute.add(repeated, pa.array(within, pa.int64()))
        return repeated

    def forget(self) -> None:
        """Drop waiting rows; unfinished messages are kept."""
        self._rows = []
        self.count = 0
        self.bytes = 0
