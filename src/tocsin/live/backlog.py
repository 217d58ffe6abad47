"""Between the driver and the application: what was delivered and not yet taken.

The backlog is bounded. Above its limit, by the policy the application chose: `block` stands still (to the group this
member is a stopped process, until it goes on or is removed), `spill` forgets payloads and reads them back from the log
when their turn comes, `leave` leaves the group. Each is counted.
"""

import asyncio
from collections import deque
from typing import Final, Literal

from tocsin.live.frame_format import FRAME_BYTES, Packed, unpack
from tocsin.live.happenings import Delivered, Happening, RolledBack
from tocsin.live.storage.logged_frames import LoggedFrames

Slow = Literal["block", "spill", "leave"]

MESSAGE_COST: Final = 64  # bytes that a waiting message takes beside its payload


class Backlog:
    """A queue with one reader."""

    def __init__(self, limit_bytes: int, slow: Slow, frames: LoggedFrames) -> None:
        self.waiting_bytes = 0
        self.stat_blocked = 0  # times that the member stood still
        self.stat_spilled = 0  # frames whose payloads were forgotten
        self.is_over = False  # above the limit, since it was last below half of it
        self._limit = limit_bytes
        self._slow: Slow = slow
        self._frames = frames
        self._items: deque[Happening] = deque()
        self._spilled: dict[int, deque[int]] = {}  # by group: log positions of forgotten frames, oldest first
        self._waiter: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Happening) -> None:
        if isinstance(item, Delivered):
            if not item.payloads:
                return
            if self._may_spill(item):
                item.payloads = []
                self._spilled.setdefault(item.group, deque()).append(item.log_position)
                self.stat_spilled += 1
            else:
                item.cost = _cost(item)
                self.waiting_bytes += item.cost
                self.is_over = self.is_over or self.waiting_bytes > self._limit
        elif isinstance(item, RolledBack) and self._undo_spilled(item):
            return
        self._items.append(item)

    def _may_spill(self, item: Delivered) -> bool:
        """Frames of many messages can be read back as they are; the last piece of a large message cannot."""
        if self._slow != "spill" or len(item.payloads[0]) >= FRAME_BYTES - 64:
            return False
        return bool(self._spilled.get(item.group)) or self.waiting_bytes + _cost(item) > self._limit

    def _undo_spilled(self, item: RolledBack) -> bool:
        """A forgotten delivery that is rolled back never was, for the application."""
        spilled = self._spilled.get(item.op.group)
        if not spilled:
            return False
        for index in range(len(self._items) - 1, -1, -1):
            newest = self._items[index]
            if isinstance(newest, Delivered) and newest.group == item.op.group:
                if newest.payloads:
                    return False
                del self._items[index]
                spilled.pop()
                return True
        return False

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

    def take(self) -> Happening:
        """The next; what was forgotten is read back."""
        item = self._items.popleft()
        if isinstance(item, Delivered):
            if item.payloads:
                self.waiting_bytes -= item.cost
                if self.waiting_bytes * 2 <= self._limit:
                    self.is_over = False
            else:
                self._spilled[item.group].popleft()
                content = unpack(self._frames.read_any(item.group, item.log_position, 1)[0].payload)
                assert isinstance(content, Packed)
                item.payloads = content.messages
        return item

    def needed(self, group: int) -> int:
        """The oldest frame of a group that must still be read back."""
        spilled = self._spilled.get(group)
        return spilled[0] if spilled else 1 << 62


def _cost(item: Delivered) -> int:
    return sum(map(len, item.payloads)) + MESSAGE_COST * len(item.payloads)
