"""Reads everything that a member has on its disk, and checks it: damage is found before it is needed.

`tocsin scrub DATA` does it at once; a running member does it slowly, all the time, in a thread (`Scrubber`). What was
read lately is read from the disk, not from the system's memory. Nothing is changed.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tocsin.core.errors import InputError
from tocsin.live.errors import Damaged
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import log_path
from tocsin.live.storage.file_walk import log_files, read_header
from tocsin.live.storage.identity import is_running, read_identity
from tocsin.live.storage.journal_checks import read_check, require_intact
from tocsin.live.storage.journal_folder import journal_files, journal_path
from tocsin.live.storage.log_format import FileHeader
from tocsin.live.storage.marks import NAME, read_marks
from tocsin.live.storage.recovery import Recovered, State, recover

_log = logging.getLogger("tocsin.live")

TRIES_MAX: Final = 5  # of a log whose files come and go meanwhile
FIRST_SECONDS: Final = 60.0  # after a member's start
REST_SECONDS: Final = 600.0  # between two passes over a small folder
FOUND_MAX: Final = 1000  # findings that a member remembers


class Finding(msgspec.Struct, frozen=True):
    file: str
    offset: int
    what: str

    def line(self) -> str:
        return f"{self.file}: offset {self.offset}: {self.what}"


class Scrubbed(msgspec.Struct):
    """What a pass has read."""

    files: int = 0
    bytes: int = 0
    damaged: list[Finding] = []


class ReadingDisk(Disk):
    """Counts what is read, from the disk itself; and, with a rate, waits in between."""

    def __init__(self, bytes_per_s: int = 0, wait: Callable[[float], None] = time.sleep) -> None:
        self.bytes = 0
        self._bytes_per_s = bytes_per_s
        self._wait = wait

    def open_to_read(self, path: Path) -> int:
        descriptor = super().open_to_read(path)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return descriptor

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        data = super().read(descriptor, size, offset)
        self._count(len(data))
        return data

    def read_into(self, descriptor: int, buffer: memoryview, offset: int) -> int:
        got = super().read_into(descriptor, buffer, offset)
        self._count(got)
        return got

    def _count(self, size: int) -> None:
        self.bytes += size
        if self._bytes_per_s > 0:
            self._wait(size / self._bytes_per_s)


def scrub(site_dir: Path, disk: ReadingDisk) -> Scrubbed:
    """A member's folder, whether it runs or not. InputError if its log is of another version."""
    found = Scrubbed()
    before = disk.bytes
    has_log = False
    try:
        has_log = read_identity(site_dir).incarnation > 0
    except InputError as error:
        found.damaged = [Finding(str(site_dir / "identity.json"), 0, str(error).partition(": ")[2])]
    _scrub_log(site_dir, disk, found)
    if has_log and not log_files(disk, site_dir / "wal"):
        found.damaged = [*found.damaged, Finding(str(site_dir / "wal"), 0, "no file of the log is there any more")]
    _scrub_journal(site_dir / "journal", disk, found)
    found.bytes = disk.bytes - before
    return found


def _scrub_log(site_dir: Path, disk: ReadingDisk, found: Scrubbed) -> None:
    folder = site_dir / "wal"
    recovered = _read_log(site_dir, folder, disk)
    if recovered is None:
        return
    found.files += len(recovered.headers)
    findings = [Finding(str(log_path(folder, bad.file)), bad.offset, bad.what) for bad in recovered.damage]
    if recovered.mark is None and log_files(disk, folder):
        findings.append(Finding(str(folder / NAME), 0, "missing, or none of its slots is intact"))
    found.damaged = [*found.damaged, *findings]


def _read_log(site_dir: Path, folder: Path, disk: ReadingDisk) -> Recovered | None:
    """None if its files came and went so quickly that nothing can be said."""
    for _ in range(TRIES_MAX):
        try:
            recovered = recover(disk, folder, State(lambda file, batch: "", list))
        except FileNotFoundError:
            continue  # it was let go of meanwhile
        if not recovered.damage or not is_running(site_dir) or _is_same(disk, folder, recovered.headers):
            return recovered
    return None


def _is_same(disk: Disk, folder: Path, headers: dict[int, FileHeader]) -> bool:
    """Whether all files are still those that were read."""
    mark = read_marks(disk, folder)
    first = 0 if mark is None else mark[1].first
    return all(file >= first and read_header(disk, folder, file) == header for file, header in headers.items())


def _scrub_journal(folder: Path, disk: ReadingDisk, found: Scrubbed) -> None:
    for file in journal_files(folder):
        path = journal_path(folder, file)
        check = read_check(disk, folder, file)
        try:
            if check is not None:
                require_intact(disk, path, check)
            elif path.exists():
                found.damaged = [*found.damaged, Finding(str(path), 0, "no checksum beside it")]
        except FileNotFoundError:
            continue  # retention has dropped it
        except Damaged as error:
            found.damaged = [
                *found.damaged,
                Finding(str(path), 0, str(error).removeprefix(f"{path}: ").removeprefix("offset 0: ")),
            ]
        found.files += 1


class _Stopped(Exception):
    pass


class Scrubber:
    """A member's own, in a thread: one pass after the other, at a slow rate."""

    def __init__(self, site_dir: Path, bytes_per_s: int) -> None:
        self.passes = 0
        self.found: list[Finding] = []  # damage, as of the last pass
        self._site_dir = site_dir
        self._stopping = threading.Event()
        self._disk = ReadingDisk(bytes_per_s, self._wait)
        self._thread = threading.Thread(target=self._run, name="tocsin-scrub", daemon=True)
        if bytes_per_s > 0:
            self._thread.start()

    def bytes(self) -> int:
        """Read so far."""
        return self._disk.bytes

    def _wait(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopped

    def _run(self) -> None:
        try:
            self._wait(FIRST_SECONDS)
            while True:
                self.scrub_once()
                self._wait(REST_SECONDS)
        except _Stopped:
            pass
        except Exception:
            _log.exception("%s: scrubbing has stopped", self._site_dir)

    def scrub_once(self) -> None:
        found = scrub(self._site_dir, self._disk).damaged[:FOUND_MAX]
        for finding in found:
            if finding not in self.found:
                _log.error("scrub: %s", finding.line())
        self.found = found
        self.passes += 1

    def stop(self) -> None:
        self._stopping.set()
