"""What a run's rows say, kept small: messages are numbers, a site's log is a few short arrays.

About 45 bytes for a row that the application sees, 32 for a received copy of a message, none for any other row.
"""

from array import array
from typing import Final, NamedTuple

from tocsin.traces.rows import BROADCAST, DATA, DELIVER, RECEIVE, ROLLBACK, Row

NONE: Final = -(1 << 63)  # in an array of numbers that may be absent

IS_BROADCAST: Final = 0
IS_DELIVER: Final = 1
IS_ROLLBACK: Final = 2
EVENT_CODES: Final = {BROADCAST: IS_BROADCAST, DELIVER: IS_DELIVER, ROLLBACK: IS_ROLLBACK}
_EVENT_NAMES: Final = (BROADCAST, DELIVER, ROLLBACK)


class View(NamedTuple):
    """A view that a site installed."""

    order: int
    group: str | None  # None: the view is of all groups
    number: int
    members: frozenset[str]
    row: Row

    def same_as(self, other: "View") -> bool:
        return self.number == other.number and self.members == other.members


class Log:
    """The rows of a site that matter, in order; a place is an index into its columns."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.next_order = 0  # that the next row should have
        self.hole: str | None = None  # the first jump in its orders: then it is truncated
        self.up = True  # after the rows so far
        self.crashes: list[int] = []  # orders
        self.views: list[View] = []
        # broadcast, deliver and rollback rows
        self.events = array("b")
        self.messages = array("i")
        self.orders = array("q")
        self.times = array("q")
        self.sizes = array("q")
        self.positions = array("q")
        self.view_numbers = array("q")
        # receive rows of kind data that name a message
        self.receipts = array("i")  # the message; one of group None if the row names no group
        self.receipt_orders = array("q")
        self.receipt_times = array("q")
        self.receipt_sizes = array("q")
        self.receipt_peers: list[str | None] = []


class Stream(NamedTuple):
    """The messages of one origin to one group, by their seqno. Group None: of receive rows that name no group."""

    number: int
    group: str | None
    origin: str
    messages: dict[int, int]


class History:
    """One run: its logs, and its messages, numbered as they were first met."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.logs: dict[str, Log] = {}  # by site
        self.streams: list[Stream] = []
        self.stream_of = array("i")  # by message: the number of its stream
        self.seqno_of = array("q")  # by message
        self._stream_by_key: dict[tuple[str | None, str], Stream] = {}

    def message(self, group: str | None, origin: str, seqno: int) -> int:
        """The number of a message; a new one, if it is new."""
        stream = self._stream_by_key.get((group, origin))
        if stream is None:
            stream = Stream(len(self.streams), group, origin, {})
            self.streams.append(stream)
            self._stream_by_key[(group, origin)] = stream
        message = stream.messages.get(seqno)
        if message is None:
            self.seqno_of.append(seqno)
            message = len(self.stream_of)
            self.stream_of.append(stream.number)
            stream.messages[seqno] = message
        return message

    def stream(self, message: int) -> Stream:
        return self.streams[self.stream_of[message]]

    def text(self, message: int) -> str:
        """How people read a message: `alpha:a/7`."""
        stream = self.stream(message)
        return f"{stream.group}:{stream.origin}/{self.seqno_of[message]}"

    def row(self, log: Log, place: int) -> Row:
        """A broadcast, deliver or rollback row as it was."""
        stream = self.stream(log.messages[place])
        return Row(
            run=self.run,
            site=log.site,
            order=log.orders[place],
            time_us=log.times[place],
            event=_EVENT_NAMES[log.events[place]],
            group=stream.group,
            origin=stream.origin,
            seqno=self.seqno_of[log.messages[place]],
            size=_optional(log.sizes[place]),
            position=_optional(log.positions[place]),
            view=_optional(log.view_numbers[place]),
        )

    def receipt_row(self, log: Log, place: int) -> Row:
        """A receive row as it was."""
        stream = self.stream(log.receipts[place])
        return Row(
            run=self.run,
            site=log.site,
            order=log.receipt_orders[place],
            time_us=log.receipt_times[place],
            event=RECEIVE,
            group=stream.group,
            origin=stream.origin,
            seqno=self.seqno_of[log.receipts[place]],
            kind=DATA,
            peer=log.receipt_peers[place],
            size=_optional(log.receipt_sizes[place]),
        )


def _optional(number: int) -> int | None:
    return None if number == NONE else number
