"""Durable before visible: what steps make visible is let out when what they staged is in the log.

With `durability = "process"` a step that sends is written at once, by one call, and the rest at the end of the turn of
the loop. With `"disk"` the steps of a turn are written and synced by a thread, and later steps wait for the next sync:
group commit. So do, in both modes, steps that keep a record which is always synced. A disk that refuses is the member's
end: nothing more is acknowledged.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tocsin.live.errors import StorageFailed, Unknown
from tocsin.live.outlet import Outlet
from tocsin.live.staging import Staging, Visible
from tocsin.live.storage import log_format
from tocsin.live.storage.laid import Laid
from tocsin.live.storage.log import Log

STAGED_OPS_MAX: Final = 1024  # written before the end of the turn when more are staged
REST_SECONDS: Final = 0.1  # without a commit; then the last sync mark is made durable itself


class Commits:
    """One member's. What a thread brings about later comes to the owner as an input: `on_written` ends a turn of its
    own when a batch has reached the disk, `on_failed` says that the disk refused, `on_fault` that our code is at
    fault."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log: Log,
        waits_for_disk: bool,
        staging: Staging,
        outlet: Outlet,
        on_written: Callable[[], None],
        on_failed: Callable[[StorageFailed], None],
        on_fault: Callable[[Exception], None],
    ) -> None:
        self.stat_commits = 0
        self._loop = loop
        self._log = log
        self._waits_for_disk = waits_for_disk
        self._staging = staging
        self._outlet = outlet
        self._on_written = on_written
        self._on_failed = on_failed
        self._on_fault = on_fault
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="tocsin-disk")
        self._flying: asyncio.Future[None] | None = None  # a batch on its way to the disk
        self._syncing: asyncio.Task[None] | None = None
        self._sync_next: asyncio.Task[None] | None = None
        self._resting: asyncio.TimerHandle | None = None  # looks whether nothing is going on
        self._rested_at = 0  # commits when it was set
        self._failed = False  # nothing is let out any more
        self._finished = False  # nothing is sent any more

    def drop(self) -> None:
        """The member has failed: nothing becomes visible any more."""
        self._failed = True
        self._staging.drop()

    def _waits(self) -> bool:
        """Whether what is staged now becomes visible only after a sync."""
        return self._waits_for_disk or self._flying is not None or self._staging.must_sync

    def end_step(self) -> None:
        if self._waits():
            return
        staged = self._log.staged()
        if self._staging.sends:
            if staged:
                self._commit_now()
            else:
                self._release_now()
        elif staged > STAGED_OPS_MAX:
            self._commit_now()

    def end_turn(self) -> None:
        if self._waits():
            self._maybe_fly()
        elif self._log.staged():
            self._commit_now()
        elif self._staging.has_visible():
            self._release_now()

    def _commit_now(self) -> None:
        """Write what is staged, and let out what waits for it."""
        try:
            laid = self._log.layout()
            self._log.write(laid)
        except StorageFailed as error:
            self._on_failed(error)
            return
        self._release(laid, self._staging.take_visible())

    def _release_now(self) -> None:
        visible = self._staging.take_visible()
        self._outlet.send(visible)
        self._outlet.tell(visible, 0)  # a delivery waits for the log

    def _release(self, laid: Laid, visible: list[Visible]) -> None:
        if not self._finished:
            self._outlet.send(visible)  # first: others wait for it
        self._log.apply(laid)
        self.stat_commits += 1
        self._staging.on_applied()
        self._outlet.tell(visible, laid.batch.time_us)

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
            self._on_failed(error)
            return
        self._flying = asyncio.ensure_future(self._fly(laid, self._staging.take_visible()))

    async def _fly(self, laid: Laid, visible: list[Visible]) -> None:
        try:
            await self._loop.run_in_executor(self._executor, self._write_and_sync, laid)
        except StorageFailed as error:
            self._flying = None
            self._on_failed(error)
            return
        self._flying = None
        if not self._failed:
            try:
                self._release(laid, visible)
            except Exception as error:
                self._on_fault(error)
                return
            self._rest_later()
            self._on_written()

    def _rest_later(self) -> None:
        if self._resting is None and not self._finished:
            self._rested_at = self.stat_commits
            self._resting = self._loop.call_later(REST_SECONDS, self._maybe_rest)

    def _maybe_rest(self) -> None:
        self._resting = None
        if self._failed or self._finished:
            return
        if self._rested_at != self.stat_commits:
            self._rest_later()
        else:
            self._loop.run_in_executor(self._executor, self._log.rest).add_done_callback(self._on_rested)

    def settle(self) -> None:
        """What was in doubt is so no longer."""
        if not self._failed and not self._finished:
            self._loop.run_in_executor(self._executor, self._log.settle).add_done_callback(self._on_rested)

    def _on_rested(self, future: "asyncio.Future[None]") -> None:
        error = future.exception()
        if isinstance(error, StorageFailed):
            self._on_failed(error)

    def _write_and_sync(self, laid: Laid) -> None:
        self._log.write(laid)
        self._log.sync()

    async def sync(self) -> None:
        """Wait until everything visible now is safe from a power loss; many waiters share a sync. A member that has
        stopped in order has synced everything."""
        if self._failed:
            raise Unknown(
                "the member failed before its disk had this: it is delivered, but may not survive a power loss"
            )
        if self._waits_for_disk or self._finished:
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
            self._on_failed(error)
            raise

    async def finish(self, left: bool) -> None:
        """Nothing is sent any more; what is staged is written, told, and the end is noted."""
        self._finished = True
        if self._resting is not None:
            self._resting.cancel()
        if self._flying is not None:
            await asyncio.wait([self._flying])
        try:
            if not self._failed:
                self._log.stage(log_format.Stop(left))
                time_us = await self._loop.run_in_executor(self._executor, self._write_last)
                self._outlet.tell(self._staging.take_visible(), time_us)
        finally:
            self._executor.shutdown()

    def _write_last(self) -> int:
        """When it was laid out."""
        laid = self._log.layout()
        self._write_and_sync(laid)
        self._log.apply(laid)
        return laid.batch.time_us
