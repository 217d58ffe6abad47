"""Who a member is, and what it knows of the others: the part of the log's state that members exchange when they meet.

An *incarnation* is one life of a site's disk: 1 for the first, one more each time that the site begins anew with an
empty folder. Two folders that both think they are the first (the others were away) are told apart by when they were
made. A *life* is a start of a folder; its random word tells apart the lives of two copies of one folder.
"""

import time
from typing import Final

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live.known import Known
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.log_format import Acquaint, Broadcast, Start, Who

_HALF: Final = 8  # bytes of an incarnation's number, and of when its folder was made
WORD_BYTES: Final = 7  # of a life's word: fits the signed 64 bits of whoever reads it


def new_incarnation(disk: Disk, number: int) -> bytes:
    """Of a folder that is made now: the number, and microseconds of the wall clock with random bits below."""
    return incarnation_bytes(number, time.time_ns() // 1000 << 8 | disk.random(1)[0])


def incarnation_bytes(number: int, made: int) -> bytes:
    return number.to_bytes(_HALF, "big") + made.to_bytes(_HALF, "big")


def incarnation_of(data: bytes) -> tuple[int, int]:
    """Its number, and when its folder was made."""
    return int.from_bytes(data[:_HALF], "big"), int.from_bytes(data[_HALF:], "big")


class Knowledge:
    """As the log tells it; `Log` applies to it what is written."""

    def __init__(self) -> None:
        self.life = -1  # of the last start found
        self.word = 0
        self.first_frame = 0
        self.first_number = 0
        self.next_frame = 0  # all numbers that this member has given to frames are below
        self.next_number = 0  # of this member's next message
        self.writes = 0
        self.known: dict[int, Known] = {}  # by site: the others
        self.acquainted: dict[int, int] = {}  # by site: the incarnation that the machine was told of
        self._frames: list[int] = []  # by origin: above the highest frame that was delivered here
        self._numbers: list[int] = []  # the same of messages

    def on_delivery(self, origin: int, frame: int, number: int) -> None:
        """`number`: the last that ends in the frame."""
        while len(self._frames) <= origin:
            self._frames.append(0)
            self._numbers.append(0)
        if frame >= self._frames[origin]:
            self._frames[origin] = frame + 1
        if number >= self._numbers[origin]:
            self._numbers[origin] = number + 1

    def on_broadcast(self, op: Broadcast) -> None:
        self.next_number = max(self.next_number, op.number + max(op.count, 1))
        self.next_frame = max(self.next_frame, op.frame + 1)

    def on_start(self, op: Start) -> None:
        self.life = op.life
        self.word = op.word
        self.first_frame = op.first_frame
        self.first_number = op.first_number
        self.next_frame = max(self.next_frame, op.first_frame)
        self.next_number = max(self.next_number, op.first_number)

    def on_note(self, op: "Known | Acquaint") -> None:
        if isinstance(op, Known):
            self.known[op.site] = op
        else:
            self.acquainted[op.site] = op.incarnation

    def told_of(self, site: int) -> int:
        """The incarnation of a peer that the machine takes for its present one."""
        return self.acquainted.get(site, FIRST_INCARNATION)

    def seen(self, origin: int) -> tuple[int, int]:
        """Above the highest numbers of its frames and of its messages that were delivered here."""
        return (self._frames[origin], self._numbers[origin]) if origin < len(self._frames) else (0, 0)

    def state(self) -> Who:
        return Who(
            self.word,
            self.first_frame,
            self.first_number,
            self.next_frame,
            self.writes,
            tuple(self.known[site] for site in sorted(self.known)),
            tuple(sorted(self.acquainted.items())),
            tuple((origin, frame, self._numbers[origin]) for origin, frame in enumerate(self._frames)),
        )

    def restore(self, who: Who) -> None:
        self.word = who.word
        self.first_frame = who.first_frame
        self.first_number = who.first_number
        self.next_frame = who.next_frame
        self.writes = who.writes
        self.known = {known.site: known for known in who.known}
        self.acquainted = dict(who.acquainted)
        self._frames = [frame for _, frame, _ in who.seen]
        self._numbers = [number for _, _, number in who.seen]
