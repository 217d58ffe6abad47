"""The files of the log: which there are, how long each is needed, and which may be written over."""

import os
from pathlib import Path
from typing import Final

from tocsin.live.errors import StorageFailed
from tocsin.live.storage.log_format import log_path

SPARES_MAX: Final = 2  # files kept to be written over: one for the next, one for a burst
_NONE_NEEDED: Final = 1 << 62  # beyond every frame position

Positions = list[int]  # a frame position for each group


class LogFiles:
    """Files by their numbers; those that are closed say up to which frames they are needed."""

    def __init__(self, folder: Path, open_files: dict[int, int]) -> None:
        self.begins: dict[int, Positions] = {}  # file -> the oldest frames that its first messages need
        self.ends: dict[int, Positions] = {}  # closed file -> the frames after its last
        self._folder = folder
        self._open = open_files  # file -> descriptor; whoever reads frames back has the same
        self._used_by: dict[int, int] = {}  # file -> the newest file that refers to its bytes
        self._pinned: dict[int, int] = {}  # file -> deliveries that refer to it and are not yet applied
        self._spares: list[Path] = []  # files to be written over
        self._dirty: set[int] = set()  # files with writes that were not synced
        for stray in folder.glob("*.spare"):
            stray.unlink()

    # Making and writing

    def open_found(self, file: int) -> None:
        self._open[file] = os.open(log_path(self._folder, file), os.O_RDWR)

    def make(self, file: int, syncs: bool) -> bool:
        """A file of this number; whether it was another one before. `syncs`: its name is safe from a power loss."""
        spare = self._spares.pop() if self._spares else None
        path = log_path(self._folder, file)
        try:
            if spare is not None:
                os.rename(spare, path)
            flags = os.O_RDWR if spare is not None else os.O_RDWR | os.O_CREAT | os.O_EXCL
            self._open[file] = os.open(path, flags, 0o600)
            if syncs:
                self.sync_folder()
        except OSError as error:
            raise _failed(path, error) from None
        return spare is not None

    def end(self, file: int, offset: int, ends: Positions) -> None:
        """The file is closed: what was in it before it was written over goes, too."""
        self.ends[file] = ends
        try:
            os.ftruncate(self._open[file], offset)
        except OSError as error:
            raise _failed(log_path(self._folder, file), error) from None

    def write(self, file: int, offset: int, buffers: list[bytes | memoryview], length: int) -> None:
        """All of it; safe to run in a thread."""
        left = length
        try:
            while left > 0:
                written = os.pwritev(self._open[file], buffers, offset)
                left -= written
                offset += written
                if left > 0:
                    buffers = [memoryview(b"".join(buffers))[written:]]
        except OSError as error:
            raise _failed(log_path(self._folder, file), error) from None
        self._dirty.add(file)

    def sync(self, newest: int) -> None:
        """Make everything written durable against a power loss; safe to run in a thread."""
        for file in list(self._dirty):
            descriptor = self._open.get(file)
            if descriptor is None:
                continue  # removed meanwhile: nothing of it is needed
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                raise _failed(log_path(self._folder, file), error) from None
            if file != newest:
                self._dirty.discard(file)

    def sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    # Needing and letting go

    def pin(self, file: int) -> bool:
        """A delivery that will be noted refers to bytes of this file; False if it is no longer there."""
        if file not in self._open:
            return False
        self._pinned[file] = self._pinned.get(file, 0) + 1
        return True

    def unpin(self, file: int) -> None:
        self._pinned[file] -= 1

    def refer(self, target: int, file: int, ends: Positions) -> None:
        """A delivery noted in one file has its bytes in an older one, which is kept as long as they are needed."""
        self._used_by[target] = file
        if target in self.ends:
            self.ends[target] = ends

    def need(self, file: int, group: int, position: int) -> None:
        """What a file notes rests on frames from this position on, too."""
        begins = self.begins[file]
        begins.extend([_NONE_NEEDED] * (group + 1 - len(begins)))
        begins[group] = min(position, begins[group])

    def needed_by(self, archived: int, group: int) -> int:
        """The oldest frame of a group that this file, or a later one, rests on."""
        needed = _NONE_NEEDED
        for file, begins in self.begins.items():
            if file >= archived and group < len(begins):
                needed = min(needed, begins[group])
        return needed

    def release(self, needed: Positions, archived: int) -> list[int]:
        """Remove closed files that hold no frame at or above `needed` and are below `archived`; which they were."""
        gone: list[int] = []
        for file in sorted(self.ends):
            if file >= archived or self._used_by.get(file, -1) >= archived or self._pinned.get(file, 0):
                break
            if any(end > needed[group] for group, end in enumerate(self.ends[file])):
                break
            os.close(self._open.pop(file))
            self._put_by(log_path(self._folder, file))
            del self.ends[file]
            del self.begins[file]
            self._used_by.pop(file, None)
            self._pinned.pop(file, None)
            self._dirty.discard(file)
            gone.append(file)
        return gone

    def _put_by(self, path: Path) -> None:
        """Keep a few files that nobody needs, to be written over: new files cost the system new pages."""
        if len(self._spares) < SPARES_MAX:
            spare = path.with_suffix(".spare")
            os.rename(path, spare)
            self._spares.append(spare)
        else:
            os.unlink(path)

    def cut(self, files: list[int], end: int) -> None:
        """Cut the first of these at `end` and drop the rest: what is behind a torn batch never became visible."""
        for file in files[1:] if end > 0 else files:
            os.unlink(log_path(self._folder, file))
        if end > 0:
            os.ftruncate(self._open[files[0]], end)
            os.fsync(self._open[files[0]])
        self.sync_folder()

    def closed_bytes(self) -> int:
        return sum(os.fstat(self._open[file]).st_size for file in self.ends if file in self._open)

    def close(self, newest: int, offset: int) -> None:
        """The newest ends at `offset`; what it held before it was written over goes."""
        if newest in self._open:
            os.ftruncate(self._open[newest], offset)
        for spare in self._spares:
            spare.unlink(missing_ok=True)
        self._spares = []
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


def _failed(path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(f"{path}: {(error.strerror or str(error)).lower()}")
