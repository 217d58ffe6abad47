"""Reading a member's log from outside, file by file: what was noted, and the frames that were delivered, each checked.

Whoever makes rows of the journal reads the log through this, and nothing else: how its bytes lie is not their business.
The member may be running, and write over a file at any moment: files that have left the log are told from damage.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tocsin.live.errors import Damaged
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import BatchRead, content_check, contents_of, log_path
from tocsin.live.storage.file_walk import FileWalk, log_files, read_header
from tocsin.live.storage.log_format import Deliver, Op, Snapshot
from tocsin.live.storage.marks import read_marks

BatchEnd = tuple[int, int]  # offset behind a batch of operations, and its checksum


class Noted(NamedTuple):
    """An operation of the log."""

    time_us: int  # wall clock of the step
    op: Op
    frame: bytes  # of a delivery; else empty
    file: int  # where it is noted
    contents_at: int  # offset of its contents in that file


class LogReader:
    """One member's log."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self._folder = folder
        self.site_dir = folder.parent  # of the member whose log it is
        self._disk = Disk() if disk is None else disk

    def files(self) -> list[int]:
        """The numbers of the files, oldest first."""
        return log_files(self._disk, self._folder)

    def has(self, file: int) -> bool:
        return log_path(self._folder, file).name in self._disk.names(self._folder)

    def snapshot(self, file: int) -> tuple[int, Snapshot] | None:
        """How things stood when a file was begun, and when that was; None if not even that was written whole."""
        with self._walk(file) as walk:
            if walk.header is not None:
                for batch, _ in walk.batches():
                    first = batch.operations.ops[0]
                    return (batch.operations.time_us, first) if isinstance(first, Snapshot) else None
        return None

    def frame(self, place: tuple[int, int, int, int]) -> bytes:
        """The frame at a place: file, offset, size and checksum. FileNotFoundError as of `read`."""
        file, offset, size, check = place
        frames = _Frames(self._disk, self._folder)
        try:
            frame = frames.read(file, offset, size)
            frames.require_there()
        finally:
            frames.close()
        if content_check(frame) != check:
            raise Damaged(f"{log_path(self._folder, file)}: offset {offset}: a frame is damaged")
        return frame

    def read(self, file: int, with_frames: bool = True) -> Iterator[Noted]:
        """What a file says, in order. FileNotFoundError if it, or one that it refers to, is not there, or has left the
        log meanwhile: then nothing that was read counts, for it may have been written over. Without frames, files that
        it refers to may be missing. Damaged if something is not as it was written, and must be there."""
        limit = self._ended(file)
        needed = limit if limit >= 0 else self._synced(file)  # before reading: a member that runs goes on writing
        frames = _Frames(self._disk, self._folder)
        try:
            with self._walk(file) as walk:
                if walk.header is not None:
                    yield from self._batches(walk, limit, needed, frames, with_frames)
                frames.require_there()
                self._require_there(walk, limit)
                if walk.end < needed or (walk.header is None and needed > 0):
                    raise Damaged(f"{log_path(self._folder, file)}: offset {walk.end}: damaged up to offset {needed}")
        finally:
            frames.close()

    def read_on(self, file: int, at: BatchEnd | None) -> Iterator[tuple[list[Noted], BatchEnd]]:
        """What a file says behind a batch (None: from its beginning), batch by batch, and where each ends. Errors as of
        `read`, and what was read counts only when all was read."""
        limit = self._ended(file)
        needed = limit if limit >= 0 else self._synced(file)
        frames = _Frames(self._disk, self._folder)
        try:
            with self._walk(file) as walk:
                if at is not None:
                    walk.end, walk.check = at
                if walk.header is not None:
                    for batch, damaged in walk.batches():
                        if 0 <= limit <= batch.offset or (damaged and batch.end > needed):
                            break  # cut here, or being written
                        if damaged:
                            self._require_there(walk, limit)
                            path = log_path(self._folder, file)
                            raise Damaged(f"{path}: offset {batch.offset}: contents are damaged")
                        yield list(self._noted(walk, batch, frames, True)), (batch.end, batch.check)
                frames.require_there()
                self._require_there(walk, limit)
                if walk.end < needed or (walk.header is None and needed > 0):
                    raise Damaged(f"{log_path(self._folder, file)}: offset {walk.end}: damaged up to offset {needed}")
        finally:
            frames.close()

    def go_on(self, walk: FileWalk) -> Iterator[Noted]:
        """What a file says behind where a walk stands, up to what is not there yet. FileNotFoundError as of `read`."""
        frames = _Frames(self._disk, self._folder)
        try:
            for batch, damaged in walk.batches():
                if damaged:
                    return  # it is being written
                noted = list(self._noted(walk, batch, frames, True))
                frames.require_there()
                yield from noted
        finally:
            frames.close()

    def ended(self, file: int) -> int:
        """Where a file ended, as the next one says; -1 if there is none."""
        return self._ended(file)

    def _batches(
        self, walk: FileWalk, limit: int, needed: int, frames: "_Frames", with_frames: bool
    ) -> Iterator[Noted]:
        for batch, damaged in walk.batches():
            if 0 <= limit <= batch.offset:
                return  # it was cut here, and the log went on in the next file
            if damaged:
                self._require_there(walk, limit)
                if batch.end > needed:
                    return  # it is being written
                raise Damaged(f"{log_path(self._folder, walk.file)}: offset {batch.offset}: contents are damaged")
            yield from self._noted(walk, batch, frames, with_frames)

    def _noted(self, walk: FileWalk, batch: BatchRead, frames: "_Frames", with_frames: bool) -> Iterator[Noted]:
        at = batch.contents_at
        for op in batch.operations.ops:
            size = sum([each for each, _ in contents_of(op)])
            frame = b""
            if isinstance(op, Deliver) and with_frames:
                if op.file < 0:
                    frame = bytes(walk.data(at, size))
                else:
                    frame = frames.read(op.file, op.offset, op.size)
                    if content_check(frame) != op.check:
                        frames.require_there()
                        raise Damaged(f"{log_path(self._folder, op.file)}: offset {op.offset}: a frame is damaged")
            yield Noted(batch.operations.time_us, op, frame, walk.file, at)
            at += size

    @contextlib.contextmanager
    def _walk(self, file: int) -> Iterator[FileWalk]:
        walk = FileWalk(self._disk, self._folder, file)
        try:
            yield walk
        finally:
            walk.close()

    def _synced(self, file: int) -> int:
        """Up to where a file was synced, as the marks say."""
        mark = read_marks(self._disk, self._folder)
        return mark[1].offset if mark is not None and mark[1].file == file else 0

    def _ended(self, file: int) -> int:
        """Where a file ended, as the next one says; -1 if there is none."""
        header = read_header(self._disk, self._folder, file + 1)
        if header is None or header.file != file + 1 or header.before is None or header.before.file != file:
            return -1
        return header.before.end

    def _require_there(self, walk: FileWalk, limit: int) -> None:
        """The file is still the one that was opened, and ends where it did: where it was cut meanwhile, look again."""
        path = log_path(self._folder, walk.file)
        require_there(self._disk, path)
        now = read_header(self._disk, self._folder, walk.file)
        if now != walk.header or (limit < 0 and 0 <= self._ended(walk.file) < walk.end):
            raise FileNotFoundError(2, "has left the log", str(path))


def require_there(disk: Disk, path: Path) -> None:
    if path.name not in disk.names(path.parent):
        raise FileNotFoundError(2, "no such file", str(path))


class _Frames:
    """Files of a log that others refer to, opened when first asked for."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        self._open: dict[int, int] = {}

    def read(self, file: int, offset: int, size: int) -> bytes:
        path = log_path(self._folder, file)
        if file not in self._open:
            self._open[file] = self._disk.open_to_read(path)
        try:
            return self._disk.read(self._open[file], size, offset)
        except OSError as error:
            raise Damaged(
                f"{path}: offset {offset}: cannot be read: {(error.strerror or str(error)).lower()}"
            ) from None

    def require_there(self) -> None:
        for file in self._open:
            require_there(self._disk, log_path(self._folder, file))

    def close(self) -> None:
        for descriptor in self._open.values():
            self._disk.close(descriptor)
