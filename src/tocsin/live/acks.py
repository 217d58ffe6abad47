"""Acknowledgements of a consumer on their way to the disk: those that come while one is being synced share the next
sync."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from tocsin.live.storage.cursors import Cursor


class Acks:
    """One consumer's. `save` makes a cursor durable, in a thread of the executor, one at a time."""

    def __init__(self, save: Callable[[Cursor], None], executor: Executor) -> None:
        self.stat_syncs = 0
        self._save = save
        self._executor = executor
        self._wanted: Cursor | None = None  # the newest that no sync has taken yet
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None  # takes `_wanted` when `_running` is done

    async def put(self, cursor: Cursor) -> None:
        """Wait until this cursor, or a later one, is durable. StorageFailed if the disk refuses."""
        self._wanted = cursor
        if self._next is None:
            self._next = asyncio.ensure_future(self._write_after(self._running))
        await asyncio.shield(self._next)

    async def finish(self) -> None:
        """Wait for what is on its way."""
        left = [task for task in (self._running, self._next) if task is not None]
        if left:
            await asyncio.wait(left)

    async def _write_after(self, running: "asyncio.Task[None] | None") -> None:
        if running is not None:
            await asyncio.wait([running])
        cursor, self._wanted = self._wanted, None
        self._running, self._next = self._next, None
        assert cursor is not None
        self.stat_syncs += 1
        await asyncio.get_running_loop().run_in_executor(self._executor, self._save, cursor)
