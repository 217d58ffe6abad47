"""A peer may send anything that decodes: no message, whatever its numbers, makes a process raise or work for ever."""

from tocsin.core.effects import Deliver
from tocsin.core.errors import DecodeError
from tocsin.core.machine import Outbox, Setup
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree import PROTOCOL
from tocsin.protocols.reliability_tree.messages import Data, Heartbeat
from tocsin.protocols.reliability_tree.news import varint
from tocsin.protocols.reliability_tree.options import ReliabilityTreeOptions
from tocsin.sim.disk import Disk

NUMBERS = [0, 0, 1, 1, 2, 2, 3, 5, 7, 100, 65_535, 1 << 40, (1 << 62) - 1]
LIVES = 25
INPUTS = 60


class Counting(Outbox):
    """An outbox that counts what is sent, and keeps the delivery log."""

    def __init__(self) -> None:
        self.disk = Disk(2)
        self.sent = 0

    def send(self, target: int, message: object) -> None:
        self.sent += 1

    def multicast(self, targets: list[int], message: object) -> None: ...
    def set_timer(self, timer: str, key: int, deadline: int) -> None: ...
    def cancel_timer(self, timer: str, key: int) -> None: ...
    def rollback(self, group: int, origin: int, seqno: int) -> None: ...
    def missed(self, group: int, origin: int, first: int, count: int) -> None: ...
    def install_view(self, view: int, members: list[int], primary: bool) -> None: ...
    def persist(self, record: object) -> None: ...
    def checkpoint(self, records: object) -> None: ...
    def trim(self, group: int, position: int) -> None: ...

    def deliver(self, group: int, origin: int, seqno: int, payload: bytes) -> None:
        self.disk.keep(Deliver(group, origin, seqno, payload))


def anything(rng: Rng) -> Message:
    def number() -> int:
        return NUMBERS[rng.below(len(NUMBERS))]

    def small() -> int:
        return min(number(), 65_535)

    noise = b"".join(varint(number()) for _ in range(rng.below(16)))
    if rng.chance(0.5):
        return Data(number(), number(), number(), noise, b"?")
    news = b"".join(varint(small()) for _ in range(5 * rng.below(5))) if rng.chance(0.7) else noise
    return Heartbeat(number(), number(), small(), small(), number(), number(), number(), number(), news)


def test_anything_that_decodes() -> None:
    codec = PROTOCOL.codec()
    arrived = 0
    for life in range(LIVES):
        rng = Rng(life)
        outbox = Counting()
        site = rng.below(3)
        options = ReliabilityTreeOptions(settle_us=0, vanish_after=3, memory=8)
        setup = Setup(site, 3, [0, 1, 2], [[0, 1, 2], [0, 2]], options, rng.fork("m"), outbox.disk, None)
        machine = PROTOCOL.make(setup, outbox)
        machine.on_start(0, [])
        for step in range(1, INPUTS):
            now = step * 100_000
            before = outbox.sent
            if rng.chance(0.15) and machine.room() > 0:
                machine.broadcast(now, rng.below(2), b"mine")
            if rng.chance(0.3):
                machine.on_timer(now, ["HEARTBEAT", "TICK", "SETTLE", "OTHER"][rng.below(4)], rng.below(2))
            message = anything(rng)
            try:
                message = codec.decode(codec.encode(message))
            except DecodeError:
                continue
            arrived += 1
            machine.on_message(now, (site + 1 + rng.below(2)) % 3, message)
            assert outbox.sent - before <= 3 * 2 * 100 + 2  # two budgets and a round of heartbeats
    assert arrived > LIVES * INPUTS // 2
