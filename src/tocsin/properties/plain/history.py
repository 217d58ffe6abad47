"""The words about a trace (docs/guarantees.md, section 1): runs, logs, messages, net deliveries, sequences."""

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
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
from tocsin.properties.gaps import Gap, gap_of
from tocsin.properties.log_names import log_name
from tocsin.properties.obstacles import tell_shortening, tell_truncation
from tocsin.properties.terms import Terms
from tocsin.traces.rows import (
    BROADCAST,
    CRASH,
    DATA,
    DELIVER,
    DUPLICATE,
    LEAVE,
    LOST,
    MISSED,
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
TELLING = MESSAGE_EVENTS | {
    RECEIVE,
    VIEW,
    CRASH,
    RECOVER,
    LEAVE,
    RETAINED,
    MISSED,
    LOST,
}  # rows that say something to a property


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
        self.incarnation = first.incarnation or ""
        self.name = first.site  # of this log; an earlier incarnation's is another
        self.began_us = self.ended_us = first.time_us  # its first and its last row
        self.is_later = False  # the site had an earlier incarnation
        self.is_shortened = first.event == RETAINED  # retention has dropped its older rows
        self.next_order = first.order if self.is_shortened else 0  # that the next row should have
        self.hole: str | None = None  # the first jump in its orders: then it is truncated
        self._retained_at = first.order if self.is_shortened else -1  # what was dropped may lie before and behind it
        self.is_up = True  # after the rows so far
        self.has_left = False  # the last crash, recover or leave is a leave
        self.moved_us: int | None = None  # when that was
        self.entries: list[Entry] = []  # broadcast, deliver and rollback rows
        self.duplicates: set[Message] = set()
        self.lost: set[Message] = set()  # own broadcasts that were given up
        self.gaps: list[Gap] = []  # what it was told that it will never get
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
            self.moved_us = row.time_us
        elif event == RECOVER:
            self.is_up = True
            self.has_left = False
            self.moved_us = row.time_us
        else:
            self._add_rare(row)

    def _add_rare(self, row: Row) -> None:
        if row.event == RETAINED:
            if row.order != self._retained_at:
                raise bad_row(row.run, row.site, row.order, NOT_FIRST)
            if row.order < 0:
                raise bad_row(row.run, row.site, row.order, NEGATIVE.format(order=row.order))
        elif row.event == MISSED:
            gap = gap_of(row.group, row.origin, row.seqno, row.position, row.size)
            if gap is not None:
                self.gaps.append(gap)
        elif row.group is not None and row.origin is not None and row.seqno is not None:
            self.lost.add((row.group, row.origin, row.seqno))

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

    @cached_property
    def reached(self) -> dict[tuple[str, str], int]:
        """By stream: the highest number delivered behind the last rollback; what lies below, the site has passed."""
        found: dict[tuple[str, str], int] = {}
        for (group, origin, seqno), row in self.entries:
            if row.event == ROLLBACK:
                found.clear()
            elif row.event == DELIVER:
                found[group, origin] = max(seqno, found.get((group, origin), seqno))
        return found

    @property
    def sequence(self) -> dict[Message, Row]:
        return self.net.sequence


class Run:
    """The rows with one value of `run`. Truncated logs are known by name only: nothing that they say counts."""

    def __init__(self, name: str, logs: Iterable[Log], terms: Terms) -> None:
        self.name = name
        self.given = terms.groups
        self.one_clock = terms.one_clock
        self.patience = terms.patience
        self.calm = terms.calm_in(name)
        every = _in_order(logs)
        self.logs = {log.name: log for log in every if log.hole is None}  # the whole ones, by (site name, incarnation)
        self.truncated = {log.name: (log.site, log.hole) for log in every if log.hole is not None}
        self.shortened = [log.site for log in self.logs.values() if log.is_shortened]
        self.broadcasts: dict[Message, Row] = {}  # message: its first broadcast row, by (site name, order)
        self.sources: dict[Message, Log] = {}  # message: the log of that row
        groups: set[str] = set()
        self.has_deliveries = False  # rolled back or not
        for log in self.logs.values():
            for message, row in log.entries:
                groups.add(message[0])
                if row.event == BROADCAST:
                    if message not in self.broadcasts:
                        self.broadcasts[message] = row
                        self.sources[message] = log
                elif row.event == DELIVER:
                    self.has_deliveries = True
        self.groups = sorted(groups)  # with a message

    @cached_property
    def sites(self) -> set[str]:
        """Those with a whole log."""
        return {log.site for log in self.logs.values()}

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], set[int]] = {}
        for log in self.logs.values():
            for (group, origin, seqno), _ in log.entries:
                found.setdefault((group, origin), set()).add(seqno)
        return {stream: sorted(numbers) for stream, numbers in found.items()}

    def numbers(self, group: str, origin: str) -> list[int]:
        """The numbers of a stream's messages, as far as any row names them, in order."""
        return self._numbers.get((group, origin), [])

    def end_us(self, site: str) -> int:
        """When the log of a site was taken; by its last row, if nothing says it (by the run's, if it has none)."""
        if self.patience is not None and self.patience.end_us is not None:
            return self.patience.end_us
        if site in self.logs:
            return self.logs[site].ended_us
        return max((log.ended_us for log in self.logs.values()), default=0)

    def is_young(self, time_us: int, site: str) -> bool:
        """Whether a site still runs and may not owe yet what happened at that time."""
        if self.patience is None or (site in self.logs and self.logs[site].has_left):
            return False
        return time_us > self.end_us(site) - self.patience.us

    @cached_property
    def sequences(self) -> dict[str, dict[Message, Row]]:
        """S(s), by site."""
        return {site: log.sequence for site, log in self.logs.items()}

    @cached_property
    def contradicting(self) -> list[tuple[str, str, dict[Message, int]]]:
        """Two sites that deliver some messages in opposite order; what both deliver, along the other's sequence, with
        the places in the one's."""
        found: list[tuple[str, str, dict[Message, int]]] = []
        lists = {site: list(sequence) for site, sequence in self.sequences.items()}
        for one, first in lists.items():
            places = {message: place for place, message in enumerate(first)}
            for other, second in lists.items():
                common = min(len(first), len(second))
                if other <= one or first[:common] == second[:common]:
                    continue  # most sites have the same, as far as they are
                shared = {message: places[message] for message in second if message in places}
                along = list(shared.values())
                if along != sorted(along):
                    found.append((one, other, shared))
        return found

    @cached_property
    def delivered(self) -> int:
        """D: how many deliveries the order properties examine."""
        return sum(map(len, self.sequences.values()))

    # What the run lacks, in words

    @cached_property
    def truncation(self) -> str | None:
        if not self.truncated:
            return None
        site, hole = next(iter(self.truncated.values()))
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
    runs: dict[str, dict[tuple[str, str], Log]]  # by run, site and incarnation

    def sites(self) -> int:
        return len({site for logs in self.runs.values() for site, _ in logs})


def gather(rows: Iterable[Row]) -> Gathered:
    """Read all rows. The rows of a log come in their order; logs and runs may be interleaved."""
    runs: dict[str, dict[tuple[str, str], Log]] = {}
    names: dict[Message, Message] = {}
    run = site = incarnation = log = None
    count = 0
    for row in rows:
        count += 1
        if log is None or row.site != site or row.run != run or row.incarnation != incarnation:
            run, site, incarnation = row.run, row.site, row.incarnation
            logs = runs.setdefault(run, {})
            key = (site, incarnation or "")
            log = logs.get(key) or logs.setdefault(key, Log(row))
        order = row.order
        if order != log.next_order:
            log.note_jump(row)
        log.next_order = order + 1
        log.ended_us = row.time_us
        event = row.event
        if event in TELLING and (event != RECEIVE or row.kind == DATA):
            log.add(row, names)
    return Gathered(count, runs)


def _in_order(logs: Iterable[Log]) -> list[Log]:
    """By site and, of one site, from its first incarnation to its last. All but the last are over: their disks are
    gone."""
    every = sorted(logs, key=lambda log: (log.site, log.began_us, log.incarnation))
    for log, following in pairwise(every):
        if log.site == following.site:
            log.name = log_name(log.site, log.incarnation)
            log.is_up = log.has_left = False
            following.is_later = True
    return every
