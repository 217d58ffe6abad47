"""Closed files of the log: they become files of the journal, beside the work; then what nobody needs is let go of."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.machine import GroupId
from tocsin.live.errors import Damaged, StorageFailed
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.log import Log


class ClosedFiles:
    """One file at a time, in a thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log: Log,
        journal: JournalFolder | None,
        fail: Callable[[TocsinError], None],
    ) -> None:
        self.journal = journal  # None: the group's file says that no Arrow files are made
        self.needed: Callable[[GroupId], int] | None = None  # frames that the application has still to read
        self._loop = loop
        self._log = log
        self._fail = fail
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="tocsin-journal")
        self._trimmed: dict[GroupId, int] = {}  # by group: the protocol needs no frame below
        self._busy = False
        self._closed = False
        self._secured = -1  # the newest file whose beginning was made durable

    def trim(self, group: GroupId, position: int) -> None:
        """The protocol needs no frame of the group below this position."""
        self._trimmed[group] = max(position, self._trimmed.get(group, 0))

    def look(self) -> None:
        """Start on the next closed file, or let go of those that are done."""
        closed = self._log.closed()
        if not closed or self._busy or self._closed:
            return
        if self._secured < self._log.file:
            self._secured = self._log.file
            self._run(self._log.secure, self._secured)
            return
        if self.journal is None:
            self._let_go(closed[-1] + 1)
            return
        todo = [file for file in closed if file >= self.journal.next_file]
        if not todo:
            self._let_go(self.journal.next_file)
            return
        self._run(self.journal.add, todo[0])

    def _run(self, work: Callable[[Any], None], what: Any) -> None:
        self._busy = True
        future = self._loop.run_in_executor(self._executor, work, what)
        future.add_done_callback(self._on_done)

    def _on_done(self, future: "asyncio.Future[None]") -> None:
        self._busy = False
        error = future.exception()
        if error is not None:
            self._fail(_failed(error))
        else:
            self.look()

    def _let_go(self, before: int) -> None:
        needed: list[int] = []
        for group, index in enumerate(self._log.frames.groups):
            below = index.needed_from(self._trimmed.get(group, 0))
            needed.append(below if self.needed is None else min(below, self.needed(group)))
        gone = self._log.release(needed, before)
        if gone:
            self._run(self._log.recycle, gone)

    async def finish(self, whole: bool) -> None:
        """The member stops; with `whole`, everything in the log goes to the journal first."""
        self._closed = True
        await self._loop.run_in_executor(self._executor, int)  # what is under way is finished
        failure: TocsinError | None = (
            None  # raised outside of `except`: a compiled coroutine keeps what it raises there
        )
        try:
            if whole and self.journal is not None:
                for file in [*self._log.closed(), self._log.file]:
                    if file >= self.journal.next_file:
                        await self._loop.run_in_executor(self._executor, self.journal.add, file)
        except Exception as error:
            failure = _failed(error)
        self._executor.shutdown()
        if failure is not None:
            raise failure


def _failed(error: BaseException) -> TocsinError:
    if isinstance(error, (Damaged, StorageFailed)):
        return error
    return StorageFailed(f"the journal cannot be written: {error}")
