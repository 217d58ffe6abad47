"""Rows of a journal on their way into a record batch, column by column: a frame's messages are one span, not many
rows."""

from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live.storage.identity import Identity
from tocsin.live.storage.log_format import View
from tocsin.traces.rows import DATA, DELIVER, EVENTS, RECEIVE
from tocsin.traces.schema import JOURNAL

NONE: Final = -1  # in a span: the column is null

_DELIVER: Final = EVENTS.index(DELIVER)
_RECEIVE: Final = EVENTS.index(RECEIVE)


class Span(msgspec.Struct, gc=False):
    """Rows that differ in their payloads only; numbers and `position` are those of the first, and count up."""

    rows: int
    time_us: int
    event: int  # place in EVENTS
    group: int = NONE
    origin: int = NONE
    seqno: int = NONE
    position: int = NONE
    view: int = NONE
    size: int = NONE  # where there is no payload to tell
    producer: int = NONE  # place among those of the batch
    number: int = NONE  # the producer's, of the first; counts up
    sent_us: int = NONE


class Columns:
    """Spans of one member that wait to become a record batch."""

    def __init__(self, identity: Identity, again: Callable[[], Identity]) -> None:
        self.rows = 0
        self._group = identity.group
        self._site = identity.site
        self._sites = identity.sites
        self._again = again  # as it is now: sites may have been added
        self._groups = tuple(identity.groups)
        self._incarnation = identity.incarnation
        self._spans: list[Span] = []
        self._payloads: list[list[bytes]] = []  # of the deliveries among them
        self._views: dict[int, View] = {}  # of the view rows among them, by their place in `_spans`
        self._producers: dict[str, int] = {}  # that are named in them, by name: places

    def add(self, span: Span) -> None:
        self._spans.append(span)
        self.rows += span.rows

    def add_deliveries(self, span: Span, payloads: list[bytes]) -> None:
        self.add(span)
        self._payloads.append(payloads)

    def add_view(self, span: Span, view: View) -> None:
        self._views[len(self._spans)] = view
        self.add(span)

    def clear(self) -> None:
        self._spans, self._payloads, self._views, self._producers = [], [], {}, {}
        self.rows = 0

    def producer(self, name: str) -> int:
        """Its place, for spans."""
        return self._producers.setdefault(name, len(self._producers))

    def batch(self, first_order: int) -> Any:
        """All rows as a record batch."""
        spans = self._spans
        last = max([span.origin for span in spans] + [max(view.members, default=0) for view in self._views.values()])
        if last >= len(self._sites):
            self._sites = self._again().sites
        lengths = _values(spans, "rows")
        which = np.repeat(np.arange(len(spans)), lengths)  # by row: its span
        within = np.arange(self.rows) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        event = _values(spans, "event")[which]
        payload, sizes = self._payload_column(event == _DELIVER)
        size = np.where(event == _DELIVER, sizes, _values(spans, "size")[which])
        columns = {
            "run": pa.repeat(self._group, self.rows),
            "site": pa.repeat(self._site, self.rows),
            "order": pa.array(np.arange(first_order, first_order + self.rows)),
            "time_us": pa.array(_values(spans, "time_us")[which]),
            "event": _names(event, EVENTS),
            "group": _names(_values(spans, "group")[which], self._group_names(max(span.group for span in spans))),
            "origin": _names(_values(spans, "origin")[which], self._sites),
            "seqno": _counted(_values(spans, "seqno")[which], within),
            "size": pa.array(size.astype(np.int32), mask=size == NONE),
            "position": _counted(_values(spans, "position")[which], within),
            "view": _counted(_values(spans, "view")[which], 0),
            "sent_us": _counted(_values(spans, "sent_us")[which], 0),
            "payload": payload,
        }
        if self._incarnation > FIRST_INCARNATION:  # as in simulated traces: only where a site had another disk
            columns["incarnation"] = pa.repeat(str(self._incarnation), self.rows)
        if (event == _RECEIVE).any():
            columns["kind"] = _names(np.where(event == _RECEIVE, 0, NONE), (DATA,))
        if self._producers:
            columns["producer"] = _names(_values(spans, "producer")[which], tuple(self._producers))
            columns["number"] = _counted(_values(spans, "number")[which], within)
        if self._views:
            columns |= self._view_columns(which)
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(self.rows, field.type) for field in JOURNAL
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=JOURNAL)

    def _group_names(self, last: int) -> tuple[str, ...]:
        return tuple(group_name(self._groups, group) for group in range(max(len(self._groups), last + 1)))

    def _payload_column(self, delivered: Any) -> tuple[Any, Any]:
        """The payloads, and by row how long they are (0 where there is none)."""
        messages = pa.array(list(chain.from_iterable(self._payloads)), pa.binary())
        _, ends, data = messages.buffers()
        sizes = np.zeros(self.rows, np.int64)
        sizes[delivered] = np.diff(np.frombuffer(ends, np.int32, len(messages) + 1))
        offsets = np.zeros(self.rows + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        valid = None if delivered.all() else pa.py_buffer(np.packbits(delivered, bitorder="little"))
        array = pa.BinaryArray.from_buffers(pa.binary(), self.rows, [valid, pa.py_buffer(offsets), data])
        return array, sizes

    def _view_columns(self, which: Any) -> dict[str, Any]:
        """Members and primary, of view rows only."""
        places = np.zeros(len(self._spans), np.int64)  # in the lists below, where 0 is: none
        places[list(self._views)] = np.arange(1, len(self._views) + 1)
        views = self._views.values()
        members = [None, *([self._sites[member] for member in view.members] for view in views)]
        primary = [None, *(view.primary if view.group < 0 else None for view in views)]
        chosen = pa.array(places[which])
        return {
            "members": pa.array(members, JOURNAL.field("members").type).take(chosen),
            "primary": pa.array(primary, pa.bool_()).take(chosen),
        }


def group_name(names: tuple[str, ...], group: int) -> str:
    """Groups that were made while running have no name of their own."""
    return names[group] if group < len(names) else f"group-{group}"


def _values(spans: list[Span], name: str) -> Any:
    return np.fromiter((getattr(span, name) for span in spans), np.int64, len(spans))


def _names(places: Any, names: tuple[str, ...]) -> Any:
    """Names by their places; null for NONE."""
    indices = pa.array(places.astype(np.int32), mask=places == NONE)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


def _counted(firsts: Any, within: Any) -> Any:
    """Numbers that count up within a span; null where its first is NONE."""
    return pa.array(firsts + within, mask=firsts == NONE)
