"""A member of a live group: what a Python developer meets.

async with tocsin.join("orders.toml", "a") as member:
    receipt = await member.broadcast(b"hello")
    position = await receipt.ordered()
    async for event in member:
        ...
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tocsin.core.errors import InputError, TocsinError
from tocsin.live.backlog import Backlog, Slow
from tocsin.live.driver import Driver
from tocsin.live.errors import Closed, KeyMismatch, NotPrimary, TooLarge
from tocsin.live.events import Batch, BatchEvent, Event, View
from tocsin.live.frame_format import FRAME_BYTES, MESSAGE_BYTES_MAX
from tocsin.live.group_config import Group, read_group
from tocsin.live.incoming import Incoming
from tocsin.live.naming import Naming
from tocsin.live.opening import Opened, open_member
from tocsin.live.operations.status import status_of
from tocsin.live.operations.status_server import StatusServer
from tocsin.live.outgoing import Outgoing
from tocsin.live.receipts import Receipt
from tocsin.live.wire.keys import read_keys

_log = logging.getLogger("tocsin.live")

REACHING_BYTES_MAX: Final = FRAME_BYTES - 64  # a message with a reach of its own goes in one frame
ROOM_LOOK_SECONDS: Final = 0.02
BACKLOG_BYTES: Final = 64 << 20
LEAVE_SECONDS_MAX: Final = 10.0
HOUSEKEEPING_SECONDS: Final = 1.0


def join(
    group: str | Path | Group,
    site: str,
    *,
    inject: str = "",
    slow: Slow = "block",
    backlog_bytes: int = BACKLOG_BYTES,
    listen: bool = True,
) -> "Member":
    """A member of the group in this file, to be used by `async with` (or `await`, and `leave()` at the end).

    `inject`: faults, see `tocsin.live.wire.inject`. `slow`: what happens when the application falls behind by more than
    `backlog_bytes`. `listen=False`: this application only sends; it hears no events.
    """
    resolved = group if isinstance(group, Group) else read_group(Path(group))
    return Member(resolved, resolved.site(site), inject, slow, backlog_bytes, listen)


class Member:
    """See `join`. All methods belong to the event loop in which the member was started."""

    def __init__(self, group: Group, site: int, inject: str, slow: Slow, backlog_bytes: int, listen: bool) -> None:
        if slow not in ("block", "spill", "leave"):
            raise InputError(f"join: `slow`: expected block, spill or leave, found `{slow}`")
        self.group = group
        self.name = group.sites[site]
        self.stat_slow_left = 0
        self._site = site
        self._inject = inject
        self._slow: Slow = slow
        self._backlog_bytes = backlog_bytes
        self._listens = listen
        self._turn_wanted = False
        self._started = False
        self._closed = False
        self._housekeeping: asyncio.TimerHandle | None = None
        self._leaving: asyncio.Task[None] | None = None  # waits for the application to fall behind
        self._loop: asyncio.AbstractEventLoop
        self._opened: Opened
        self._outgoing: Outgoing
        self._incoming: Incoming
        self._driver: Driver
        self._status: StatusServer

    @property
    def view(self) -> View | None:
        """The last view installed since the start."""
        return self._incoming.view if self._started else None

    # Life

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.leave()
        else:
            await self.close()

    async def _start(self) -> Self:
        group = self.group
        self._loop = asyncio.get_running_loop()
        opened = await open_member(group, self._site, self._inject)
        log = opened.log
        self._opened = opened
        self._outgoing = Outgoing(len(group.groups), log.next_number)
        backlog = Backlog(self._backlog_bytes, self._slow, log.frames)
        self._incoming = Incoming(backlog, Naming(group), self._listens, self._slow)
        self._driver = Driver(
            group, self._site, self._loop, opened.wire, log, opened.journal, self._outgoing, self._incoming
        )
        self._driver.closed_files.needed = self._incoming.needed
        self._started = True
        self._status = StatusServer(self, opened.folder)
        await self._status.start(group.metrics)
        self._driver.start()
        if self._slow == "leave":
            self._leaving = self._loop.create_task(self._leave_when_behind())
        self._keep_house()
        return self

    def _keep_house(self) -> None:
        if self._opened.sessions.has_changed():
            self._loop.run_in_executor(None, self._opened.sessions.save)
        self._housekeeping = self._loop.call_later(HOUSEKEEPING_SECONDS, self._keep_house)

    async def leave(self) -> None:
        """Leave in order: what was broadcast is ordered first; then the group goes on without this member."""
        if self._closed:
            return
        deadline = self._loop.time() + LEAVE_SECONDS_MAX
        while self._error() is None and self._loop.time() < deadline and not self._is_done():
            await self._incoming.wait_changed(0.02)
        if self._error() is None and self.group.protocol.assumptions.leaves:
            self._driver.leave()
            while self._error() is None and self._loop.time() < deadline and self._is_member():
                await self._incoming.wait_changed(0.05)
        await self._close(left=True)

    async def _leave_when_behind(self) -> None:
        await self._incoming.fell_behind.wait()
        self.stat_slow_left = 1
        _log.warning("%s: the application is too slow; leaving the group as asked", self.name)
        await self.leave()

    def _error(self) -> TocsinError | None:
        return self._driver.failed

    def _is_done(self) -> bool:
        outgoing = self._outgoing
        return outgoing.receipts.outstanding == 0 and not outgoing.queued() and self._driver.machine.quiet()

    def _is_member(self) -> bool:
        return self.view is None or self.name in self.view.members

    async def close(self) -> None:
        """Stop at once, as a crash would, but with everything written; a later `join` goes on from here."""
        await self._close(left=False)

    async def _close(self, left: bool) -> None:
        if self._closed:
            return
        self._closed = True
        if self._housekeeping is not None:
            self._housekeeping.cancel()
        if self._leaving is not None and self._leaving is not asyncio.current_task():
            self._leaving.cancel()
        await self._status.stop()
        try:
            await self._driver.stop(left)
            if self._driver.failed is None and self._opened.sessions.has_changed():
                self._opened.sessions.save()
        finally:
            self._outgoing.give_up()
            self._incoming.end()
            self._opened.unlock()

    async def ready(self, seconds: float = 10.0) -> None:
        """Wait until this member is in a primary view, or (with a protocol that has no views) has heard from a peer."""
        deadline = self._loop.time() + seconds
        wire = self._opened.wire
        while not self._is_ready():
            self._check_open()
            if self._loop.time() >= deadline:
                if wire.drops().get("key", 0) and not wire.stat_packets_received:
                    raise KeyMismatch(
                        f"`{self.name}`: members answer under another key; give all the same {self.group.key_file}"
                    )
                raise NotPrimary(f"`{self.name}`: no majority of the group answered within {seconds:g} s")
            await self._incoming.wait_changed(0.01)

    def _is_ready(self) -> bool:
        if self.view is not None or self.group.protocol.has_views:
            return self.view is not None and self.view.primary and self.name in self.view.members
        return len(self.group.sites) == 1 or self._opened.wire.stat_packets_received > 0

    # Sending

    async def broadcast(self, payload: bytes, group: str | None = None, reach: float | None = None) -> Receipt:
        """Broadcast a message (up to 64 MiB); waits only for room in the queue.

        `reach`, with a protocol that plans it (`reliability_tree`): the wanted probability that everybody gets the
        message, which must then fit a frame. The receipt's `reach` is what is promised; what cannot be promised within
        the budget of messages is refused, by an `InputError` that says why."""
        number = self._check(len(payload), group)
        if reach is not None:
            return await self._broadcast_reaching(bytes(payload), number, reach)
        return await self._put(number, [bytes(payload)], len(payload))

    async def broadcast_many(self, payloads: list[bytes], group: str | None = None) -> Receipt:
        """Broadcast messages one after the other; the receipt is that of the last. For volume."""
        if not payloads:
            raise InputError("broadcast_many: expected at least one message, found none")
        sizes = list(map(len, payloads))
        number = self._check(max(sizes), group)
        return await self._put(number, payloads, sum(sizes))

    async def _put(self, group: int, messages: list[bytes], size: int) -> Receipt:
        while self._outgoing.is_full():
            await self._outgoing.wait_for_room()
            self._check_open()
        receipt = Receipt(self._driver.commits.sync)
        self._outgoing.put(group, messages, size, receipt)
        self._want_turn()
        return receipt

    async def _broadcast_reaching(self, message: bytes, group: int, reach: float) -> Receipt:
        if not self.group.protocol.plans_reach:
            raise InputError(f"broadcast: `reach`: {self.group.protocol.name} does not plan it; see reliability_tree")
        if len(message) > REACHING_BYTES_MAX:
            raise TooLarge(f"broadcast: expected at most {REACHING_BYTES_MAX} bytes with `reach`, found {len(message)}")
        while self._driver.machine.room() <= 0:
            await self._incoming.wait_changed(ROOM_LOOK_SECONDS)
            self._check_open()
        receipt = Receipt(self._driver.commits.sync)
        receipt.reach = self._driver.broadcast_reaching(group, message, reach, receipt)
        self._check_open()
        return receipt

    def _check(self, size: int, group: str | None) -> int:
        if size > MESSAGE_BYTES_MAX:
            raise TooLarge(f"broadcast: expected at most {MESSAGE_BYTES_MAX} bytes, found {size}")
        self._check_open()
        if self.view is not None and not self.view.primary:
            raise NotPrimary(
                f"`{self.name}` is cut off from the majority of the group; nothing can be ordered here now"
            )
        return 0 if group is None else self.group.group_id(group)

    def _check_open(self) -> None:
        error = self._error()
        if error is not None:
            raise error
        if self._closed:
            raise Closed(f"`{self.name}` has left the group")

    def _want_turn(self) -> None:
        """Pack what this turn of the loop has queued, once, at its end."""
        if not self._turn_wanted:
            self._turn_wanted = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_wanted = False
        self._driver.end_turn()

    # Hearing

    async def batches(self) -> AsyncIterator[BatchEvent]:
        """Everything in one order, deliveries in batches: for volume. Ends when the member has left."""
        backlog = self._incoming.backlog
        while True:
            while len(backlog):
                events = self._incoming.take()
                self._driver.maybe_go_on()
                for event in events:
                    yield event
            error = self._error()
            if error is not None:
                raise error
            if self._closed:
                return
            await backlog.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for event in self.batches():
            if isinstance(event, Batch):
                for delivery in event.deliveries():
                    yield delivery
            else:
                yield event

    # Operations

    def status(self) -> dict[str, Any]:
        """What `tocsin status` shows."""
        return status_of(self.group, self.name, self._driver, self._outgoing, self._incoming, self.stat_slow_left)

    def inject(self, faults: str) -> None:
        """Change the injected faults; "" heals everything."""
        self._opened.wire.injector.configure(faults)

    def reload_keys(self) -> None:
        """Read the key file again: the first key seals from now on, all open."""
        if self.group.key_file is not None:
            self._opened.replace_keys(read_keys(self.group.key_file))
