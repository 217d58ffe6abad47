"""The words about a trace (docs/guarantees.md, section 1): runs, logs, messages, net deliveries, sequences."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tocsin.properties.bad_rows import (
    HIGHEST,
    LOWEST,
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
from tocsin.properties.obstacles import tell_shortening, tell_truncation
from tocsin.traces.rows import (
    BROADCAST,
    CRASH,
    DATA,
    DELIVER,
    DUPLICATE,
    LEAVE,
    RECEIVE,
    RECOVER,
    RETAINED,
    ROLLBACK,
    TOO_LARGE,
    VIEW,
    Row,
)

Message = tuple[str, str, int]  # group, origin, seqno
MESSAGE_EVENTS = frozenset([BROADCAST, DELIVER, ROLLBACK, DUPLICATE])  # rows that have to name a message
TELLING = MESSAGE_EVENTS | {RECEIVE, VIEW, CRASH, RECOVER, LEAVE, RETAINED}  # rows that say something to a property


class Entry(NamedTuple):
    """A row and the message it is about."""

    message: Message
    row: Row


class Net(NamedTuple):
    """What the deliveries of a log come to when each rollback has cancelled the delivery that it undoes."""

    sequence: dict[Message, Row]  # S(s): the first net delivery of each message, in log order
    repeats: list[tuple[Entry, Row]]  # deliveries while an earlier one stands, and that one
    strays: list[Entry]  # rollbacks while none stands


class Log:
    """The rows of a site that say something, in order."""

    def __init__(self, first: Row) -> None:
        """`first`: the first row of the log; it is not yet added."""
        self.site = first.site
        self.is_shortened = first.event == RETAINED  # retention has dropped its older rows
        self.next_order = first.order if self.is_shortened else 0  # that the next row should have
        self.hole: str | None = None  # the first jump in its orders: then it is truncated
        self._retained_at = first.order if self.is_shortened else -1  # what was dropped may lie before and behind it
        self.is_up = True  # after the rows so far
        self.has_left = False  # the last crash, recover or leave is a leave
        self.entries: list[Entry] = []  # broadcast, deliver and rollback rows
        self.duplicates: set[Message] = set()
        self.receipts: list[Row] = []  # receive rows of kind data that name their message
        self.views: list[Row] = []  # of primary views
        self.interruptions: list[int] = []  # orders of crash and leave rows

    def add(self, row: Row, names: dict[Message, Message]) -> None:
        """Take a row that says something; `names` holds each message once, so that equal ones are one object."""
        order = row.order
        event = row.event
        if event == RECEIVE:
            if row.origin is not None and row.seqno is not None:
                self.receipts.append(row)
        elif event in MESSAGE_EVENTS:
            if row.group is None or row.origin is None or row.seqno is None:
                raise bad_row(row.run, row.site, order, UNNAMED.format(event=event))
            if not LOWEST <= row.seqno <= HIGHEST:
                raise bad_row(row.run, row.site, order, TOO_LARGE)
            if row.view == LOWEST:
                raise bad_row(row.run, row.site, order, LOWEST_VIEW)
            message = (row.group, row.origin, row.seqno)
            message = names.setdefault(message, message)
            if event == DUPLICATE:
                self.duplicates.add(message)
            else:
                self.entries.append(Entry(message, row))
        elif event == VIEW:
            self._add_view(row)
        elif event in (CRASH, LEAVE):
            self.interruptions.append(order)
            self.is_up = event == LEAVE
            self.has_left = event == LEAVE
        elif event == RECOVER:
            self.is_up = True
            self.has_left = False
        elif event == RETAINED:
            if order != self._retained_at:
                raise bad_row(row.run, row.site, order, NOT_FIRST)
            if order < 0:
                raise bad_row(row.run, row.site, order, NEGATIVE.format(order=order))

    def note_jump(self, row: Row) -> None:
        """The next row has not the order that it should have."""
        if row.order < 0:
            raise bad_row(row.run, row.site, row.order, NEGATIVE.format(order=row.order))
        if row.order < self.next_order:
            what = UNSORTED.format(order=row.order, before=self.next_order - 1)
            raise bad_row(row.run, row.site, row.order, what)
        if self.hole is None and not (self.is_shortened and self.next_order == self._retained_at + 1):
            self.hole = describe_hole(self.next_order, row.order)

    def _add_view(self, row: Row) -> None:
        if row.view == LOWEST:
            raise bad_row(row.run, row.site, row.order, LOWEST_VIEW)
        if row.primary is False:
            return  # a minority that stops ordering installs no view
        if row.view is None or row.members is None:
            raise bad_row(row.run, row.site, row.order, NO_VIEW)
        if None in row.members:
            raise bad_row(row.run, row.site, row.order, NULL_MEMBER)
        self.views.append(row)

    @cached_property
    def net(self) -> Net:
        standing: dict[Message, list[Row]] = {}  # deliveries of a message that are not cancelled so far
        cancelled: set[int] = set()  # orders
        repeats: list[tuple[Entry, Row]] = []
        strays: list[Entry] = []
        deliveries: list[Entry] = []
        for entry in self.entries:
            event = entry.row.event
            if event == DELIVER:
                deliveries.append(entry)
                stack = standing.setdefault(entry.message, [])
                if stack:
                    repeats.append((entry, stack[-1]))
                stack.append(entry.row)
            elif event == ROLLBACK:
                if standing.get(entry.message):
                    cancelled.add(standing[entry.message].pop().order)
                else:
                    strays.append(entry)
        sequence: dict[Message, Row] = {}
        for message, row in deliveries:
            if row.order not in cancelled:
                sequence.setdefault(message, row)
        return Net(sequence, repeats, strays)

    @property
    def sequence(self) -> dict[Message, Row]:
        return self.net.sequence


class Run:
    """The rows with one value of `run`. Truncated logs are known by name only: nothing that they say counts."""

    def __init__(self, name: str, logs: Iterable[Log], groups: Mapping[str, Sequence[str]], one_clock: bool) -> None:
        self.name = name
        self.given = groups
        self.one_clock = one_clock
        every = sorted(logs, key=lambda log: log.site)
        self.logs = {log.site: log for log in every if log.hole is None}  # the whole ones, by name
        self.truncated = {log.site: log.hole for log in every if log.hole is not None}
        self.shortened = [log.site for log in self.logs.values() if log.is_shortened]
        entries = [entry for log in self.logs.values() for entry in log.entries]
        self.broadcasts: dict[Message, Row] = {}  # message: its first broadcast row, by (site name, order)
        self.groups: list[str] = sorted({entry.message[0] for entry in entries})  # with a message
        self.has_deliveries = False  # rolled back or not
        for message, row in entries:
            if row.event == BROADCAST:
                self.broadcasts.setdefault(message, row)
            elif row.event == DELIVER:
                self.has_deliveries = True

    @cached_property
    def sequences(self) -> dict[str, dict[Message, Row]]:
        """S(s), by site."""
        return {site: log.sequence for site, log in self.logs.items()}

    @cached_property
    def delivered(self) -> int:
        """D: how many deliveries the order properties examine."""
        return sum(map(len, self.sequences.values()))

    # What the run lacks, in words

    @cached_property
    def truncation(self) -> str | None:
        if not self.truncated:
            return None
        site, hole = next(iter(self.truncated.items()))
        return tell_truncation(self.name, site, hole, len(self.truncated))

    @cached_property
    def shortening(self) -> str | None:
        return tell_shortening(self.name, self.shortened[0], len(self.shortened)) if self.shortened else None

    def lacking(self, what: str) -> str | None:
        """That there are no such events, in a run with deliveries."""
        return what.format(run=self.name) if self.has_deliveries else None


def text(message: Message) -> str:
    """How people read a message: `alpha:a/7`."""
    group, origin, seqno = message
    return f"{group}:{origin}/{seqno}"


class Gathered(NamedTuple):
    """The logs of all runs, and how many rows they had."""

    rows: int
    runs: dict[str, dict[str, Log]]  # by run and site

    def sites(self) -> int:
        return len({site for logs in self.runs.values() for site in logs})


def gather(rows: Iterable[Row]) -> Gathered:
    """Read all rows. The rows of a (run, site) come in their order; sites and runs may be interleaved."""
    runs: dict[str, dict[str, Log]] = {}
    names: dict[Message, Message] = {}
    run = site = log = None
    count = 0
    for row in rows:
        count += 1
        if log is None or row.site != site or row.run != run:
            run, site = row.run, row.site
            logs = runs.setdefault(run, {})
            log = logs.get(site) or logs.setdefault(site, Log(row))
        order = row.order
        if order != log.next_order:
            log.note_jump(row)
        log.next_order = order + 1
        event = row.event
        if event in TELLING and (event != RECEIVE or row.kind == DATA):
            log.add(row, names)
    return Gathered(count, runs)
