"""Reading a member's log from outside, file by file: what was noted, and the frames that were delivered.

Whoever makes rows of the journal reads the log through this, and nothing else: how its bytes lie is not their business.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.live.storage.log_format import (
    CopiedFile,
    Deliver,
    MappedFile,
    Op,
    Snapshot,
    check_version,
    content_sizes,
    log_files_in,
    log_path,
    read_batches,
)

READ_BYTES_MAX: Final = 32 << 20  # of frames, before what was mapped is let go of


class Noted(NamedTuple):
    """An operation of the log."""

    time_us: int  # wall clock of the step
    op: Op
    frame: bytes  # of a delivery; else empty
    file: int  # where it is noted
    contents_at: int  # offset of its contents in that file


class LogReader:
    """One member's log. `beside_writer`: the member may be running, and write over a file at any moment."""

    def __init__(self, folder: Path, beside_writer: bool) -> None:
        self._folder = folder
        self._kind = CopiedFile if beside_writer else MappedFile

    def files(self) -> list[int]:
        """The numbers of the files, oldest first."""
        return log_files_in(self._folder)

    def has(self, file: int) -> bool:
        return log_path(self._folder, file).exists()

    def snapshot(self, file: int) -> tuple[int, Snapshot] | None:
        """How things stood when a file was begun, and when that was; None if not even that was written whole."""
        files = _OpenFiles(self._folder, self._kind)
        try:
            first = next(read_batches(files.view(file), file), None)
        finally:
            files.close()
        if first is None or not isinstance(first.operations.ops[0], Snapshot):
            return None
        return first.operations.time_us, first.operations.ops[0]

    def frame(self, place: tuple[int, int, int]) -> bytes:
        """The frame at a place: file, offset and size. FileNotFoundError as of `read`."""
        file, offset, size = place
        path = log_path(self._folder, file)
        with open(path, "rb") as opened:
            frame = os.pread(opened.fileno(), size, offset)
        path.stat()
        return frame

    def read(self, file: int, with_frames: bool = True) -> Iterator[Noted]:
        """What a file says, in order. FileNotFoundError if it, or one that it refers to, is not there, or has left the
        log meanwhile: then nothing that was read counts, for it may have been written over. Without frames, files that
        it refers to may be missing."""
        files = _OpenFiles(self._folder, self._kind)
        try:
            view = files.view(file)
            held = 0
            for batch in read_batches(view, file):
                at = batch.contents_at
                for op in batch.operations.ops:
                    size = sum(content_sizes(op))
                    frame = b""
                    if isinstance(op, Deliver) and with_frames:
                        if op.file >= 0:
                            frame = bytes(files.view(op.file)[op.offset : op.offset + op.size])
                        else:
                            frame = bytes(view[at : at + size])
                    yield Noted(batch.operations.time_us, op, frame, file, at)
                    at += size
                    held += len(frame)
                if held >= READ_BYTES_MAX:
                    files.let_go()
                    held = 0
            files.require_there()
        finally:
            files.close()


class _OpenFiles:
    """The files of a log, opened when first asked for."""

    def __init__(self, folder: Path, kind: type[MappedFile] | type[CopiedFile]) -> None:
        self._folder = folder
        self._kind = kind
        self._open: dict[int, MappedFile | CopiedFile] = {}

    def view(self, file: int) -> memoryview:
        if file not in self._open:
            path = log_path(self._folder, file)
            self._open[file] = self._kind(path)
            check_version(path, self._open[file].view)
        return self._open[file].view

    def require_there(self) -> None:
        for file in self._open:
            log_path(self._folder, file).stat()

    def let_go(self) -> None:
        for file in self._open.values():
            file.let_go()

    def close(self) -> None:
        for file in self._open.values():
            file.close()
