"""A peer may send anything that decodes: no message, whatever its numbers, makes a rival raise."""

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from tocsin.core.effects import Deliver, Rollback
from tocsin.core.errors import DecodeError
from tocsin.core.machine import Outbox, Setup
from tocsin.core.rng import Rng
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.disk import Disk

RIVALS = ["lamport", "two_phase", "sequencer", "push_gossip", "optimistic_token", "totem_ring"]
NUMBERS = [0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 100, 1 << 40]
TIMERS = ["RESEND", "ASK", "NULL", "SUBMIT", "GAP", "CHECK", "PASS", "ELECT"]
TIMERS += ["HOLD", "STEP", "LOST", "RETRY", "JOIN", "CONSENSUS", "BEACON"]
LIVES = 150
INPUTS = 60


class Deaf(Outbox):
    """An outbox that only keeps the delivery log, so that a wrong rollback is noticed."""

    def __init__(self) -> None:
        self.disk = Disk(2)

    def send(self, target: int, message: object) -> None: ...
    def multicast(self, targets: list[int], message: object) -> None: ...
    def set_timer(self, timer: str, key: int, deadline: int) -> None: ...
    def cancel_timer(self, timer: str, key: int) -> None: ...
    def missed(self, group: int, origin: int, first: int, count: int) -> None: ...
    def install_view(self, view: int, members: list[int], primary: bool) -> None: ...
    def persist(self, record: object) -> None: ...
    def checkpoint(self, records: object) -> None: ...
    def trim(self, group: int, position: int) -> None: ...

    def deliver(self, group: int, origin: int, seqno: int, payload: bytes) -> None:
        self.disk.keep(Deliver(group, origin, seqno, payload))

    def rollback(self, group: int, origin: int, seqno: int) -> None:
        self.disk.keep(Rollback(group, origin, seqno))


def anything(hint: Any, rng: Rng) -> Any:
    """A value of a field's type, often near the truth."""
    if get_origin(hint) is Annotated:
        return anything(get_args(hint)[0], rng)
    if get_origin(hint) is tuple:
        return tuple(anything(get_args(hint)[0], rng) for _ in range(rng.below(5)))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        return hint(*[anything(hints[field], rng) for field in hint.__struct_fields__])
    if hint is bool:
        return rng.chance(0.5)
    return b"?" if hint is bytes else NUMBERS[rng.below(len(NUMBERS))]


@pytest.mark.parametrize("name", RIVALS)
def test_anything_that_decodes(name: str) -> None:
    protocol = REGISTRY[name]
    codec = protocol.codec()
    arrived = 0
    for life in range(LIVES):
        rng = Rng(life)
        outbox = Deaf()
        site = rng.below(3)
        setup = Setup(site, 3, [0, 1, 2], [[0, 1, 2], [0, 2]], protocol.options(), rng.fork("m"), outbox.disk, None)
        machine = protocol.make(setup, outbox)
        machine.on_start(0, [])
        for now in range(1, INPUTS):
            if rng.chance(0.15) and machine.room() > 0:
                machine.broadcast(now * 1000, rng.below(2), b"mine")
            if rng.chance(0.15):
                machine.on_timer(now * 1000, TIMERS[rng.below(len(TIMERS))], rng.below(2))
            message = anything(protocol.messages[rng.below(len(protocol.messages))], rng)
            try:
                message = codec.decode(codec.encode(message))
            except DecodeError:
                continue
            arrived += 1
            machine.on_message(now * 1000, (site + 1 + rng.below(2)) % 3, message)
    assert arrived > LIVES * INPUTS // 2
