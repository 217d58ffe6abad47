"""Reliable edges: what has gone over an edge, what came, and who has it.

A sender numbers the messages of an edge, keeps them, and sends up to a window of them ahead of the acknowledgements.
When nothing is heard it sends a null message with the number of messages so far; the receiver answers with what it has
and with the gaps in it, and exactly those are sent again. The receiver takes messages in the order of their numbers.
"""

from bisect import bisect_left
from typing import Final

from tocsin.core.errors import DecodeError
from tocsin.core.rangeset import RangeSet, rangeset_from_wire

GAPS_MAX: Final = 64  # ranges in one acknowledgement
BACKOFF_MAX: Final = 4  # null messages slow down to one in 2^4 time-outs: a crowded medium must be able to recover


class OutEdge:
    """The sending end. settled <= acked <= next_send <= end."""

    def __init__(self, start: int) -> None:
        self.end = start  # messages put on the edge
        self.next_send = start  # those below were sent, or need not be
        self.acked = start  # the receiver has those below
        self.settled = start  # everybody below the receiver has those below
        self.tries = 0  # null messages without progress
        self.armed = False  # the timer of this edge is set

    def may_send(self, window: int) -> bool:
        """Whether there is a message to send, and the window has room for it."""
        return self.next_send < self.end and self.next_send < self.acked + window

    def sent(self) -> None:
        """The message with the number `next_send` has gone out."""
        self.next_send += 1

    def tried_in_vain(self) -> int:
        """A time-out passed without progress; how often the wait is to be doubled now."""
        self.tries = min(self.tries + 1, BACKOFF_MAX)
        return self.tries

    def on_ack(self, end: int, settled: int) -> bool:
        """Take in an acknowledgement; whether it brought anything new. What a peer cannot know is not believed."""
        if end > self.end or settled > end or (end <= self.acked and settled <= self.settled):
            return False
        self.acked = max(self.acked, end)
        self.next_send = max(self.next_send, end)
        self.settled = max(self.settled, settled)
        self.tries = 0
        return True


class TreeEdge(OutEdge):
    """An edge to a child; its messages are entries of the site's log."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.floor = start  # messages below are stable: everybody has them, they are not kept
        self.told = start  # the receiver knows that those below are stable
        self.items: list[int] = []  # places in the log of the messages from `floor` on, increasing

    def put(self, index: int) -> None:
        self.items.append(index)
        self.end += 1

    def index_of(self, number: int) -> int:
        """The place in the log of the message with this number, which must be at or above `floor`."""
        return self.items[number - self.floor]

    def first_unsettled(self, log_end: int) -> int:
        """The place in the log of the first message that somebody below the child may lack."""
        return self.items[self.settled - self.floor] if self.settled < self.end else log_end

    def may_send_last(self, window: int) -> bool:
        """Whether all but the newest message were sent, and the window has room for it."""
        return self.next_send == self.end - 1 and self.end <= self.acked + window

    def on_told(self, stable: int) -> None:
        """What the receiver knows of stability. It may know less than before, after a crash, or more than this end."""
        self.told = min(stable, self.floor)

    def forget(self, index: int) -> None:
        """Entries of the log below this place are stable."""
        drop = bisect_left(self.items, index)
        del self.items[:drop]
        self.floor += drop

    def is_done(self) -> bool:
        """Whether there is nothing to send or to hear on this edge."""
        return self.settled == self.end and self.told == self.floor


def gaps(next_number: int, early: list[int]) -> RangeSet:
    """The numbers from `next_number` on that are missing below the largest that came early."""
    present = RangeSet()
    for number in early:
        present.add(number)
    return present.gaps_below(present.last(), next_number) if early else RangeSet()


def wanted(missing: tuple[int, ...], low: int, high: int, most: int) -> list[int]:
    """The numbers of a peer's list that lie in [low, high), at most so many."""
    try:
        ranges = rangeset_from_wire(missing, GAPS_MAX).ranges()
    except DecodeError:
        return []
    found: list[int] = []
    for start, end in ranges:
        found.extend(range(max(start, low), min(end, high, max(start, low) + most)))
        if len(found) >= most:
            break
    return found[:most]
