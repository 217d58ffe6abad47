"""A replicated state, live: what a Python developer meets.

async with tocsin.replicate("orders.toml", "a", Ledger()) as replica:
    answer = await replica.call(b"...")
    await replica.sync()
    replica.state
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from tocsin.core.errors import InputError, TocsinError
from tocsin.live.errors import Closed, NotPrimary, NotSupported, TimedOut, Unknown
from tocsin.live.events import Batch, BatchEvent, Missed, View
from tocsin.live.group_config import Group
from tocsin.live.joining import join
from tocsin.live.member import Member
from tocsin.protocols.protocol import Protocol
from tocsin.state.core import Core
from tocsin.state.past import Past, read_past
from tocsin.state.snapshot_files import SnapshotFiles
from tocsin.state.states import AnyState

_log = logging.getLogger("tocsin.state")

SNAPSHOT_EVERY: Final = 100_000  # positions
LOOK_SECONDS: Final = 0.05  # how often who is cut off looks whether it is not any more
FETCH_SECONDS: Final = 1.0  # without progress; then another member is asked for the state

StateKind = TypeVar("StateKind", bound=AnyState)


def check_supported(protocol: Protocol, what: str) -> None:
    """State needs one order for all that is never taken back."""
    if not protocol.has_common_order():
        raise NotSupported(
            f"{what}: {protocol.name} has no order that is common and never taken back; see counter_token"
        )


def replicate(
    group: str | Path | Group, site: str, state: StateKind, *, snapshot_every: int = SNAPSHOT_EVERY
) -> "Replica[StateKind]":
    """This site's replica of a state, to be used by `async with`. `state`: an object with `apply`, `snapshot` and
    `restore` (see `tocsin.state.states.State`), in the state in which the group began; every member has the same class.
    """
    if snapshot_every < 1:
        raise InputError(f"replicate: `snapshot_every`: expected at least 1, found {snapshot_every}")
    return Replica(join(group, site), state, snapshot_every)


class Replica(Generic[StateKind]):
    """See `replicate`. All methods belong to the event loop in which it was started."""

    def __init__(self, member: Member, state: StateKind, snapshot_every: int) -> None:
        check_supported(member.group.protocol, "replicate")
        self.member = member
        self.state = state
        session = int.from_bytes(os.urandom(7), "big") + 1
        self._group = member.group.group_names[0]
        self._core = Core(member.name, session, state, snapshot_every)
        self._files = SnapshotFiles(member.group.site_dir(member.group.site(member.name)))
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._changed = asyncio.Event()  # the core has something to say, or something came: look again
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: BaseException | None = None
        self._is_open = False
        self._ending: asyncio.Future[None]  # done when the replica is closed or has failed

    @property
    def position(self) -> int:
        """Of the next message of the order: everything before it is in the state."""
        return self._core.position

    @property
    def life(self) -> int:
        """Of this site, as the order says it; 0 while it has none."""
        return self._core.life

    # Life

    async def __aenter__(self) -> Self:
        self._ending = asyncio.get_running_loop().create_future()
        self.member.on_opened = self._load
        self.member.on_status = self.status
        await self.member
        self._is_open = True
        for work in (self._read(), self._send(), self._fetch()):
            self._tasks.append(asyncio.create_task(self._run(work)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        self._core.stop()
        try:
            await (self.member.leave() if kind is None else self.member.close())
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._give_up(Unknown("the replica was closed before the answer came: the call may count, or not"))

    def status(self) -> dict[str, Any]:
        """How the state stands, for `tocsin status`: numbers only."""
        core = self._core
        return {
            "position": core.position,
            "life": core.life,
            "applied": core.stat_applied,
            "repeats": core.stat_repeats,
            "whole": core.is_whole(),
            "fetched_bytes": max(core.fetched(), 0),
            "waiting": len(self._waiting),
            "snapshot_position": max(self._files.positions(), default=-1),
        }

    async def _load(self) -> None:
        """From the newest snapshot here, and what was delivered here since; what the member hears comes after that."""
        loop = asyncio.get_running_loop()
        image = await loop.run_in_executor(None, self._files.newest)
        if image is not None:
            self._core.restore(image.data)
        site_dir = self.member.group.site_dir(self.member.group.site(self.member.name))
        past = read_past(site_dir, self._group, self._core.position)
        while (part := await loop.run_in_executor(None, _next, past)) is not None:
            for position, origin, payload in part:
                self._core.on_entry(position, origin, payload)
            await self._keep_images()
        self._core.start()
        self._changed.set()

    async def _run(self, work: Any) -> None:
        """A part of the replica's work, whose failure is the end of the replica."""
        try:
            await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if self._failed is None:
                self._failed = error
                if not isinstance(error, TocsinError):
                    _log.error("%s: a fault in the replica; it stops", self.member.name, exc_info=error)
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
        self._waiting = {}
        if not self._ending.done():
            self._ending.set_result(None)

    # The application's side

    async def call(self, command: bytes, timeout: float | None = None) -> bytes:
        """Apply a command at every member, in one order; what `apply` answered here, or raised. It counts once. After
        `TimedOut` it may still come to count; after `Unknown` it may have."""
        _check_type(command)
        async with self.bounded(timeout, "the answer to a call"):
            await self._room()
            return await self._answer(self._core.call(bytes(command), time.time_ns() // 1000))

    def call_later(self, command: bytes) -> None:
        """As `call`, and nobody waits for the answer; nothing if the replica is closed."""
        if self._is_open and self._failed is None:
            self._core.call(command, time.time_ns() // 1000)
            self._changed.set()

    async def sync(self, timeout: float | None = None) -> None:
        """Afterwards the state here has every call that was completed before, at any member."""
        async with self.bounded(timeout, "the state to be as new as the group's"):
            await self._room()
            await self._answer(self._core.sync())

    @asynccontextmanager
    async def bounded(self, seconds: float | None, what: str) -> AsyncIterator[None]:
        """What is done within may take so long; TimedOut says what has not come."""
        self._check_open()
        clock = asyncio.timeout(seconds)
        try:
            async with clock:
                yield
        except TimeoutError:
            if not clock.expired():
                raise  # an answer
            raise TimedOut(f"`{self.member.name}`: {what} has not come within {seconds:g} s{self._why()}") from None

    def _why(self) -> str:
        """What is waited for, as far as it is known."""
        if not self._core.is_whole():
            return ": the state has not come yet from another member"
        missing = "; ".join(f"{name}: {reason}" for name, reason in self.member.missing().items())
        return f" ({missing})" if missing else ""

    async def wait(self, told: "asyncio.Future[None]") -> None:
        """Wait for something that is told here; who waits hears, too, that the replica has ended."""
        await asyncio.wait([told, self._ending], return_when=asyncio.FIRST_COMPLETED)
        self._check_open()

    async def _room(self) -> None:
        while not self._core.has_room():
            if self._waiting:
                waiting = list(self._waiting.values())
                await asyncio.wait(waiting, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            else:  # those who called have given up waiting, and their calls are still under way
                await asyncio.sleep(LOOK_SECONDS)
            self._check_open()

    async def _answer(self, number: int) -> bytes:
        waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._changed.set()
        try:
            return await waiting
        finally:
            self._waiting.pop(number, None)

    def _check_open(self) -> None:
        if self._failed is not None:
            raise self._failed
        if not self._is_open:
            raise Closed(f"`{self.member.name}`: not open: use `async with` around the replica")

    # The group's side

    async def _read(self) -> None:
        async for event in self.member.batches():
            self._on_event(event)
            for answer in self._core.answers:
                self._on_answer(answer.number, answer.value, answer.error, answer.position)
            self._core.answers.clear()
            for line in self._core.told:
                _log.warning("%s: %s", self.member.name, line)
            self._core.told.clear()
            await self._keep_images()
            self._changed.set()

    def _on_event(self, event: BatchEvent) -> None:
        if isinstance(event, Batch) and event.group == self._group:
            for index, payload in enumerate(event.payloads):
                self._core.on_entry(event.position + index, event.origin, payload)
        elif isinstance(event, View) and event.primary:
            self._core.on_view(event.members)
        elif isinstance(event, Missed) and event.group == self._group:
            self._core.on_missed()

    def _on_answer(self, number: int, value: bytes, error: Exception | None, position: int) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if position < 0:
            waiting.set_exception(Unknown("the call counted while this member was away; its answer is not known here"))
        elif error is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(value)

    async def _keep_images(self) -> None:
        if self._core.images:
            image = self._core.images[-1]
            self._core.images.clear()
            await asyncio.get_running_loop().run_in_executor(None, self._files.write, image)

    async def _send(self) -> None:
        """What the core has to say, into the order; who is cut off waits."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._core.broadcasts:
                saying = self._core.broadcasts
                self._core.broadcasts = []
                try:
                    await self.member.broadcast_many(saying, self._group)
                except NotPrimary:
                    self._core.broadcasts = saying + self._core.broadcasts
                    await asyncio.sleep(LOOK_SECONDS)

    async def _fetch(self) -> None:
        """While the state is not here: ask again, another member each time."""
        while True:
            before = self._core.fetched()
            await asyncio.sleep(FETCH_SECONDS)
            if not self._core.is_whole() and self._core.fetched() == before:
                self._core.ask_again()
                self._changed.set()


def _next(past: Any) -> Past | None:
    return next(past, None)


def _check_type(command: object) -> None:
    if not isinstance(command, bytes | bytearray | memoryview):
        cure = "; encode it first: text.encode()" if isinstance(command, str) else ""
        raise InputError(f"call: expected bytes, found {type(command).__name__}{cure}")
