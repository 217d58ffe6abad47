"""A member of a live group: what a Python developer meets.

async with tocsin.join("orders.toml", "a") as member:
    receipt = await member.broadcast(b"hello")
    position = await receipt.ordered()
    async for event in member:
        ...
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tocsin.core.errors import InputError, TocsinError
from tocsin.live.backlog import Backlog, Slow
from tocsin.live.driver import Driver
from tocsin.live.errors import Closed, KeyMismatch, NotPrimary, TooLarge
from tocsin.live.events import Batch, BatchEvent, Event, View
from tocsin.live.frame_format import FRAME_BYTES, MESSAGE_BYTES_MAX, Numbers
from tocsin.live.group_config import Group, read_group
from tocsin.live.happenings import Delivered, Happening
from tocsin.live.naming import Naming
from tocsin.live.operations.status import StatusServer, status_of
from tocsin.live.receipts import Receipt, Receipts
from tocsin.live.storage import log_format
from tocsin.live.storage.identity import Identity, require_folder, take_lock, write_identity
from tocsin.live.storage.journal_folder import JournalFolder, journal_files
from tocsin.live.storage.log import Log
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.seal import Keyring
from tocsin.live.wire.sessions import Sessions
from tocsin.live.wire.wire import Wire

_log = logging.getLogger("tocsin.live")

QUEUE_BYTES_MAX: Final = 4 << 20  # broadcasts that wait for room in the protocol; above it `broadcast` waits
QUEUE_MESSAGES_MAX: Final = 100_000
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
        self._naming = Naming(group)
        self.view: View | None = None  # the last installed since the start
        self.stat_delivered = 0  # messages
        self.stat_broadcast = 0
        self.stat_slow_left = 0
        self._site = site
        self._inject = inject
        self._slow: Slow = slow
        self._backlog_bytes = backlog_bytes
        self._listens = listen
        self._receipts = Receipts(len(group.groups))
        self._room: list[asyncio.Future[None]] = []  # broadcasts that wait for room in the queue
        self._reaching: Receipt | None = None  # of the broadcast with a reach of its own that is being made
        self._turn_wanted = False
        self._closed = False
        self._error: TocsinError | None = None
        self._lock = -1
        self._housekeeping: asyncio.TimerHandle | None = None
        self._changed: list[asyncio.Future[None]] = []  # waiting for a view or the end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._wire: Wire
        self._driver: Driver
        self._backlog: Backlog
        self._sessions: Sessions
        self._status: StatusServer
        self._keyring: Keyring
        self._loop: asyncio.AbstractEventLoop

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
        keys = [] if group.key_file is None else read_keys(group.key_file)
        site_dir = group.site_dir(self._site)
        require_folder(site_dir)
        self._lock = await take_lock(site_dir)
        log: Log | None = None
        try:
            groups = {
                name: [group.sites[member] for member in members]
                for name, members in zip(group.group_names, group.groups, strict=True)
            }
            write_identity(
                site_dir,
                Identity(
                    group=group.name, protocol=group.protocol.name, site=self.name, sites=group.sites, groups=groups
                ),
            )
            log = await self._loop.run_in_executor(
                None,
                Log,
                site_dir / "wal",
                len(group.groups),
                group.journal.segment_bytes,
                group.journal.durability == "disk",
            )
            if log.cut_bytes:
                _log.warning("%s: cut %d bytes that a crash had torn", site_dir, log.cut_bytes)
            journal = None
            if group.journal.archive:
                journal = JournalFolder(site_dir, group.journal.keep_bytes, group.journal.keep_seconds)
            if log.file in journal_files(site_dir / "journal"):  # an Arrow file never changes: a new one begins
                log.close_file()
            self._sessions = Sessions(site_dir, group.sites)
            self._keyring = Keyring(group.identity(), keys)
            self._wire = Wire(group, self._site, self._loop, self._keyring, self._sessions.own, self._sessions.newest)
            self._wire.injector.configure(self._inject)
        except BaseException:
            if log is not None:
                log.close()
            os.close(self._lock)
            raise
        self._backlog = Backlog(self._backlog_bytes, self._slow, log.frames)
        self._driver = Driver(group, self._site, self._loop, self._wire, log, journal, self)
        self._driver.closed_files.needed = self._backlog.needed
        self._status = StatusServer(self, site_dir)
        await self._status.start(group.metrics)
        self._driver.start()
        self._keep_house()
        return self

    def _keep_house(self) -> None:
        if self._sessions.has_changed():
            self._loop.run_in_executor(None, self._sessions.save)
        self._housekeeping = self._loop.call_later(HOUSEKEEPING_SECONDS, self._keep_house)

    async def leave(self) -> None:
        """Leave in order: what was broadcast is ordered first; then the group goes on without this member."""
        if self._closed:
            return
        deadline = self._loop.time() + LEAVE_SECONDS_MAX
        while self._error is None and self._loop.time() < deadline and not self._is_done():
            await self._wait_changed(0.02)
        if self._error is None and self.group.protocol.assumptions.leaves:
            self._driver.leave()
            while self._error is None and self._loop.time() < deadline and self._is_member():
                await self._wait_changed(0.05)
        await self._close(left=True)

    def _is_done(self) -> bool:
        return self._receipts.outstanding == 0 and not self._queued() and self._driver.machine.quiet()

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
        await self._status.stop()
        await self._driver.stop(left)
        if self._driver.failed is None and self._sessions.has_changed():
            self._sessions.save()
        self._end(self._driver.failed)
        os.close(self._lock)

    def _end(self, error: TocsinError | None) -> None:
        if error is not None:
            self._error = error
        self._receipts.give_up()
        for waiting in self._room:
            if not waiting.done():
                waiting.set_result(None)
        self._room = []
        self._backlog.wake()
        self._wake_changed()

    # Sending

    async def broadcast(self, payload: bytes, group: str | None = None, reach: float | None = None) -> Receipt:
        """Broadcast a message (up to 64 MiB); waits only for room in the queue.

        `reach`, with a protocol that plans it (`reliability_tree`): the wanted probability that everybody gets the
        message, which must then fit a frame. The receipt's `reach` is what is promised; what cannot be promised within
        the budget of messages is refused, by an `InputError` that says why."""
        number = self._check(len(payload), group)
        if reach is not None:
            return await self._broadcast_reaching(payload, number, reach)
        while self._queue_is_full():
            await self._wait_for_room()
            self._check_open()
        receipt = Receipt(self._driver.commits.sync)
        self._driver.packers[number].put(bytes(payload))
        self._receipts.put(number, receipt, 1)
        self.stat_broadcast += 1
        self._want_turn()
        return receipt

    async def _broadcast_reaching(self, payload: bytes, number: int, reach: float) -> Receipt:
        if not self.group.protocol.plans_reach:
            raise InputError(f"broadcast: `reach`: {self.group.protocol.name} does not plan it; see reliability_tree")
        if len(payload) > REACHING_BYTES_MAX:
            raise TooLarge(f"broadcast: expected at most {REACHING_BYTES_MAX} bytes with `reach`, found {len(payload)}")
        while self._driver.machine.room() <= 0:
            await self._wait_changed(ROOM_LOOK_SECONDS)
            self._check_open()
        receipt = Receipt(self._driver.commits.sync)
        self._reaching = receipt
        try:
            receipt.reach = self._driver.broadcast_reaching(number, bytes(payload), reach)
        finally:
            self._reaching = None
        self.stat_broadcast += 1
        self._check_open()
        return receipt

    async def broadcast_many(self, payloads: list[bytes], group: str | None = None) -> Receipt:
        """Broadcast messages one after the other; the receipt is that of the last. For volume."""
        if not payloads:
            raise InputError("broadcast_many: expected at least one message, found none")
        sizes = list(map(len, payloads))
        number = self._check(max(sizes), group)
        while self._queue_is_full():
            await self._wait_for_room()
            self._check_open()
        receipt = Receipt(self._driver.commits.sync)
        self._driver.packers[number].put_many(payloads, sum(sizes))
        self._receipts.put(number, receipt, len(payloads))
        self.stat_broadcast += len(payloads)
        self._want_turn()
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
        if self._error is not None:
            raise self._error
        if self._closed:
            raise Closed(f"`{self.name}` has left the group")

    def _queued(self) -> int:
        return sum(len(packer) for packer in self._driver.packers)

    def _queue_is_full(self) -> bool:
        packers = self._driver.packers
        return sum(packer.queued_bytes for packer in packers) >= QUEUE_BYTES_MAX or self._queued() >= QUEUE_MESSAGES_MAX

    async def _wait_for_room(self) -> None:
        waiting: asyncio.Future[None] = self._loop.create_future()
        self._room.append(waiting)
        await waiting

    def _want_turn(self) -> None:
        """Pack what this turn of the loop has queued, once, at its end."""
        if not self._turn_wanted:
            self._turn_wanted = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_wanted = False
        self._driver.on_turn_end()

    # What the driver says

    def on_broadcast(self, group: int, frame: int, numbers: Numbers) -> None:
        if self._reaching is not None:
            self._receipts.put_frame(group, frame, self._reaching)
            self._reaching = None
            return
        self._receipts.on_broadcast(group, frame, numbers)
        if self._room and not self._queue_is_full():
            for waiting in self._room:
                if not waiting.done():
                    waiting.set_result(None)
            self._room = []

    def on_happening(self, happening: Happening) -> None:
        if isinstance(happening, Delivered):
            self.stat_delivered += len(happening.payloads)
            if happening.origin == self._site and happening.payloads:
                self._receipts.on_own_delivery(happening.group, happening.frame, happening.position)
        elif isinstance(happening, log_format.View):
            self.view = self._naming.view(happening)
            self._wake_changed()
        if self._listens:
            self._backlog.put(happening)

    def on_visible_end(self) -> None:
        self._backlog.wake()
        if self._backlog.is_over and not self._closed:
            self._fall_behind()

    def _fall_behind(self) -> None:
        if self._slow == "leave":
            if not self.stat_slow_left:
                self.stat_slow_left = 1
                _log.warning("%s: the application is too slow; leaving the group as asked", self.name)
                task = self._loop.create_task(self.leave())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        else:
            self._backlog.stat_blocked += 1
            self._driver.hold()

    def on_failed(self, error: TocsinError) -> None:
        _log.error("%s: %s", self.name, error)
        self._end(error)

    async def _wait_changed(self, seconds: float) -> None:
        waiting: asyncio.Future[None] = self._loop.create_future()
        self._changed.append(waiting)
        await asyncio.wait([waiting], timeout=seconds)
        if waiting in self._changed:
            self._changed.remove(waiting)

    def _wake_changed(self) -> None:
        for waiting in self._changed:
            if not waiting.done():
                waiting.set_result(None)
        self._changed = []

    async def ready(self, seconds: float = 10.0) -> None:
        """Wait until this member is in a primary view, or (with a protocol that has no views) has heard from a peer."""
        deadline = self._loop.time() + seconds
        while not self._is_ready():
            self._check_open()
            if self._loop.time() >= deadline:
                if self._wire.drops.get("key", 0) and not self._wire.stat_packets_received:
                    raise KeyMismatch(
                        f"`{self.name}`: members answer under another key; give all the same {self.group.key_file}"
                    )
                raise NotPrimary(f"`{self.name}`: no majority of the group answered within {seconds:g} s")
            await self._wait_changed(0.01)

    def _is_ready(self) -> bool:
        if self.view is not None or self.group.protocol.has_views:
            return self.view is not None and self.view.primary and self.name in self.view.members
        return len(self.group.sites) == 1 or self._wire.stat_packets_received > 0

    # Hearing

    async def batches(self) -> AsyncIterator[BatchEvent]:
        """Everything in one order, deliveries in batches: for volume. Ends when the member has left."""
        while True:
            while len(self._backlog):
                item = self._backlog.take()
                if not self._backlog.is_over:
                    self._driver.go_on()
                for event in self._naming.events(item):
                    yield event
            if self._error is not None:
                raise self._error
            if self._closed:
                return
            await self._backlog.wait()

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
        return status_of(self)

    def inject(self, faults: str) -> None:
        """Change the injected faults; "" heals everything."""
        self._wire.injector.configure(faults)

    def reload_keys(self) -> None:
        """Read the key file again: the first key seals from now on, all open."""
        if self.group.key_file is not None:
            self._keyring.replace(read_keys(self.group.key_file))
            self._wire.sealer.rekey()
