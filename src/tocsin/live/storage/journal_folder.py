"""The journal's folder of one member: closed files of the log become Arrow files; old ones are dropped as the owner
wishes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.live.storage.cursors import Cursor
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.holding import Place, held_places, is_behind
from tocsin.live.storage.journal_checks import check_path, read_check

if TYPE_CHECKING:
    from tocsin.live.storage.journal_writer import JournalWriter


def journal_path(folder: Path, file: int) -> Path:
    return folder / f"{file:010d}.arrow"


def journal_files(folder: Path, disk: Disk | None = None) -> list[int]:
    names = (Disk() if disk is None else disk).names(folder)
    return sorted(int(name[:-6]) for name in names if name.endswith(".arrow") and name[:-6].isdigit())


class JournalFolder:
    """Written by the member that lives there."""

    def __init__(
        self,
        site_dir: Path,
        keep_bytes: int,
        keep_seconds: int,
        disk: Disk | None = None,
        consumer_keep_bytes: int = 0,
        incarnation: bytes = b"",
    ) -> None:
        """`consumer_keep_bytes`: while all files together are not above this, what a consumer of this incarnation has
        not acknowledged is kept beyond the other limits."""
        self._disk = Disk() if disk is None else disk
        self.stat_dropped = 0  # Arrow files that retention has removed
        self._site_dir = site_dir
        self._folder = site_dir / "journal"
        self._keep_bytes = keep_bytes
        self._keep_seconds = keep_seconds
        self._consumer_keep_bytes = consumer_keep_bytes
        self._incarnation = incarnation
        self.acknowledged: dict[str, Cursor] = {}  # by consumer that runs now: what its disk has for sure
        self.others_places: Callable[[], list[Place]] = list  # of consumers that are not this member's own
        self._writer: JournalWriter | None = None
        self._disk.make_folder(self._folder)
        for name in self._disk.names(self._folder):
            if name.endswith(".part"):
                self._disk.remove(self._folder / name)
        files = journal_files(self._folder, self._disk)
        self.next_file = files[-1] + 1 if files else 0  # the first file of the log that is not yet here
        newest = read_check(self._disk, self._folder, files[-1]) if files else None
        self._ran_before_us = 0 if newest is None else newest.ran_us
        self._started_us = time.monotonic_ns() // 1000

    def add(self, file: int) -> None:
        """Turn one closed file into an Arrow file; runs in a thread, one call at a time, in order."""
        if self._writer is None:
            from tocsin.live.storage.journal_writer import JournalWriter  # Arrow is heavy: not before a file is closed

            self._writer = JournalWriter(self._site_dir, self._disk)
        self._writer.write(file, self._ran_us())
        self.next_file = file + 1
        self.retain()

    def _ran_us(self) -> int:
        """The journal's clock: how long the member ran, over all its lives. It never jumps."""
        return self._ran_before_us + time.monotonic_ns() // 1000 - self._started_us

    def retain(self) -> None:
        """Drop the oldest files above the limits, in their order, that no consumer holds back; the newest always
        stays."""
        files = journal_files(self._folder, self._disk)
        sizes = {number: self._size(journal_path(self._folder, number)) for number in files}
        total = sum(sizes.values())
        places: list[Place] | None = None  # of the consumers
        for number in files[:-1]:
            if total <= self._keep_bytes and not self._is_too_old(number):
                return
            if places is None:
                places = held_places(self._site_dir, self._incarnation, dict(self.acknowledged), self._disk)
                places += self.others_places()
            if total <= self._consumer_keep_bytes and self._is_needed(number, places):
                return
            self._disk.remove(journal_path(self._folder, number))
            if check_path(self._folder, number).name in self._disk.names(self._folder):
                self._disk.remove(check_path(self._folder, number))
            total -= sizes[number]
            self.stat_dropped += 1

    def _is_needed(self, file: int, places: list[Place]) -> bool:
        check = read_check(self._disk, self._folder, file)
        return not all(is_behind(None if check is None else check.ends, place) for place in places)

    def _size(self, path: Path) -> int:
        descriptor = self._disk.open_to_read(path)
        try:
            return self._disk.size(descriptor)
        finally:
            self._disk.close(descriptor)

    def _is_too_old(self, file: int) -> bool:
        check = read_check(self._disk, self._folder, file) if self._keep_seconds > 0 else None
        return check is not None and self._ran_us() - check.ran_us > self._keep_seconds * 1_000_000
