"""The one way to the disk: log, marks, journal and the small files beside them go through a `Disk`.

It has no state and decides nothing. Tests put another one in its place, which loses, tears, reorders and flips what was
written, fills up, and fails (`tests/live/modelled_disk.py`).
"""

import contextlib
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mypy_extensions import mypyc_attr

BUFFERS_MAX: Final = 512  # in one call; the system takes 1,024


@mypyc_attr(allow_interpreted_subclasses=True)
class Mapped:
    """The first bytes of a file, mapped: what is put there is in the kernel's hands at once, without a call."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._map = mmap.mmap(descriptor, size)

    def put(self, offset: int, data: "bytes | memoryview") -> None:
        self._map[offset : offset + len(data)] = data

    def close(self) -> None:
        self._map.close()


@mypyc_attr(allow_interpreted_subclasses=True)
class Disk:
    """The system's own. What is written is safe from kill -9; what was synced, from a power loss."""

    # Files, by their descriptors

    def open(self, path: Path, create: bool = False) -> int:
        """For reading and writing. A file that is made is its owner's alone."""
        return os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)

    def open_to_read(self, path: Path) -> int:
        return os.open(path, os.O_RDONLY)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def allocate(self, descriptor: int, offset: int, size: int) -> None:
        """See that there is room for these bytes: a full disk is found now, not by a signal later."""
        os.posix_fallocate(descriptor, offset, size)

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        """Fewer bytes at the end of the file."""
        data = os.pread(descriptor, size, offset)
        while 0 < len(data) < size:
            more = os.pread(descriptor, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def read_into(self, descriptor: int, buffer: memoryview, offset: int) -> int:
        """Fill a buffer; how many bytes there were."""
        filled = 0
        while filled < len(buffer):
            got = os.preadv(descriptor, [buffer[filled:]], offset + filled)
            if got == 0:
                break
            filled += got
        return filled

    def write(self, descriptor: int, buffers: "Sequence[bytes | memoryview]", offset: int, length: int) -> None:
        """All of it."""
        if len(buffers) > BUFFERS_MAX:
            buffers = [b"".join(buffers)]
        left = length
        while left > 0:
            written = os.pwritev(descriptor, buffers, offset)
            left -= written
            offset += written
            if left > 0:
                buffers = [memoryview(b"".join(buffers))[written:]]

    def sync(self, descriptor: int) -> None:
        os.fdatasync(descriptor)

    def map(self, descriptor: int, size: int) -> Mapped:
        return Mapped(descriptor, size)

    def map_to_read(self, path: Path) -> "mmap.mmap | memoryview":
        """A whole file, as long as somebody has it."""
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else memoryview(b"")

    # Names

    def names(self, folder: Path) -> list[str]:
        """What is in a folder; nothing if there is none."""
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def rename(self, path: Path, target: Path) -> None:
        os.rename(path, target)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def make_folder(self, path: Path) -> None:
        """The folder, its owner's alone, and those above it that are missing; their names are synced."""
        made: list[Path] = []
        while not path.is_dir():
            made.append(path)
            path = path.parent
        for folder in reversed(made):
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                if not folder.is_dir():
                    raise
            self.sync_folder(folder.parent)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder safe from a power loss."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_whole(self, path: Path) -> bytes:
        descriptor = self.open_to_read(path)
        try:
            return self.read(descriptor, self.size(descriptor), 0)
        finally:
            self.close(descriptor)

    def write_whole(self, path: Path, data: bytes) -> None:
        """A small file, beside its place and renamed there: after any crash it is the old one or the new one."""
        temporary = path.with_name(f".{path.name}.{self.random(4).hex()}")
        try:
            descriptor = self.open(temporary, create=True)
            try:
                self.write(descriptor, [data], 0, len(data))
                self.sync(descriptor)
            finally:
                self.close(descriptor)
            self.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                self.remove(temporary)
            raise
        self.sync_folder(path.parent)

    # What is not on the disk, and belongs to it

    def boot_id(self) -> bytes:
        """16 bytes that change when the machine starts: what was not synced before may be gone."""
        try:
            return bytes.fromhex(Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", ""))
        except (OSError, ValueError):
            return bytes(16)  # nobody can tell: counts as another start of the machine each time

    def random(self, size: int) -> bytes:
        return os.urandom(size)


def disk_error(path: Path, error: OSError) -> str:
    """One line."""
    return f"{path}: {(error.strerror or str(error)).lower()}"
