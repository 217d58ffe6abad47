"""The journal's folder of one member: closed files of the log become Arrow files; old ones are dropped as the owner
wishes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tocsin.live.storage.journal_writer import JournalWriter


def journal_path(folder: Path, file: int) -> Path:
    return folder / f"{file:010d}.arrow"


def journal_files(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.arrow") if path.stem.isdigit())


class JournalFolder:
    """Written by the member that lives there."""

    def __init__(self, site_dir: Path, keep_bytes: int, keep_seconds: int) -> None:
        self.stat_dropped = 0  # Arrow files that retention has removed
        self._site_dir = site_dir
        self._folder = site_dir / "journal"
        self._keep_bytes = keep_bytes
        self._keep_seconds = keep_seconds
        self._writer: JournalWriter | None = None
        self._folder.mkdir(parents=True, exist_ok=True)
        for stray in self._folder.glob("*.arrow.part"):
            stray.unlink()
        files = journal_files(self._folder)
        self.next_file = files[-1] + 1 if files else 0  # the first file of the log that is not yet here

    def add(self, file: int) -> None:
        """Turn one closed file into an Arrow file; runs in a thread, one call at a time, in order."""
        if self._writer is None:
            from tocsin.live.storage.journal_writer import JournalWriter  # Arrow is heavy: not before a file is closed

            self._writer = JournalWriter(self._site_dir)
        self._writer.write(file)
        self.next_file = file + 1
        self.retain(time.time())

    def retain(self, now: float) -> None:
        """Drop the oldest files above the limits; the newest always stays."""
        files = journal_files(self._folder)
        sizes = {number: journal_path(self._folder, number).stat() for number in files}
        total = sum(stat.st_size for stat in sizes.values())
        for number in files[:-1]:
            too_old = 0 < self._keep_seconds < now - sizes[number].st_mtime
            if total <= self._keep_bytes and not too_old:
                return
            journal_path(self._folder, number).unlink()
            total -= sizes[number].st_size
            self.stat_dropped += 1
