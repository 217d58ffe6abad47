"""A thread that turns the end of the member's log into rows as it grows, once for all who follow."""

import logging
import threading
from pathlib import Path
from typing import Final

from tocsin.core.errors import TocsinError
from tocsin.door.link import Link
from tocsin.door.rows import by_group, streamed, without_gaps
from tocsin.door.window import Window
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal_rows import RowMaker
from tocsin.live.storage.log_tail import LogTail

_log = logging.getLogger("tocsin.door")

AGAIN_SECONDS: Final = 0.2  # after which a tail that fell behind begins again
LOOK_SECONDS: Final = 0.02  # until what the member has told of is looked for again, where it was not found


class Tail:
    """Fills a window. `link` says when there is something new."""

    def __init__(self, folder: Path, link: Link, window: Window) -> None:
        self._folder = folder
        self._link = link
        self._window = window
        self._news = threading.Condition()
        self._count = 0  # of the times that something was added
        self._thread = threading.Thread(target=self._run, name="tocsin-door-tail", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def count(self) -> int:
        return self._count

    def wait(self, count: int, seconds: float) -> None:
        """Until something was added since `count`, at most so long."""
        with self._news:
            if self._count == count:
                self._news.wait(seconds)

    def _run(self) -> None:
        while not self._link.has_ended:
            try:
                self._follow()
            except (FileNotFoundError, TocsinError) as error:
                _log.info("the end of the log is read again: %s", error)
            except Exception:
                _log.exception("the end of the log cannot be read")
            self._window.clear()
            self._link.wait_told(self._link.told_count(), AGAIN_SECONDS)

    def _follow(self) -> None:
        tail = LogTail(self._folder / "wal")
        maker = RowMaker(read_identity(self._folder), tail.reader)
        try:
            while not self._link.has_ended:
                told, count = self._link.told().positions, self._link.told_count()
                self._take(tail, maker)
                behind = any(maker.positions().get(group, 0) < position for group, position in enumerate(told))
                self._link.wait_told(count, LOOK_SECONDS if behind else 1.0)
        finally:
            tail.close()

    def _take(self, tail: LogTail, maker: RowMaker) -> None:
        for noted in tail.news():
            maker.feed(noted)
            if maker.is_full():
                self._add(maker)
        self._add(maker)

    def _add(self, maker: RowMaker) -> None:
        added = False
        for batch in maker.take():
            for group, rows in by_group(streamed(batch)).items():
                for part in without_gaps(rows):
                    self._window.add(group, part)
                    added = True
        if added:
            with self._news:
                self._count += 1
                self._news.notify_all()
