"""Behind the write-ahead log: closed files become Arrow files, beside the work; then what nobody needs is let go of."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tocsin.core.machine import GroupId
from tocsin.live.errors import StorageFailed
from tocsin.live.storage.archive import Archive
from tocsin.live.storage.log import Log


class Keeper:
    """One file at a time, in a thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log: Log,
        archive: Archive | None,
        fail: Callable[[StorageFailed], None],
    ) -> None:
        self.archive = archive
        self.trimmed: dict[GroupId, int] = {}  # as the protocol said: it needs no frame below
        self.needed: Callable[[GroupId], int] | None = None  # frames that the application has still to read
        self._loop = loop
        self._log = log
        self._fail = fail
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="tocsin-archive")
        self._busy = False
        self._closed = False

    def look(self) -> None:
        """Start on the next closed file, or let go of those that are done."""
        closed = self._log.closed()
        if not closed or self._busy or self._closed:
            return
        if self.archive is None:
            self._let_go(closed[-1] + 1)
            return
        todo = [file for file in closed if file >= self.archive.archived]
        if not todo:
            self._let_go(self.archive.archived)
            return
        self._busy = True
        future = self._loop.run_in_executor(self._executor, self.archive.add, todo[0])
        future.add_done_callback(self._on_done)

    def _on_done(self, future: "asyncio.Future[None]") -> None:
        self._busy = False
        error = future.exception()
        if error is not None:
            self._fail(StorageFailed(f"the journal cannot be written: {error}"))
        else:
            self.look()

    def _let_go(self, archived: int) -> None:
        needed: list[int] = []
        for group, index in enumerate(self._log.frames.groups):
            below = min(self.trimmed.get(group, 0), min(index.unfinished.values(), default=index.end))
            needed.append(below if self.needed is None else min(below, self.needed(group)))
        self._log.release(needed, archived)

    async def finish(self, whole: bool) -> None:
        """The member stops; with `whole`, everything in the log goes to the journal first."""
        self._closed = True
        await self._loop.run_in_executor(self._executor, int)  # what is under way is finished
        if whole and self.archive is not None:
            for file in [*self._log.closed(), self._log.file]:
                if file >= self.archive.archived:
                    await self._loop.run_in_executor(self._executor, self.archive.add, file)
        self._executor.shutdown()
