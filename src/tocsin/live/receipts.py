"""What becomes of the messages an application has broadcast."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.producers import NUMBERS_MAX, TOO_OLD
from tocsin.live.errors import TimedOut, TooOld, Unknown
from tocsin.live.frame_format import Numbers


class Receipt:
    """One call of `broadcast` (or of `broadcast_many`: then of its last message)."""

    __slots__ = ("_error", "_position", "_sync", "_waiters", "count", "left", "left_out", "places", "reach", "seqno")

    def __init__(self, sync: Callable[[], Awaitable[None]]) -> None:
        self.seqno: int | None = None  # this member's number for it, once it is on its way; None of what was known here
        self.reach: float | None = None  # where one was asked for: the probability, as promised, that everybody gets it
        self.left_out: tuple[str, ...] = ()  # once ordered: members that it was not sent to (`reliability_tree`)
        self.count = 0  # messages of which all places are wanted; 0: that of the last is enough
        self.left = 0  # of these: messages that have no place yet
        self.places: list[tuple[int, int, int]] = []  # of these: place in the call, position, how many
        self._sync = sync
        self._position = -1  # known once ordered
        self._error: TocsinError | None = None
        self._waiters: list[asyncio.Future[int]] = []

    async def ordered(self, timeout: float | None = None) -> int:
        """Wait for its delivery here, in its place in the group's order; the answer is its position.
        Raises `Unknown` when the member stopped before, `TimedOut` when it has not come within so many seconds."""
        return await _bounded(self._ordered(), timeout, "its place in the order")

    async def durable(self, timeout: float | None = None) -> int:
        """As `ordered`, and wait until this member's disk has it, safe from a power loss."""
        return await _bounded(self._durable(), timeout, "the disks")

    async def _ordered(self) -> int:
        if self._position >= 0:
            return self._position
        if self._error is not None:
            raise self._error
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            if waiter in self._waiters:  # cancelled
                self._waiters.remove(waiter)

    async def _durable(self) -> int:
        position = await self._ordered()
        await self._sync()
        return position

    def want_all(self, count: int) -> None:
        """Keep the places of all messages of the call."""
        self.count = self.left = count

    def place(self, index: int, position: int, count: int) -> bool:
        """Messages from `index` on have come to these positions; whether no other is to come."""
        self.places.append((index, position, count))
        self.left -= count
        if self.left == 0 and self._error is None:
            self.settle(max([first + many - 1 for _, first, many in self.places]))
            return True
        return False

    def positions(self) -> list[tuple[int, int]]:
        """Where the messages of the call are, in order: runs of positions, each with how many."""
        runs: list[tuple[int, int]] = []
        for _, position, count in sorted(self.places):
            if runs and runs[-1][0] + runs[-1][1] == position:
                runs[-1] = (runs[-1][0], runs[-1][1] + count)
            else:
                runs.append((position, count))
        return runs

    def settle(self, position: int) -> None:
        self._position = position
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(position)
        self._waiters = []

    def give_up(self, error: TocsinError) -> bool:
        """Whether that is news."""
        is_first = self._error is None
        self._error = error
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(error)
        self._waiters = []
        return is_first


async def _bounded(work: Coroutine[Any, Any, int], seconds: float | None, what: str) -> int:
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            return await work
    except TimeoutError:
        if not clock.expired():
            raise
        raise TimedOut(f"broadcast: {what}: not within {seconds:g} s; it may still come") from None


def too_old() -> TooOld:
    return TooOld(
        f"broadcast: this number is older than the last {NUMBERS_MAX:,} of its producer, and nobody knows any more "
        "whether it was delivered; number what is new above them"
    )


class Receipts:
    """Follows receipts from the queue into frames, and from frames to their deliveries."""

    def __init__(self, groups: int) -> None:
        self.outstanding = 0  # receipts not yet settled
        self._queued: list[deque[tuple[Receipt, int]]] = [deque() for _ in range(groups)]  # receipt, messages to come
        # by group and frame: receipts, with their first and last message there, and which of the call the first is;
        # where only the place of the last is wanted, only where that is
        self._frames: dict[tuple[int, int], list[tuple[Receipt, int, int, int]]] = {}

    def put(self, group: int, receipt: Receipt, messages: int) -> None:
        self._queued[group].append((receipt, messages))
        self.outstanding += 1

    def put_frame(self, group: int, frame: int, receipt: Receipt, number: int) -> None:
        """A frame that holds one message, which was in no queue and has this number."""
        self._frames[(group, frame)] = [(receipt, 0, 0, 0)]
        receipt.seqno = number
        self.outstanding += 1

    def on_broadcast(self, group: int, frame: int, numbers: Numbers) -> None:
        """A frame was handed to the protocol: the next `count` messages of the queue end in it."""
        queue = self._queued[group]
        ending: list[tuple[Receipt, int, int, int]] = []
        at = 0
        while at < numbers.count and queue:
            receipt, left = queue.popleft()
            first = at
            at += left
            if at <= numbers.count:
                ending.append((receipt, first, at - 1, receipt.count - left))
                receipt.seqno = numbers.number + at - 1
            else:
                if receipt.count > 0:
                    ending.append((receipt, first, numbers.count - 1, receipt.count - left))
                queue.appendleft((receipt, at - numbers.count))
        if ending:
            self._frames[(group, frame)] = ending

    def leave_out(self, group: int, frame: int, names: tuple[str, ...]) -> None:
        """A frame was not sent to these members: no way to them is known."""
        for receipt, _, _, _ in self._frames.get((group, frame), ()):
            receipt.left_out = tuple(sorted({*receipt.left_out, *names}))

    def on_own_delivery(self, group: int, frame: int, position: int) -> None:
        for receipt, first, last, index in self._frames.pop((group, frame), ()):
            if receipt.count > 0:
                self.outstanding -= receipt.place(index, position + first, last - first + 1)
            else:
                receipt.settle(position + last)
                self.outstanding -= 1

    def awaits(self, groups: list[int]) -> bool:
        """Whether a receipt of these groups is not settled."""
        return any(self._queued[group] for group in groups) or any(group in groups for group, _ in self._frames)

    def on_answers(self, group: int, frame: int, answers: list[int]) -> None:
        """A frame with numbered messages was delivered: by message, its position, that of the first, or TOO_OLD."""
        for receipt, first, last, index in self._frames.pop((group, frame), ()):
            if TOO_OLD in answers[first : last + 1]:
                self.outstanding -= receipt.give_up(too_old())
            elif receipt.count == 0:
                receipt.settle(answers[last])
                self.outstanding -= 1
            else:
                for at in range(first, last + 1):
                    self.outstanding -= receipt.place(index + at - first, answers[at], 1)

    def give_up(self) -> None:
        """The member stops: nobody here will learn more."""
        error = Unknown("the member stopped before this was ordered here: it may be delivered elsewhere, or never")
        for ending in self._frames.values():
            for receipt, _, _, _ in ending:
                receipt.give_up(error)
        for queue in self._queued:
            for receipt, _ in queue:
                receipt.give_up(error)
            queue.clear()
        self._frames.clear()
        self.outstanding = 0
