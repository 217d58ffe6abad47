"""Closed files of the write-ahead log become Arrow files of the journal; old ones are dropped as the owner wishes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tocsin.live.storage.arrow_files import ArrowFiles


def journal_path(folder: Path, file: int) -> Path:
    return folder / f"{file:010d}.arrow"


def journal_files(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.arrow") if path.stem.isdigit())


class Archive:
    """The journal's folder of one member."""

    def __init__(
        self, site_dir: Path, sites: tuple[str, ...], group_names: tuple[str, ...], site: int, keep: tuple[int, int]
    ) -> None:
        self.folder = site_dir / "journal"
        self.stat_dropped = 0  # Arrow files that retention has removed
        self._wal_folder = site_dir / "wal"
        self._keep_bytes, self._keep_seconds = keep
        self._names = (sites, group_names, site)
        self._files: ArrowFiles | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        for stray in self.folder.glob("*.arrow.part"):
            stray.unlink()
        files = journal_files(self.folder)
        self.archived = files[-1] + 1 if files else 0  # the first file of the log that is not yet here

    def add(self, file: int) -> None:
        """Turn one closed file into an Arrow file; runs in a thread, one call at a time, in order."""
        if self._files is None:
            from tocsin.live.storage.arrow_files import ArrowFiles  # Arrow is heavy: not before a file is closed

            self._files = ArrowFiles(self._wal_folder, *self._names)
        self._files.write(file, journal_path(self.folder, file))
        self.archived = file + 1
        self.retain(time.time())

    def retain(self, now: float) -> None:
        """Drop the oldest files above the limits; the newest always stays."""
        files = journal_files(self.folder)
        sizes = {number: journal_path(self.folder, number).stat() for number in files}
        total = sum(stat.st_size for stat in sizes.values())
        for number in files[:-1]:
            too_old = 0 < self._keep_seconds < now - sizes[number].st_mtime
            if total <= self._keep_bytes and not too_old:
                return
            journal_path(self.folder, number).unlink()
            total -= sizes[number].st_size
            self.stat_dropped += 1
