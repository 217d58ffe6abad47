"""From a call of `broadcast` to the queue: what is no message is refused, what has no room waits, and what one turn of
the loop has queued is packed together at its end."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from tocsin.core.errors import InputError
from tocsin.core.producers import NOT_SEEN, NUMBER_END, TOO_OLD, is_producer
from tocsin.live.driver import Driver
from tocsin.live.errors import NotPrimary, NotSupported, TooLarge
from tocsin.live.frame_format import FRAME_BYTES, MESSAGE_BYTES_MAX
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.known import NO_TABLE, PART_OF_TABLE
from tocsin.live.outgoing import Outgoing
from tocsin.live.receipts import Receipt, too_old
from tocsin.protocols.protocol import Protocol

REACHING_BYTES_MAX: Final = FRAME_BYTES - 64  # a message with a reach of its own goes in one frame
ROOM_LOOK_SECONDS: Final = 0.02


class Broadcasting:
    """One member's. `check_open`: an error if it has ended."""

    def __init__(
        self,
        group: Group,
        name: str,
        loop: asyncio.AbstractEventLoop,
        outgoing: Outgoing,
        incoming: Incoming,
        check_open: Callable[[], None],
    ) -> None:
        self._group = group
        self._name = name
        self._loop = loop
        self._outgoing = outgoing
        self._incoming = incoming
        self._check_open = check_open
        self._driver: Driver | None = None  # until the member's life begins; what was queued waits for it
        self._turn_wanted = False

    def begin(self, driver: Driver) -> None:
        """The member's life begins."""
        self._driver = driver

    async def broadcast(
        self, payload: object, group: str | None, reach: float | None, producer: str | None, number: int | None
    ) -> Receipt:
        """One message; see `Member.broadcast`."""
        message = checked_message(payload)
        target = self.group_number(len(message), group)
        if producer is not None or number is not None:
            producer, number = checked_numbered(self._group.protocol, producer, number, reach)
            return await self.put_numbered(target, message, producer, number)
        if reach is not None:
            return await self.put_reaching(target, message, reach)
        return await self.put(target, [message], len(message))

    async def broadcast_many(self, payloads: object, group: str | None) -> Receipt:
        """Messages one after the other; the receipt is that of the last."""
        messages = checked_messages(payloads)
        sizes = list(map(len, messages))
        return await self.put(self.group_number(max(sizes), group), messages, sum(sizes))

    def group_number(self, size: int, group: str | None) -> int:
        """Of the group that a message of this size goes to, if it can go there now."""
        if size > MESSAGE_BYTES_MAX:
            raise TooLarge(f"broadcast: expected at most {MESSAGE_BYTES_MAX} bytes, found {size}")
        self._check_open()
        view = self._incoming.view
        if view is not None and not view.primary:
            raise NotPrimary(
                f"`{self._name}` is cut off from the majority of the group; nothing can be ordered here now"
            )
        return 0 if group is None else self._group.group_id(group)

    async def put(self, group: int, messages: list[bytes], size: int) -> Receipt:
        """Queue messages of so many bytes together."""
        while self._outgoing.is_full():
            await self._outgoing.wait_for_room()
            self._check_open()
        receipt = Receipt(self._sync)
        self._outgoing.put(group, messages, size, receipt)
        self._want_turn()
        return receipt

    def _want_turn(self) -> None:
        if not self._turn_wanted:
            self._turn_wanted = True
            self._loop.call_soon(self._turn)

    async def put_numbered(self, group: int, message: bytes, producer: str, number: int) -> Receipt:
        """Queue a message that its producer has numbered, unless the group is known to have delivered it. Nobody must
        take it who cannot tell repeats: that would deliver them."""
        driver = await self._room()
        receipt = Receipt(self._sync)
        log = driver.log
        known = log.producers.of(group).find(producer, number)
        if known == TOO_OLD:
            raise too_old()
        if (
            known != NOT_SEEN and known < log.frames.group(group).position
        ):  # else the log has not got it yet: send again
            receipt.settle(known)
            return receipt
        self._check_others(driver)
        self._outgoing.put_numbered(group, message, producer, number, receipt)
        self._want_turn()
        return receipt

    # For the door

    async def publish(self, group: int, messages: list[bytes], size: int, producer: str, number: int) -> Receipt:
        """As `put`, or (with a producer) as `put_numbered` for messages numbered from `number` on; the receipt has the
        places of all."""
        driver = await self._room()
        receipt = Receipt(self._sync)
        receipt.want_all(len(messages))
        if not producer:
            self._outgoing.put(group, messages, size, receipt)
        elif not self._are_known(driver, group, len(messages), producer, number, receipt):
            self._check_others(driver)
            self._outgoing.put_all_numbered(group, messages, producer, number, receipt)
        self._want_turn()
        return receipt

    def _are_known(self, driver: Driver, group: int, count: int, producer: str, number: int, receipt: Receipt) -> bool:
        """Whether the group is known to have delivered all of them; then the receipt is settled."""
        table, delivered = driver.log.producers.of(group), driver.log.frames.group(group).position
        found = [table.find(producer, number + offset) for offset in range(count)]
        if TOO_OLD in found:
            raise too_old()
        if any(known == NOT_SEEN or known >= delivered for known in found):
            return False
        for offset, known in enumerate(found):
            receipt.place(offset, known, 1)
        return True

    async def move_cursor(self, group: int, sender: str, number: int) -> Receipt:
        """An entry for the group's table of cursors (`core/cursors.py`); its answer is the cursor after it."""
        await self._room()
        receipt = Receipt(self._sync)
        self._outgoing.put_all_numbered(group, [b""], sender, number, receipt)
        self._want_turn()
        return receipt

    async def _room(self) -> Driver:
        """Wait until the member's life has begun, and there is room in the queue."""
        while self._driver is None:
            await self._incoming.wait_changed(ROOM_LOOK_SECONDS)
            self._check_open()
        while self._outgoing.is_full():
            await self._outgoing.wait_for_room()
            self._check_open()
        return self._driver

    def _check_others(self, driver: Driver) -> None:
        view = self._incoming.view
        names = self._group.sites if view is None else view.members
        for name in names:
            site = self._group.site(name)
            known = driver.register.mine() if name == self._name else driver.register.of(site)
            if known.incarnation == 0:
                raise NotPrimary(f"broadcast: `producer`: `{name}` was not met yet, and perhaps cannot tell repeats")
            if known.table == NO_TABLE:
                raise NotSupported(f"broadcast: `producer`: `{name}` is of an older version, which cannot tell repeats")
            if known.table == PART_OF_TABLE:
                raise NotSupported(
                    f"broadcast: `producer`: `{name}` has missed a part of the order, and cannot tell every repeat"
                )

    async def put_reaching(self, group: int, message: bytes, reach: float) -> Receipt:
        """Hand over one message with a wanted reach; the receipt says what is promised."""
        if not self._group.protocol.plans_reach:
            raise InputError(f"broadcast: `reach`: {self._group.protocol.name} does not plan it; see reliability_tree")
        if len(message) > REACHING_BYTES_MAX:
            raise TooLarge(f"broadcast: expected at most {REACHING_BYTES_MAX} bytes with `reach`, found {len(message)}")
        while self._driver is None or self._driver.machine.room() <= 0:
            await self._incoming.wait_changed(ROOM_LOOK_SECONDS)
            self._check_open()
        receipt = Receipt(self._sync)
        receipt.reach = self._driver.broadcast_reaching(group, message, reach, receipt)
        self._check_open()
        return receipt

    async def _sync(self) -> None:
        assert self._driver is not None, "something was ordered without a driver"
        await self._driver.safety.sync()

    def _turn(self) -> None:
        self._turn_wanted = False
        if self._driver is not None:
            self._driver.end_turn()


def checked_numbered(
    protocol: Protocol, producer: str | None, number: int | None, reach: float | None
) -> tuple[str, int]:
    """A producer and its number; what cannot be asked for is refused."""
    if producer is None or number is None or reach is not None:
        raise InputError("broadcast: expected `producer` and `number`, both or neither, and no `reach` beside them")
    if not isinstance(producer, str) or not is_producer(producer):
        raise InputError(f"broadcast: `producer`: expected printable text of 1 to 64 bytes, found {producer!r}")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < NUMBER_END:
        raise InputError(f"broadcast: `number`: expected a whole number from 0 on, found {number!r}")
    if not protocol.has_common_order():
        raise NotSupported(
            f"broadcast: `producer`: {protocol.name} has no common order that is never taken back; see counter_token"
        )
    return producer, number


def checked_message(payload: object, call: str = "broadcast") -> bytes:
    """A message as bytes that nobody else can change; what is no message is refused."""
    if not isinstance(payload, (bytes, bytearray, memoryview)):
        cure = "; encode it first: text.encode()" if isinstance(payload, str) else ""
        raise InputError(f"{call}: expected bytes, found {type(payload).__name__}{cure}")
    return bytes(payload)


def checked_messages(payloads: object) -> list[bytes]:
    """The same of the messages of one call."""
    if not isinstance(payloads, Iterable) or isinstance(payloads, (bytes, bytearray, memoryview, str)):
        raise InputError(f"broadcast_many: expected a list of messages, found one {type(payloads).__name__}")
    messages = list(payloads)
    if not messages:
        raise InputError("broadcast_many: expected at least one message, found none")
    if set(map(type, messages)) == {bytes}:  # the usual case, at the speed of volume
        return messages
    return [checked_message(message, "broadcast_many") for message in messages]
