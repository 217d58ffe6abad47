"""From a call of `broadcast` to the queue: what is no message is refused, what has no room waits, and what one turn of
the loop has queued is packed together at its end."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from tocsin.core.errors import InputError
from tocsin.live.driver import Driver
from tocsin.live.errors import NotPrimary, TooLarge
from tocsin.live.frame_format import FRAME_BYTES, MESSAGE_BYTES_MAX
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.outgoing import Outgoing
from tocsin.live.receipts import Receipt

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
        if not self._turn_wanted:
            self._turn_wanted = True
            self._loop.call_soon(self._turn)
        return receipt

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
        await self._driver.commits.sync()

    def _turn(self) -> None:
        self._turn_wanted = False
        if self._driver is not None:
            self._driver.end_turn()


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
