"""The application's messages on their way out: from the call of `broadcast` into frames, and until they are delivered
here."""

import asyncio
import time
from typing import Final

from tocsin.core.machine import GroupId
from tocsin.live.frame_format import Numbers, pack
from tocsin.live.packing import Packer
from tocsin.live.receipts import Receipt, Receipts

QUEUE_BYTES_MAX: Final = 4 << 20  # messages that wait for room in the protocol; above it `broadcast` waits
QUEUE_MESSAGES_MAX: Final = 100_000


class Outgoing:
    """The application puts messages in; the driver takes frames out, and says what becomes of them."""

    def __init__(self, groups: int, next_number: int = 0) -> None:
        self.stat_messages = 0
        self.frame_bytes = 0  # of frames handed to the machine and not yet delivered here
        self.receipts = Receipts(groups)
        self._packers = [Packer() for _ in range(groups)]
        self._next_number = next_number  # of this member's next message, over all groups
        self._frames: dict[tuple[GroupId, int], int] = {}  # handed over, not yet delivered here: group, frame -> bytes
        self._room: list[asyncio.Future[None]] = []  # broadcasts that wait for room in the queue

    # The application's side

    def put(self, group: GroupId, messages: list[bytes], size: int, receipt: Receipt) -> None:
        """`size`: of all messages together."""
        self._packers[group].put_many(messages, size)
        self.receipts.put(group, receipt, len(messages))
        self.stat_messages += len(messages)

    def put_numbered(self, group: GroupId, message: bytes, producer: str, number: int, receipt: Receipt) -> None:
        """A message that its producer has numbered."""
        self.put_all_numbered(group, [message], producer, number, receipt)

    def put_all_numbered(
        self, group: GroupId, messages: list[bytes], producer: str, number: int, receipt: Receipt
    ) -> None:
        """Messages that their producer has numbered, from `number` on."""
        packer = self._packers[group]
        for offset, message in enumerate(messages):
            packer.put_numbered(message, producer, number + offset)
        self.receipts.put(group, receipt, len(messages))
        self.stat_messages += len(messages)

    def queued(self) -> int:
        """Messages that are in no frame yet."""
        return sum([len(packer) for packer in self._packers])

    def is_full(self) -> bool:
        waiting = sum([packer.queued_bytes for packer in self._packers])
        return waiting >= QUEUE_BYTES_MAX or self.queued() >= QUEUE_MESSAGES_MAX

    async def wait_for_room(self) -> None:
        """Wait until the queue is not full, or the member ends."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room.append(waiting)
        try:
            await waiting
        finally:
            if waiting in self._room:  # cancelled
                self._room.remove(waiting)

    # The driver's side

    def begin(self, next_number: int) -> None:
        """The member's life begins: its first message has this number."""
        self._next_number = next_number

    def groups_waiting(self) -> list[GroupId]:
        return [group for group, packer in enumerate(self._packers) if len(packer)]

    def has_messages(self, group: GroupId) -> bool:
        return len(self._packers[group]) > 0

    def take_frame(self, group: GroupId) -> tuple[bytes, Numbers]:
        """The next frame, as full as the queue allows."""
        frame, numbers = self._packers[group].take(self._next_number, time.time_ns() // 1000)
        self._next_number = max(self._next_number, numbers.number + max(numbers.count, 1))
        return frame, numbers

    def pack_alone(self, message: bytes) -> tuple[bytes, Numbers]:
        """A frame for one message that was in no queue."""
        number = self._next_number
        self._next_number = number + 1
        self.stat_messages += 1
        return pack(number, [message], time.time_ns() // 1000), Numbers(number, 1)

    def on_broadcast(self, group: GroupId, frame: int, numbers: Numbers, alone: Receipt | None) -> None:
        """The machine has taken a frame. `alone`: the receipt of its only message, which was in no queue."""
        if alone is not None:
            self.receipts.put_frame(group, frame, alone, numbers.number)
            return
        self.receipts.on_broadcast(group, frame, numbers)
        if self._room and not self.is_full():
            self._wake()

    def on_way(self, group: GroupId, frame: int, size: int) -> None:
        """A frame of ours will be delivered here, too."""
        self._frames[(group, frame)] = size
        self.frame_bytes += size

    def on_delivered(self, group: GroupId, frame: int) -> None:
        """The machine has delivered a frame of ours."""
        self.frame_bytes -= self._frames.pop((group, frame), 0)

    def give_up(self) -> None:
        """The member ends: nobody here will learn more."""
        self.receipts.give_up()
        self._wake()

    def _wake(self) -> None:
        for waiting in self._room:
            if not waiting.done():
                waiting.set_result(None)
        self._room = []
