"""Between the driver and the application: what was delivered and not yet taken.

The backlog is bounded. Above its limit, by the policy the application chose: `block` stands still (to the group this
member is a stopped process, until it goes on or is removed), `spill` forgets payloads and reads them back from the log
when their turn comes, `leave` leaves the group. Each is counted.
"""

import asyncio
from collections import deque
from typing import Final, Literal

from tocsin.live.frame_format import FRAME_BYTES, Packed, unpack
from tocsin.live.heard import Delivered, Heard
from tocsin.live.storage.log_format import Deliver, Rollback
from tocsin.live.storage.logged_frames import LoggedFrames

Slow = Literal["block", "spill", "leave"]

MESSAGE_COST: Final = 64  # bytes that a waiting message takes beside its payload


class Backlog:
    """A queue with one reader."""

    def __init__(self, limit_bytes: int, slow: Slow, frames: LoggedFrames) -> None:
        self.waiting_bytes = 0
        self.stat_spilled = 0  # frames whose payloads were forgotten
        self.is_over = False  # above the limit, since it was last below half of it
        self.must_not_hold = False  # the reader is busy with what came before: forget payloads, whatever the policy
        self._limit = limit_bytes
        self._slow: Slow = slow
        self.frames = frames  # of the log
        self._items: deque[Heard] = deque()
        self._spilled: dict[int, deque[int]] = {}  # by group: log positions of forgotten frames, oldest first
        self._waiter: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Heard) -> None:
        if isinstance(item, Delivered):
            if not item.messages:
                return
            if self._may_spill(item):
                item.messages = []
                self._spilled.setdefault(item.op.group, deque()).append(item.log_position)
                self.stat_spilled += 1
            else:
                item.cost = _cost(item)
                self.waiting_bytes += item.cost
                self.is_over = self.is_over or self.waiting_bytes > self._limit
        elif isinstance(item, Rollback) and (item.count == 0 or self._undo_waiting(item)):
            return  # the application never heard of it
        self._items.append(item)

    def _may_spill(self, item: Delivered) -> bool:
        """Frames of many messages can be read back as they are; the last piece of a large message cannot."""
        if (self._slow != "spill" and not self.must_not_hold) or len(item.messages[0]) >= FRAME_BYTES - 64:
            return False
        return bool(self._spilled.get(item.op.group)) or self.waiting_bytes + _cost(item) > self._limit

    def _undo_waiting(self, item: Rollback) -> bool:
        """While forgotten frames wait, a delivery that is rolled back never was, for the application: a forgotten one
        can no longer be read back. So the newest delivery that waits is always the one that is rolled back."""
        spilled = self._spilled.get(item.group)
        if not spilled:
            return False
        for index in range(len(self._items) - 1, -1, -1):
            newest = self._items[index]
            if isinstance(newest, Delivered) and newest.op.group == item.group:
                assert (newest.op.origin, newest.op.frame) == (item.origin, item.frame), "not the newest delivery"
                del self._items[index]
                if newest.messages:
                    self._on_gone(newest)
                else:
                    spilled.pop()
                return True
        return False

    def _on_gone(self, item: Delivered) -> None:
        """A delivery whose payloads were kept waits no longer."""
        self.waiting_bytes -= item.cost
        if self.waiting_bytes * 2 <= self._limit:
            self.is_over = False

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until `wake`."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def take(self) -> Heard:
        """The next; what was forgotten is read back."""
        item = self._items.popleft()
        if isinstance(item, Delivered):
            if item.messages:
                self._on_gone(item)
            else:
                self._spilled[item.op.group].popleft()
                content = unpack(self.frames.read_any(item.op.group, item.log_position, 1)[0].payload)
                assert isinstance(content, Packed)
                item.messages = without_dropped(content.messages, item.op)
        return item

    def needed(self, group: int) -> int:
        """The oldest frame of a group that must still be read back."""
        spilled = self._spilled.get(group)
        return spilled[0] if spilled else 1 << 62


def without_dropped(messages: list[bytes], op: Deliver) -> list[bytes]:
    """The messages of a frame that took a position."""
    if not op.dropped:
        return messages
    dropped = {index for index, _ in op.dropped}
    return [message for index, message in enumerate(messages) if index not in dropped]


def _cost(item: Delivered) -> int:
    return sum(map(len, item.messages)) + MESSAGE_COST * len(item.messages)
