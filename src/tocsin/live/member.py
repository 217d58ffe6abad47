"""A member of a live group: what a Python developer meets.

async with tocsin.join("orders.toml", "a") as member:
    receipt = await member.broadcast(b"hello")
    position = await receipt.ordered()
    async for event in member:
        ...
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Self

from tocsin.core.errors import InputError, TocsinError
from tocsin.live import forks
from tocsin.live.backlog import Backlog, Slow
from tocsin.live.broadcasting import Broadcasting
from tocsin.live.changing import change_group, groups_of, warn_of_changes
from tocsin.live.consuming import Consuming
from tocsin.live.driver import Driver
from tocsin.live.errors import Closed, Damaged, ProtocolFailed
from tocsin.live.events import BatchEvent, Event, View
from tocsin.live.group_config import Address, Group
from tocsin.live.incoming import Incoming
from tocsin.live.naming import Naming
from tocsin.live.opening import Opened, open_member
from tocsin.live.operations.services import Services
from tocsin.live.operations.status import scrub_status, status_of
from tocsin.live.outgoing import Outgoing
from tocsin.live.readiness import Readiness
from tocsin.live.reading import Batches, Events, Reading
from tocsin.live.receipts import Receipt
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.logged_frames import LoggedFrames
from tocsin.live.voters import Voters
from tocsin.live.wire.keys import read_keys

_log = logging.getLogger("tocsin.live")

LEAVE_SECONDS_MAX: Final = 10.0
DAMAGED_SECONDS: Final = 10.0  # for which a member with a damaged log looks for others, to begin anew


class Member:
    """See `joining.py`. All methods belong to the event loop in which the member was started."""

    def __init__(
        self,
        group: Group,
        site: int,
        inject: str,
        slow: Slow,
        backlog_bytes: int,
        listen: bool,
        consuming: Consuming,
        file_addresses: Sequence[Address] = (),
    ) -> None:
        if slow not in ("block", "spill", "leave"):
            raise InputError(f"join: `slow`: expected block, spill or leave, found `{slow}`")
        self.group = group
        self.name = group.sites[site]
        self.stat_slow_left = 0
        self._site = site
        self._inject = inject
        self._file_addresses = file_addresses
        self._slow: Slow = slow
        self._backlog_bytes = backlog_bytes
        self._listens = listen
        self._consuming = consuming
        self.on_opened: Callable[[], Awaitable[None]] | None = None  # waited for when log and journal stand still
        self._started = False
        self._closed = False
        self._leaving: asyncio.Task[None] | None = None  # waits for the application to fall behind
        self._closing: asyncio.Task[None] | None = None  # ends everything, once
        self._loop: asyncio.AbstractEventLoop
        self._opened: Opened
        self._outgoing: Outgoing
        self._incoming: Incoming
        self._reading: Reading
        self._readiness: Readiness
        self._broadcasting: Broadcasting
        self._driver: Driver | None = None  # until the others were asked
        self._beginning: asyncio.Task[None] | None = None  # asks them
        self._failed: TocsinError | None = None  # why there is no driver
        self._services: Services

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
        await (self.leave() if kind is None else self.close())

    async def _start(self) -> Self:
        if self._started:
            raise Closed(f"`{self.name}` was started before; call tocsin.join again for another life")
        group = self.group
        self._loop = asyncio.get_running_loop()
        opened = await open_member(group, self._site, self._inject, self._file_addresses)
        opened.on_reseated = self._on_reseated
        self._opened = opened
        self._outgoing = Outgoing(len(group.groups))
        backlog = Backlog(self._backlog_bytes, self._slow, LoggedFrames(len(group.groups), Disk()))
        self._naming = Naming(group)
        self._incoming = Incoming(backlog, self._naming, self._listens, self._slow)
        self._readiness = Readiness(group, self._site, opened.wire, self._incoming)
        self._reading = Reading(self._incoming, self._consuming, self._maybe_go_on, self._has_ended)
        self._broadcasting = Broadcasting(
            group, self.name, self._loop, self._outgoing, self._incoming, self._check_open
        )
        self._voters = Voters(group, self.name, opened, self._incoming, self._check_open)
        self._started = True
        self._services = Services(self, group, self.name)
        try:
            await self._services.start()
            self._beginning = self._loop.create_task(self._begin())
            if opened.damaged is not None:
                await self._begin_in_time(opened.damaged)
            elif opened.asking.needed == 0:
                await asyncio.shield(self._beginning)
        except BaseException:
            await self.close()  # nothing was sent or taken yet; lock, socket and files are free again
            raise
        if self._slow == "leave":
            self._leaving = self._loop.create_task(self._leave_when_behind())
        return self

    async def _begin(self) -> None:
        """Ask the others, then begin this life: with the folder as it is, or anew."""
        opened = self._opened
        try:
            beginning = await opened.ask()
            log = await self._loop.run_in_executor(None, opened.begin, beginning)
            if self.on_opened is not None:
                await self.on_opened()
            await self._loop.run_in_executor(None, self._consuming.open, log, opened.journal)
            self._incoming.backlog.must_not_hold = self._consuming.replays
        except asyncio.CancelledError:
            raise
        except TocsinError as error:
            self._failed = error
        except Exception as error:
            _log.exception("%s: cannot begin", self.name)
            self._failed = ProtocolFailed(f"`{self.name}` cannot begin: {type(error).__name__}: {error}")
        else:
            self._outgoing.begin(log.next_number)
            self._driver = Driver(self.group, self._site, self._loop, opened, log, self._outgoing, self._incoming)
            self._voters.begin(self._driver)
            self._broadcasting.begin(self._driver)
            self._driver.closed_files.needed = self._incoming.needed
            forks.register(self._driver.forbid)
            self._driver.start()
            warn_of_changes(self.group, self.name, self._driver)
            self._incoming.begin(log.frames)
            self._services.begin(self._broadcasting, self._incoming, log.producers)
            return
        self._outgoing.give_up()
        self._incoming.end()
        if opened.damaged is not None or opened.asking.needed == 0:
            raise self._failed

    def _on_reseated(self) -> None:
        opened = self._opened
        self.group, self._site = opened.group, opened.site
        self._voters.reseat(self.group)
        self._readiness = Readiness(self.group, self._site, opened.wire, self._incoming)

    async def _begin_in_time(self, damaged: Damaged) -> None:
        """A damaged folder is given up only where others are: alone, the member says what it would lose."""
        assert self._beginning is not None
        await asyncio.wait([self._beginning], timeout=DAMAGED_SECONDS)
        if not self._beginning.done():
            raise Damaged(
                f"{damaged}; with {self._opened.asking.needed} of the others it would begin anew, and nobody answered "
                f"within {DAMAGED_SECONDS:g} s",
                damaged.lost,
            )
        self._beginning.result()

    def _maybe_go_on(self) -> None:
        if self._driver is not None:
            self._driver.maybe_go_on()

    async def leave(self) -> None:
        """Leave in order: what was broadcast is ordered first; then the group goes on without this member."""
        if self._closed or not self._started:
            return
        await self._services.close_door()
        deadline = self._loop.time() + LEAVE_SECONDS_MAX
        while self._may_go_on(deadline) and not self._is_done():
            await self._incoming.wait_changed(0.02)
        if self._may_go_on(math.inf) and self.group.protocol.assumptions.leaves and self._driver is not None:
            self._driver.request(self._driver.machine.leave)
            while self._may_go_on(deadline) and self._is_member():
                await self._incoming.wait_changed(0.05)
        await self._close(left=True)

    def _may_go_on(self, deadline: float) -> bool:
        """Whether leaving in order still makes sense: nothing failed, and nobody has closed the member meanwhile."""
        return self._error() is None and not self._closed and self._loop.time() < deadline

    async def _leave_when_behind(self) -> None:
        await self._incoming.fell_behind.wait()
        self.stat_slow_left = 1
        _log.warning("%s: the application is too slow; leaving the group as asked", self.name)
        await self.leave()

    def _error(self) -> TocsinError | None:
        return self._failed if self._driver is None else self._driver.failed

    def _is_done(self) -> bool:
        members = groups_of(self.group, self._driver).values()
        here = [group for group, names in enumerate(members) if self.name in names]  # what is delivered here, too
        if self._outgoing.queued() or self._outgoing.receipts.awaits(here):
            return False
        return self._driver is None or not self._is_member() or self._driver.machine.quiet()

    def _is_member(self) -> bool:
        return self._readiness.takes_part() and (self.view is None or self.name in self.view.members)

    async def close(self) -> None:
        """Stop at once, as a crash would, but with everything written; a later `join` goes on from here."""
        if self._started:
            await self._close(left=False)

    async def _close(self, left: bool) -> None:
        """Once, to its end: who is cancelled while it waits for that, or calls again, leaves nothing half closed."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._end(left))
        await asyncio.shield(self._closing)

    async def _end(self, left: bool) -> None:
        self._closed = True
        if self._leaving is not None and not self._incoming.fell_behind.is_set():
            self._leaving.cancel()
        await self._services.stop()
        try:
            await self._stop(left)
        finally:
            self._outgoing.give_up()
            self._incoming.end()
            await self._consuming.close()
            self._opened.unlock()
            self._consuming.released.set()

    async def _stop(self, left: bool) -> None:
        if self._beginning is not None and self._driver is None:
            self._beginning.cancel()
            await asyncio.wait([self._beginning])
        if self._driver is not None:
            forks.forget(self._driver.forbid)
            await self._driver.stop(left)
        else:
            await self._loop.run_in_executor(None, self._opened.close_all)

    async def ready(self, seconds: float = 10.0) -> None:
        """Wait until this member is in a primary view, or (with a protocol that has no views) has heard from a peer."""
        self._check_open()
        deadline = self._loop.time() + seconds
        while self._driver is None or not self._readiness.takes_part():
            self._check_open()
            if self._loop.time() >= deadline:
                raise self._readiness.refusal(seconds)
            await self._incoming.wait_changed(0.01)

    def missing(self) -> dict[str, str]:
        """By name: the members that this one has not met since it started, and why, as far as is known."""
        self._check_started()
        return self._readiness.missing()

    # Sites that come and go

    async def add_site(self, name: str, address: str, timeout: float | None = None) -> None:
        """Add a site at `host:port`; when this returns, it may be started. It votes when it has everything."""
        await self._voters.change(self._check_started, "add", name, address, timeout)

    async def remove_site(self, name: str, timeout: float | None = None) -> None:
        """Remove a site for good; it may be away, and is told when it comes back."""
        await self._voters.change(self._check_started, "remove", name, "", timeout)

    async def move_site(self, name: str, address: str, timeout: float | None = None) -> None:
        """A site will be found elsewhere from now on; start it there."""
        await self._voters.change(self._check_started, "move", name, address, timeout)

    def ask_for_members(self, change: str, name: str, address: str) -> dict[str, Any]:
        return self._voters.answer(change, name, address)

    # Groups that change

    async def change_group(self, group: str, members: Iterable[str]) -> None:
        """Ask that a group of the file have these members from now on; none: it is disbanded, and can be made again. It
        is asked for durably, and comes about when a majority is there: a `View` with the group's name says so at its
        members, old and new."""
        self._check_started()
        if self._beginning is not None:
            await asyncio.shield(self._beginning)
        self.ask_for_group(group, members)

    def ask_for_group(self, group: str, members: Iterable[str]) -> None:
        """As `change_group`, of a member that has begun."""
        self._check_open()
        change_group(self.group, self._naming, self._driver, group, members)

    def groups(self) -> dict[str, list[str]]:
        """By name: the members as they were last decided, as far as is known here; else as the file says."""
        self._check_started()
        return groups_of(self.group, self._driver)

    # Sending

    async def broadcast(
        self,
        payload: bytes,
        group: str | None = None,
        producer: str | None = None,
        number: int | None = None,
        reach: float | None = None,
    ) -> Receipt:
        """Broadcast a message (up to 64 MiB); waits only for room in the queue.

        `producer` and `number`: however often it is sent, by whomever, it is delivered once; a producer's numbers grow.
        `reach`, with a protocol that plans it (`reliability_tree`): the wanted probability that everybody gets the
        message, which must then fit a frame. The receipt's `reach` is what is promised; what cannot be promised within
        the budget of messages is refused, by an `InputError` that says why."""
        self._check_started()
        return await self._broadcasting.broadcast(payload, group, reach, producer, number)

    async def broadcast_many(self, payloads: list[bytes], group: str | None = None) -> Receipt:
        """Broadcast messages one after the other; the receipt is that of the last. For volume."""
        self._check_started()
        return await self._broadcasting.broadcast_many(payloads, group)

    def _check_open(self) -> None:
        self._check_started()
        error = self._error()
        if error is not None:
            raise error
        if self._closed:
            raise Closed(f"`{self.name}` has left the group")

    # Hearing

    def batches(self) -> AsyncIterator[BatchEvent]:
        """Everything in one order, deliveries in batches: for volume. Ends when the member has left. What is not taken
        waits: for the next `async for`, here or over the member itself."""
        self._check_started()
        return Batches(self._reading)

    def __aiter__(self) -> AsyncIterator[Event]:
        self._check_started()
        return Events(self._reading)

    async def ack(self, event: BatchEvent | Event) -> None:
        """The consumer is done with this event and all before it; that is durable here when this returns."""
        self._check_started()
        await self._consuming.ack(event, None if self._driver is None else self._driver.commits.sync)

    def _has_ended(self) -> bool:
        error = self._error()
        if error is not None:
            raise error
        return self._closed

    def _check_started(self) -> None:
        if not self._started:
            raise Closed(f"`{self.name}` is not started: use `async with tocsin.join(...)`, or await what it gives")

    # Operations

    def status(self) -> dict[str, Any]:
        """What `tocsin status` shows."""
        told = status_of(self.group, self.name, self._opened, self._driver, self._outgoing, self._incoming)
        told["totals"]["slow_left"] = self.stat_slow_left
        told["failed"] = None if self._error() is None else str(self._error())
        return told | {"scrub": scrub_status(self._opened.scrubber), "door": self._services.door()}

    def inject(self, faults: str) -> None:
        """Change the injected faults; "" heals everything."""
        self._opened.wire.injector.configure(faults)

    def reload_keys(self) -> None:
        """Read the key file again: the first key seals from now on, all open."""
        if self.group.key_file is not None:
            self._opened.replace_keys(read_keys(self.group.key_file))
