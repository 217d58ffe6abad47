"""Reading one file of the log from its header on, batch by batch, each checked; nothing is changed.

By reads, not by a map: what a disk cannot read is an error here, and would be the end of the process there.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import (
    BATCHES_AT,
    BLOCK,
    HEAD,
    SLOT_BYTES,
    SLOTS_AT,
    BatchRead,
    damaged_contents,
    decode_batch,
    decode_header,
    decode_lengths,
    decode_slot,
    log_path,
)
from tocsin.live.storage.log_format import FileHeader, Op

READ_BYTES: Final = 1 << 20  # at once, at least


class FileWalk:
    """One file, open for reading. FileNotFoundError if there is none."""

    def __init__(self, disk: Disk, folder: Path, file: int) -> None:
        self.file = file
        self.header: FileHeader | None = None  # None: not intact
        self.reach = 0  # up to where the file was written, as its end slots tell
        self.end = BATCHES_AT  # behind the last batch that was read
        self.check = 0  # of it, or of the header
        self.unreadable = ""  # the error at the end
        self._disk = disk
        self._path = log_path(folder, file)
        self._descriptor = disk.open_to_read(self._path)
        self._size = disk.size(self._descriptor)
        self._buffer = memoryview(bytearray(max(BATCHES_AT, min(READ_BYTES, self._size))))
        self._at = 0  # of the buffer, in the file
        self._filled = 0
        try:
            self._read_header()
        except BaseException:
            self.close()
            raise

    def _read_header(self) -> None:
        try:
            found = decode_header(self._path, bytes(self.data(0, BLOCK)))
        except OSError as error:
            self.unreadable = (error.strerror or str(error)).lower()
            return
        if found is not None:
            self.header, self.check = found
            for slot in SLOTS_AT:
                with contextlib.suppress(OSError):  # one of them is enough
                    self.reach = max(self.reach, decode_slot(self.header.secret, self.data(slot, SLOT_BYTES)))

    def look_again(self) -> None:
        """Somebody may have written since: what was read ahead counts no longer."""
        self._filled = 0
        self._size = self._disk.size(self._descriptor)

    def data(self, offset: int, size: int) -> memoryview:
        """Bytes of the file, fewer at its end; they count until the next call."""
        start = offset - self._at
        if start < 0 or start + size > self._filled:
            if size > len(self._buffer):
                self._buffer = memoryview(bytearray(size))
            self._filled = 0
            try:
                self._filled = self._disk.read_into(self._descriptor, self._buffer, offset)
            except OSError:  # perhaps only of what was not asked for
                self._filled = self._disk.read_into(self._descriptor, self._buffer[:size], offset)
            self._at = offset
            start = 0
        return self._buffer[start : min(start + size, self._filled)]

    def batches(self) -> Iterator[tuple[BatchRead, list[Op]]]:
        """The batches, in order, each with those of its operations whose contents are damaged; up to the first whose
        head or operations are not intact: what lies behind is in no way known to belong to the file."""
        while True:
            try:
                batch = self._next()
                damaged = [] if batch is None else self._damaged(batch)
            except OSError as error:
                self.unreadable = (error.strerror or str(error)).lower()
                return
            if batch is None:
                return
            yield batch, damaged
            self.end, self.check = batch.end, batch.check

    def _next(self) -> BatchRead | None:
        assert self.header is not None
        secret = self.header.secret
        length, contents = decode_lengths(secret, self.data(self.end, HEAD.size))
        if length < 0 or self.end + HEAD.size + length + contents > self._size:
            return None
        data = self.data(self.end, HEAD.size + length)
        return decode_batch(secret, self.end, self.check, data) if len(data) == HEAD.size + length else None

    def _damaged(self, batch: BatchRead) -> list[Op]:
        """What cannot be read counts as damaged."""
        try:
            return damaged_contents(batch.operations.ops, self.data(batch.contents_at, batch.end - batch.contents_at))
        except OSError as error:
            self.unreadable = (error.strerror or str(error)).lower()
            return list(batch.operations.ops)

    def close(self) -> None:
        self._disk.close(self._descriptor)


def read_header(disk: Disk, folder: Path, file: int) -> FileHeader | None:
    """The header of a file alone; None if there is none that is intact."""
    path = log_path(folder, file)
    try:
        descriptor = disk.open_to_read(path)
    except FileNotFoundError:
        return None
    try:
        found = decode_header(path, disk.read(descriptor, BLOCK, 0))
    except OSError:
        return None
    finally:
        disk.close(descriptor)
    return None if found is None else found[0]


def log_files(disk: Disk, folder: Path) -> list[int]:
    """The numbers of the log's files, oldest first."""
    names = [name for name in disk.names(folder) if name.endswith(".wal")]
    return sorted(int(name[:-4]) for name in names if name[:-4].isdigit())
