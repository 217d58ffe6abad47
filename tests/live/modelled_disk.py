"""A disk for tests that does what disks are allowed to do, and then what they are not.

It lies in memory below the log's own code. A write is in the system's memory until its file is synced; a name, until
its folder is. `kill` loses nothing of that; `lose_power` keeps, of every sector that was written since the last sync,
any version it has had (the last synced one included), and of the names any prefix of the changes. `Damage` is what no
disk may do. Calls are counted, so that a test can stop the world before each of them, and any can be told to fail.
"""

import copy
import errno
import random
from collections.abc import Sequence
from pathlib import Path

from tocsin.live.storage.disk import Disk, Mapped

SECTOR = 512


class Crash(BaseException):
    """The process ends here. Not an Exception: nothing may catch it."""


class _File:
    def __init__(self) -> None:
        self.data = bytearray()  # as the system's memory has it
        self.synced = b""
        self.versions: dict[int, list[bytes]] = {}  # sector -> what was written there since the last sync, in order
        self.forgettable: dict[int, int] = {}  # sector -> versions that it had when a sync of it failed
        self.unreadable: set[int] = set()  # sectors
        self.copy: bytes | None = None  # as it was at some time before, for damage

    def put(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        if len(self.data) < end:
            self.data.extend(bytes(end - len(self.data)))
        self.data[offset:end] = data
        for sector in range(offset // SECTOR, (end - 1) // SECTOR + 1):
            self.versions.setdefault(sector, []).append(bytes(self.data[sector * SECTOR : (sector + 1) * SECTOR]))

    def sync(self) -> None:
        """What an earlier sync failed to write is not tried again, unless it was written again."""
        synced = bytearray(self.data)
        for sector in self._forgotten():
            old = self.synced[sector * SECTOR : (sector + 1) * SECTOR].ljust(SECTOR, b"\0")
            synced[sector * SECTOR : (sector + 1) * SECTOR] = old[: len(synced) - sector * SECTOR]
        self.forgettable = dict.fromkeys(self._forgotten(), 0)
        self.synced = bytes(synced)
        self.versions = {}

    def _forgotten(self) -> list[int]:
        return [sector for sector, count in self.forgettable.items() if len(self.versions.get(sector, ())) == count]

    def fail_to_sync(self) -> None:
        """What could not be written counts as written from here on, for the system."""
        self.forgettable = {sector: len(versions) for sector, versions in self.versions.items()}

    def forget(self, rng: random.Random) -> None:
        """Of what a failed sync could not write, and nobody has written since."""
        for sector in self._forgotten():
            if rng.random() < 0.5:
                old = self.synced[sector * SECTOR : (sector + 1) * SECTOR].ljust(SECTOR, b"\0")
                here = self.data[sector * SECTOR : (sector + 1) * SECTOR]
                self.data[sector * SECTOR : (sector + 1) * SECTOR] = old[: len(here)]
                self.versions.pop(sector, None)
                del self.forgettable[sector]

    def lose_power(self, rng: random.Random) -> None:
        """Every sector is as it was at any one time since the last sync; `rng` may like losing all, or nothing."""
        bias = rng.choice((0.0, 0.5, 1.0))
        size = rng.choice((len(self.synced), len(self.data)))
        data = bytearray(self.synced[:size].ljust(size, b"\0"))
        for sector, versions in self.versions.items():
            if rng.random() < bias:
                data[sector * SECTOR : (sector + 1) * SECTOR] = rng.choice(versions)
        self.data = data[: max(size, len(self.synced))]
        self.forgettable = {}
        self.sync()


class _Map(Mapped):
    def __init__(self, disk: "ModelledDisk", file: _File) -> None:
        self._disk = disk
        self._file = file

    def put(self, offset: int, data: "bytes | memoryview") -> None:
        """A process that is killed may leave a part of it."""
        try:
            self._disk.step("put")
        except Crash:
            part = self._disk.rng.randrange(len(data) + 1)
            if part:
                self._file.put(offset, bytes(data[:part]))
            raise
        if data:
            self._file.put(offset, bytes(data))

    def close(self) -> None:
        pass


class ModelledDisk(Disk):
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names_now: dict[Path, _File] = {}
        self.names_synced: dict[Path, _File] = {}
        self.changes: list[dict[Path, _File]] = []  # the names after each change since the folder was synced
        self.calls = 0
        self.crash_at = -1  # before this call
        self.fail_at = -1  # this call, if it can fail
        self.fail_with = errno.EIO
        self.failed = False
        self.removed: list[Path] = []
        self._boot = 1
        self._open: dict[int, _File] = {}
        self._next = 100

    def __deepcopy__(self, memo: dict[int, object]) -> "ModelledDisk":
        """By hand: of a class below a compiled one, the usual way copies only what the compiled one has."""
        other = ModelledDisk(0)
        memo[id(self)] = other
        for name, value in vars(self).items():
            setattr(other, name, copy.deepcopy(value, memo))
        return other

    # The world

    def step(self, call: str) -> None:
        """Every call that changes something."""
        self.calls += 1
        if self.calls == self.crash_at:
            raise Crash(call)
        if self.calls == self.fail_at and call in ("write", "sync", "allocate", "sync_folder", "rename", "open"):
            self.failed = True
            raise OSError(self.fail_with, "the disk fails")

    def kill(self) -> None:
        """kill -9: what was written is written."""
        self._end()

    def lose_power(self) -> None:
        self._end()
        self._boot += 1
        kept = self.rng.choice([self.names_synced, *self.changes])
        for file in {id(file): file for file in [*self.names_now.values(), *kept.values()]}.values():
            file.lose_power(self.rng)
        self.names_now = dict(kept)
        self.names_synced = dict(kept)
        self.changes = []

    def _end(self) -> None:
        self.crash_at = self.fail_at = -1
        self._open = {}

    def forget_after_failed_sync(self) -> None:
        """What a failed sync could not write, some systems drop from their memory at any time later."""
        for file in self.names_now.values():
            file.forget(self.rng)

    def files(self) -> dict[str, bytes]:
        """Names and contents as they are now."""
        return {path.name: bytes(file.data) for path, file in self.names_now.items()}

    def remember(self) -> None:
        """A copy of every file, for damage that brings back an older time."""
        for file in self.names_now.values():
            file.copy = bytes(file.data)

    # Files

    def _handle(self, file: _File) -> int:
        self._next += 1
        self._open[self._next] = file
        return self._next

    def open(self, path: Path, create: bool = False) -> int:
        if path not in self.names_now:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
            self.step("open")
            self._rename({**self.names_now, path: _File()})
        return self._handle(self.names_now[path])

    def open_to_read(self, path: Path) -> int:
        if path not in self.names_now:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        return self._handle(self.names_now[path])

    def close(self, descriptor: int) -> None:
        self._open.pop(descriptor, None)

    def size(self, descriptor: int) -> int:
        return len(self._open[descriptor].data)

    def allocate(self, descriptor: int, offset: int, size: int) -> None:
        self.step("allocate")
        file = self._open[descriptor]
        if len(file.data) < offset + size:
            file.data.extend(bytes(offset + size - len(file.data)))

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        file = self._open[descriptor]
        self._check_readable(file, size, offset)
        return bytes(file.data[offset : offset + size])

    def read_into(self, descriptor: int, buffer: memoryview, offset: int) -> int:
        data = self.read(descriptor, len(buffer), offset)
        buffer[: len(data)] = data
        return len(data)

    def _check_readable(self, file: _File, size: int, offset: int) -> None:
        if any(offset - SECTOR < sector * SECTOR < offset + size for sector in file.unreadable):
            raise OSError(errno.EIO, "Input/output error")

    def write(self, descriptor: int, buffers: "Sequence[bytes | memoryview]", offset: int, length: int) -> None:
        """A process that is killed, or a disk that fills up, may leave a part of it."""
        data = b"".join(buffers)
        assert len(data) == length
        file = self._open[descriptor]
        try:
            self.step("write")
        except BaseException:
            part = self.rng.randrange(length + 1)
            if part:
                file.put(offset, data[:part])
            raise
        if length:
            file.put(offset, data)
            for sector in range(offset // SECTOR, (offset + length - 1) // SECTOR + 1):
                file.unreadable.discard(sector)

    def sync(self, descriptor: int) -> None:
        file = self._open[descriptor]
        try:
            self.step("sync")
        except OSError:
            file.fail_to_sync()
            raise
        file.sync()

    def map(self, descriptor: int, size: int) -> Mapped:
        return _Map(self, self._open[descriptor])

    def map_to_read(self, path: Path) -> memoryview:
        return memoryview(self.read_whole(path))

    # Names

    def _rename(self, names: dict[Path, _File]) -> None:
        self.names_now = names
        self.changes.append(dict(names))

    def names(self, folder: Path) -> list[str]:
        return sorted(path.name for path in self.names_now if path.parent == folder)

    def rename(self, path: Path, target: Path) -> None:
        self.step("rename")
        names = dict(self.names_now)
        if target in names:
            self.removed.append(target)
        names[target] = names.pop(path)
        self._rename(names)

    def remove(self, path: Path) -> None:
        self.step("remove")
        if path not in self.names_now:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        self.removed.append(path)
        names = dict(self.names_now)
        del names[path]
        self._rename(names)

    def make_folder(self, path: Path) -> None:
        pass

    def sync_folder(self, folder: Path) -> None:
        self.step("sync_folder")
        self.names_synced = dict(self.names_now)
        self.changes = []

    def boot_id(self) -> bytes:
        return self._boot.to_bytes(16, "big")

    def random(self, size: int) -> bytes:
        return self.rng.randbytes(size)
