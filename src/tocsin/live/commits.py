"""Durable before visible: what steps make visible waits here until what they staged is in the write-ahead log.

With `durability = "process"` a step that sends is written at once, by one call, and the rest at the end of the turn of
the loop. With `"disk"` the steps of a turn are written and synced by a thread, and later steps wait for the next sync:
group commit. A disk that refuses is the owner's end: nothing more is acknowledged.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from tocsin.core.errors import TocsinError
from tocsin.live.errors import StorageFailed
from tocsin.live.happenings import Happening, Sending
from tocsin.live.storage import log_format
from tocsin.live.storage.log import Laid, Log

STAGED_OPS_MAX: Final = 1024  # written before the end of the turn when more are staged

Visible = Sending | Happening


class Owner(Protocol):
    """Whose steps they are."""

    failed: TocsinError | None

    def send_out(self, visible: list[Visible]) -> None: ...

    def on_applied(self) -> None: ...

    def tell(self, visible: list[Visible]) -> None: ...

    def on_turn_end(self) -> None: ...

    def fail(self, error: TocsinError) -> None: ...


class Commits:
    """One member's; the owner adds what its steps make visible, and says where steps and turns end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, log: Log, waits_for_disk: bool, owner: Owner) -> None:
        self.stat_commits = 0
        self._loop = loop
        self._log = log
        self._waits_for_disk = waits_for_disk
        self._owner = owner
        self._visible: list[Visible] = []  # waits for what is staged
        self._sends = 0  # of the entries of _visible
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="tocsin-disk")
        self._flying: asyncio.Future[None] | None = None  # a batch on its way to the disk
        self._syncing: asyncio.Task[None] | None = None
        self._sync_next: asyncio.Task[None] | None = None
        self._finished = False  # nothing is sent any more

    def add(self, item: Visible) -> None:
        self._visible.append(item)
        if isinstance(item, Sending):
            self._sends += 1

    def drop(self) -> None:
        """The owner has failed: nothing becomes visible any more."""
        self._visible = []
        self._log.drop_staged()

    def end_step(self) -> None:
        if self._waits_for_disk:
            return
        if self._sends and self._log.staged():
            self._commit_now()
        elif self._sends:
            self._release_now()
        elif self._log.staged() > STAGED_OPS_MAX:
            self._commit_now()

    def end_turn(self) -> None:
        if self._waits_for_disk:
            self._maybe_fly()
        elif self._log.staged():
            self._commit_now()
        elif self._visible:
            self._release_now()

    def _commit_now(self) -> None:
        """Write what is staged, and make visible what waits for it."""
        try:
            laid = self._log.layout()
            self._log.write(laid)
        except StorageFailed as error:
            self._owner.fail(error)
            return
        self._show(laid, self._take_visible())

    def _release_now(self) -> None:
        visible = self._take_visible()
        self._owner.send_out(visible)
        self._owner.tell(visible)

    def _take_visible(self) -> list[Visible]:
        visible = self._visible
        self._visible = []
        self._sends = 0
        return visible

    def _show(self, laid: Laid, visible: list[Visible]) -> None:
        if not self._finished:
            self._owner.send_out(visible)  # first: others wait for it
        self._log.apply(laid)
        self.stat_commits += 1
        self._owner.on_applied()
        self._owner.tell(visible)

    def _maybe_fly(self) -> None:
        """Send what is staged to the disk, if nothing is under way."""
        if self._flying is not None:
            return
        if not self._log.staged():
            self._release_now()
            return
        try:
            laid = self._log.layout()
        except StorageFailed as error:
            self._owner.fail(error)
            return
        self._flying = asyncio.ensure_future(self._fly(laid, self._take_visible()))

    async def _fly(self, laid: Laid, visible: list[Visible]) -> None:
        try:
            await self._loop.run_in_executor(self._executor, self._write_and_sync, laid)
        except StorageFailed as error:
            self._flying = None
            self._owner.fail(error)
            return
        self._flying = None
        if self._owner.failed is None:
            self._show(laid, visible)
            self._owner.on_turn_end()

    def _write_and_sync(self, laid: Laid) -> None:
        self._log.write(laid)
        self._log.sync()

    async def sync(self) -> None:
        """Wait until everything visible now is safe from a power loss; many waiters share a sync."""
        if self._waits_for_disk:
            return
        if self._sync_next is None:
            self._sync_next = asyncio.ensure_future(self._sync_after(self._syncing))
        await asyncio.shield(self._sync_next)

    async def _sync_after(self, running: "asyncio.Task[None] | None") -> None:
        if running is not None:
            await asyncio.wait([running])
        self._syncing = self._sync_next
        self._sync_next = None
        try:
            await self._loop.run_in_executor(self._executor, self._log.sync)
        except StorageFailed as error:
            self._owner.fail(error)
            raise

    async def finish(self, left: bool) -> None:
        """Nothing is sent any more; what is staged is written, told, and the end is noted."""
        self._finished = True
        if self._flying is not None:
            await asyncio.wait([self._flying])
        if self._owner.failed is None:
            self._log.stage(log_format.Stop(left))
            try:
                await self._loop.run_in_executor(self._executor, self._write_last)
                self._owner.tell(self._take_visible())
            except (StorageFailed, OSError) as error:
                self._owner.failed = error if isinstance(error, StorageFailed) else StorageFailed(str(error))
        self._executor.shutdown()

    def _write_last(self) -> None:
        laid = self._log.layout()
        self._write_and_sync(laid)
        self._log.apply(laid)
