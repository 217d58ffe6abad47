"""Beside each Arrow file of a journal, a small hidden file: its length, its checksum, and the journal's own clock.

Arrow files have no checksums of their own, and other readers take every visible file of the folder as Arrow. The
journal's clock counts how long the member ran, over all its lives: a wall clock may jump.
"""

from pathlib import Path
from typing import Final

import msgspec
import xxhash

from tocsin.live.errors import UNDECODABLE, Damaged
from tocsin.live.storage.disk import Disk

READ_BYTES: Final = 1 << 20  # at once


class FileCheck(msgspec.Struct, frozen=True):
    size: int
    xxh3: str  # of the whole file, 64 bits in hexadecimal
    ran_us: int  # the journal's clock when it was written
    begins: dict[str, int] | None = None  # by group: the position of the next message when the file begins …
    ends: dict[str, int] | None = None  # … and when it ends; None: it is of a version that did not note it


def check_path(folder: Path, file: int) -> Path:
    return folder / f".{file:010d}.check"


def read_check(disk: Disk, folder: Path, file: int) -> FileCheck | None:
    """None if there is none that can be read."""
    try:
        descriptor = disk.open_to_read(check_path(folder, file))
    except OSError:
        return None
    try:
        return msgspec.json.decode(disk.read(descriptor, READ_BYTES, 0), type=FileCheck)
    except (OSError, *UNDECODABLE):
        return None
    finally:
        disk.close(descriptor)


def require_as_written(disk: Disk, path: Path, held: Path | None = None) -> None:
    """Read an Arrow file whole, or a link to it; Damaged if it is not what was written. FileNotFoundError if it is
    gone. One without a checksum beside it is not looked at: somebody has brought it."""
    check = read_check(disk, path.parent, int(path.stem))
    if check is not None:
        require_intact(disk, path if held is None else held, check)


def require_intact(disk: Disk, path: Path, expected: FileCheck) -> None:
    """Read a file whole; Damaged if it is not what was written. FileNotFoundError if it is gone."""
    descriptor = disk.open_to_read(path)
    try:
        size, found = _checksum(disk, descriptor)
    except OSError as error:
        raise Damaged(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    finally:
        disk.close(descriptor)
    if (size, found) != (expected.size, expected.xxh3):
        what = f"{size} bytes, not {expected.size}" if size != expected.size else "its checksum is another one"
        raise Damaged(f"{path}: offset 0: damaged since it was written: {what}")


def _checksum(disk: Disk, descriptor: int) -> tuple[int, str]:
    digest = xxhash.xxh3_64()
    buffer = memoryview(bytearray(READ_BYTES))
    size = 0
    while got := disk.read_into(descriptor, buffer, size):
        digest.update(buffer[:got])
        size += got
    return size, digest.hexdigest()


class CheckedSink:
    """A file that is being written, as Arrow wants one; it knows its checksum."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self.closed = False
        self._disk = disk
        self._descriptor = disk.open(path, create=True)
        self._size = 0
        self._digest = xxhash.xxh3_64()

    def write(self, data: bytes) -> int:
        view = memoryview(data).cast("B")
        self._disk.write(self._descriptor, [view], self._size, len(view))
        self._digest.update(view)
        self._size += len(view)
        return len(view)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._disk.close(self._descriptor)

    def finish(self, ran_us: int) -> FileCheck:
        """Everything was written: see that it is on the disk."""
        self._disk.sync(self._descriptor)
        return FileCheck(self._size, self._digest.hexdigest(), ran_us)
