"""From Arrow rows to the logs of sites: few short arrays a log, names as numbers, rows that no property needs
left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.properties.bad_rows import (
    LOWEST_VIEW,
    NEGATIVE,
    NO_VIEW,
    NOT_FIRST,
    NULL_MEMBER,
    UNNAMED,
    UNSORTED,
    bad_row,
    describe_hole,
)
from tocsin.properties.gaps import Gap, gap_of
from tocsin.properties.kernels.arrays import NONE, Codes, Ints, Small
from tocsin.properties.kernels.columns import column_codes, column_numbers, null_flags
from tocsin.properties.kernels.streams import Stream, Streams
from tocsin.properties.log_names import log_name
from tocsin.traces.rows import DATA, EVENTS, SEND

BROADCAST: Final = 0
DELIVER: Final = 1
ROLLBACK: Final = 2
RECEIVE: Final = 3
VIEW: Final = 4
CRASH: Final = 5
RECOVER: Final = 6
LEAVE: Final = 7
RETAINED: Final = 8
DUPLICATE: Final = 9
MISSED: Final = 10
LOST: Final = 11
OTHER: Final = 12  # what no property looks at (send, drop), and what a map of columns leaves out
EVENT_CODES: Final = {
    "broadcast": BROADCAST,
    "deliver": DELIVER,
    "rollback": ROLLBACK,
    "receive": RECEIVE,
    "view": VIEW,
    "crash": CRASH,
    "recover": RECOVER,
    "leave": LEAVE,
    "retained": RETAINED,
    "duplicate": DUPLICATE,
    "missed": MISSED,
    "lost": LOST,
}
MESSAGE_EVENTS: Final = ("broadcast", "deliver", "rollback")

# What the properties are decided from; the other columns are read only for witnesses and statistics.
NEEDED_COLUMNS: Final = (
    "run",
    "site",
    "order",
    "time_us",
    "event",
    "group",
    "origin",
    "seqno",
    "kind",
    "view",
    "members",
    "primary",
    "incarnation",
)
POSITION: Final = "position"  # needed where it is known since when faults were over
MIXED_PARTS_MAX: Final = 1_000  # of a table; with more, sites that take turns row by row are first sorted out
IGNORED_EVENT: Final = SEND  # what a map of columns makes of events that mean nothing to us: no property looks at it


class UnsortedError(Exception):
    """A log's rows are not stored in their order."""


def unsorted(run: str, site: str, order: int, before: int) -> UnsortedError:
    return UnsortedError(f"run {run}, site {site}, order {order}: {UNSORTED.format(order=order, before=before)}")


class View(NamedTuple):
    """A view that a site installed."""

    order: int
    group: str | None  # None: the view is of all groups
    number: int
    members: frozenset[str]
    time_us: int

    def same_as(self, other: "View") -> bool:
        return self.number == other.number and self.members == other.members


@dataclass(slots=True)
class LogPart:
    """Neighbouring rows of one site's log, in order. Several parts may share `streams`."""

    run: str
    site: str
    incarnation: str  # "" where nothing says it
    rows: int  # all of them, also those left out below
    first_order: int
    next_order: int  # one more than the last row's
    hole: str | None  # the first jump between the rows of this part
    streams: list[Stream]  # what the numbers in `stream` and `receipt_stream` mean
    # broadcast, deliver and rollback rows
    event: Small
    stream: Codes
    seqno: Ints
    order: Ints
    time_us: Ints
    view: Ints
    position: Ints | None  # None if nobody asked for it
    # receive rows of kind data that name their message
    receipt_stream: Codes
    receipt_seqno: Ints
    receipt_order: Ints
    receipt_time_us: Ints
    # the rest
    views: list[View]
    interruptions: list[int]  # orders of crash and leave rows
    up: bool | None  # after the last crash, recover or leave row; None if there is none
    left: bool  # that row is a leave
    moved_us: int | None  # when that was
    duplicates: list[tuple[Stream, int]]  # messages that a duplicate row names, by stream and seqno
    lost: list[tuple[Stream, int]]  # messages that a lost row names
    gaps: list[Gap]  # of missed rows
    first_us: int  # of the first row and of the last; NONE if nobody asked for times
    last_us: int
    retained_at: int | None = None  # the order of a row that says that older rows were dropped
    lost_views: bool = False  # view rows were left out

    @property
    def log(self) -> str:
        """The name of the log that it is a part of."""
        return log_name(self.site, self.incarnation) if self.incarnation else self.site


def encode(table: Any, without_views: bool = False) -> list[LogPart]:
    """The parts of logs in a table with the columns of a trace, in the order in which they lie there.

    `without_views`: leave view events out, where no column says what they mean.
    """
    if table.num_rows == 0:
        return []
    return list(_Encoder(_log_by_log(table), without_views).parts())


def _log_by_log(table: Any) -> Any:
    """The same table with each log's rows together, if it does not hold them so: a part for every few rows is slow."""
    runs, _ = column_codes(table, "run")
    sites, site_names = column_codes(table, "site")
    incarnations, incarnation_names = column_codes(table, "incarnation")
    logs = (runs.astype(np.int64) * len(site_names) + sites) * (len(incarnation_names) + 1) + incarnations
    parts = 1 + np.count_nonzero(logs[1:] != logs[:-1])
    if parts <= MIXED_PARTS_MAX or parts <= 2 * len(np.unique(logs)):
        return table
    return table.unify_dictionaries().take(pa.array(np.argsort(logs, kind="stable")))


class _Encoder:
    """Whole columns are encoded at once; parts are slices of them."""

    def __init__(self, table: Any, without_views: bool) -> None:
        self._table = table
        self._runs, self._run_names = column_codes(table, "run")
        self._sites, self._site_names = column_codes(table, "site")
        self._incarnations, self._incarnation_names = column_codes(table, "incarnation")
        self._order = column_numbers(table, "order")
        self._event = self._encode_events()
        self._lost_views = without_views and bool((self._event == VIEW).any())
        if self._lost_views:
            self._event = np.where(self._event == VIEW, np.int8(OTHER), self._event)
        groups, group_names = column_codes(table, "group")
        origins, origin_names = column_codes(table, "origin")
        self._groups, self._group_names = groups, group_names
        self._messages = np.flatnonzero(self._event <= ROLLBACK)
        self._receipts = self._data_receipts(origins)
        self._refuse_nulls(groups, origins)
        streams = Streams(groups, group_names, origins, origin_names)
        self._message_stream = streams.numbers(self._messages)
        self._receipt_stream = streams.numbers(self._receipts)
        self._streams = streams.names()
        self._message_event, self._message_order = self._of_messages(self._event), self._of_messages(self._order)
        seqno = column_numbers(table, "seqno")
        self._message_seqno, self._receipt_seqno = self._of_messages(seqno), seqno[self._receipts]
        self._times = times = column_numbers(table, "time_us")
        self._message_time, self._receipt_time = self._of_messages(times), times[self._receipts]
        self._message_view = self._of_messages(self._view_numbers())
        self._message_position: Ints | None = None
        if POSITION in table.column_names:
            self._message_position = self._of_messages(column_numbers(table, POSITION))

    def _of_messages(self, column: Any) -> Any:
        """What a column has on message rows; most tables have no other rows, and need no copy."""
        return column if len(self._messages) == len(column) else column[self._messages]

    def parts(self) -> Iterator[LogPart]:
        same = (self._runs[1:] == self._runs[:-1]) & (self._sites[1:] == self._sites[:-1])
        if self._incarnation_names:
            same &= self._incarnations[1:] == self._incarnations[:-1]
        starts = np.concatenate(([0], np.flatnonzero(~same) + 1))
        ends = np.append(starts[1:], len(self._order))
        steps = np.diff(self._order)
        if np.any(self._order < 0):
            raise self._bad(int(np.flatnonzero(self._order < 0)[0]), NEGATIVE)
        if np.any(steps[same] <= 0):
            at = int(np.flatnonzero(same & (steps <= 0))[0]) + 1
            raise unsorted(self._run_at(at), self._site_at(at), int(self._order[at]), int(self._order[at - 1]))
        jumps = np.flatnonzero(same & (steps != 1)) + 1
        rare = np.flatnonzero((self._event >= VIEW) & (self._event <= LOST))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield self._part(start, end, jumps, rare)

    def _part(self, start: int, end: int, jumps: Ints, rare: Ints) -> LogPart:
        first, last = np.searchsorted(self._messages, (start, end))
        early, late = np.searchsorted(self._receipts, (start, end))
        retained = self._event[start] == RETAINED  # what was dropped may lie before that row and right behind it
        jump = int(np.searchsorted(jumps, start + 2 if retained else start))
        hole = None
        if jump < len(jumps) and jumps[jump] < end:
            at = int(jumps[jump])
            hole = describe_hole(int(self._order[at - 1]) + 1, int(self._order[at]))
        orders = self._order
        part = LogPart(
            run=self._run_at(start),
            site=self._site_at(start),
            incarnation=self._incarnation_at(start),
            rows=end - start,
            first_order=int(orders[start]),
            next_order=int(orders[end - 1]) + 1,
            hole=hole,
            streams=self._streams,
            event=self._message_event[first:last],
            stream=self._message_stream[first:last],
            seqno=self._message_seqno[first:last],
            order=self._message_order[first:last],
            time_us=self._message_time[first:last],
            view=self._message_view[first:last],
            position=None if self._message_position is None else self._message_position[first:last],
            receipt_stream=self._receipt_stream[early:late],
            receipt_seqno=self._receipt_seqno[early:late],
            receipt_order=orders[self._receipts[early:late]],
            receipt_time_us=self._receipt_time[early:late],
            views=[],
            interruptions=[],
            up=None,
            left=False,
            moved_us=None,
            duplicates=[],
            lost=[],
            gaps=[],
            first_us=int(self._times[start]),
            last_us=int(self._times[end - 1]),
            lost_views=self._lost_views,
        )
        begin, stop = np.searchsorted(rare, (start, end))
        for at in rare[begin:stop].tolist():
            self._note(part, at)
        return part

    def _note(self, part: LogPart, at: int) -> None:
        order = int(self._order[at])
        event = self._event[at]
        if event in (CRASH, LEAVE):
            part.interruptions.append(order)
            part.up = part.left = bool(event == LEAVE)
            part.moved_us = int(self._times[at])
        elif event == RECOVER:
            part.up, part.left = True, False
            part.moved_us = int(self._times[at])
        elif event == RETAINED:
            if order != part.first_order:
                raise self._bad(at, NOT_FIRST)
            part.retained_at = order
        elif event == DUPLICATE:
            part.duplicates.append(self._named(at))
        elif event == MISSED:
            gap = gap_of(*(self._value(name, at) for name in ("group", "origin", "seqno", POSITION, "size")))
            part.gaps += [] if gap is None else [gap]
        elif event == LOST:
            if None not in [self._value(name, at) for name in ("group", "origin", "seqno")]:
                part.lost.append(self._named(at))
        elif self._value("primary", at) is not False:  # a minority that stops ordering installs no view
            part.views.append(self._view(at))

    def _view(self, at: int) -> View:
        number = self._value("view", at)
        members = self._value("members", at)
        if number is None or members is None:
            raise self._bad(at, NO_VIEW)
        if None in members:
            raise self._bad(at, NULL_MEMBER)
        time_us = int(self._times[at])
        return View(int(self._order[at]), self._value("group", at), int(number), frozenset(members), time_us)

    def _named(self, at: int) -> tuple[Stream, int]:
        group, origin, seqno = (self._value(name, at) for name in ("group", "origin", "seqno"))
        if group is None or origin is None or seqno is None:
            raise self._bad(at, UNNAMED.format(event="duplicate"))
        return (group, origin), int(seqno)

    def _view_numbers(self) -> Ints:
        """The column `view`, NONE for null. Where a row needs its view, one that has this very number is refused: it
        cannot be told from none.
        """
        numbers = column_numbers(self._table, "view")
        needed = (self._event <= ROLLBACK) | (self._event == VIEW) | (self._event == DUPLICATE)
        nothing = needed & (numbers == NONE)
        if np.any(nothing):
            stated = nothing & ~null_flags(self._table, "view")
            if np.any(stated):
                raise self._bad(int(np.flatnonzero(stated)[0]), LOWEST_VIEW)
        return numbers

    def _value(self, name: str, at: int) -> Any:
        return self._table.column(name)[at].as_py() if name in self._table.column_names else None

    def _encode_events(self) -> Small:
        codes, names = column_codes(self._table, "event")
        known = np.full(len(names) + 1, OTHER, np.int8)
        for index, name in enumerate(names):
            if name in EVENT_CODES:
                known[index] = EVENT_CODES[name]
            elif name not in EVENTS and np.any(codes == index):
                at = int(np.flatnonzero(codes == index)[0])
                what = f"unknown event `{name}`{suggestion(name, list(EVENTS))}"
                raise self._bad(at, what)
        events: Small = known[codes]
        return events

    def _data_receipts(self, origins: Codes) -> Ints:
        """Rows by which a site has a message: receive rows of kind data with origin and seqno."""
        received = np.flatnonzero(self._event == RECEIVE)
        if len(received) == 0:
            return received
        kinds, kind_names = column_codes(self._table, "kind")
        if DATA not in kind_names:
            return received[:0]
        named = (kinds[received] == kind_names.index(DATA)) & (origins[received] >= 0)
        named &= ~null_flags(self._table, "seqno")[received]
        chosen: Ints = received[named]
        return chosen

    def _refuse_nulls(self, groups: Codes, origins: Codes) -> None:
        rows = self._messages
        bad = (groups[rows] < 0) | (origins[rows] < 0) | null_flags(self._table, "seqno")[rows]
        if np.any(bad):
            at = int(rows[np.flatnonzero(bad)[0]])
            event = MESSAGE_EVENTS[self._event[at]]
            raise self._bad(at, UNNAMED.format(event=event))

    def _bad(self, at: int, what: str) -> InputError:
        order = int(self._order[at])
        return bad_row(self._run_at(at), self._site_at(at), order, what.format(order=order))

    def _run_at(self, at: int) -> str:
        return str(self._run_names[self._runs[at]])

    def _site_at(self, at: int) -> str:
        return str(self._site_names[self._sites[at]])

    def _incarnation_at(self, at: int) -> str:
        code = self._incarnations[at]
        return "" if code < 0 else str(self._incarnation_names[code])
