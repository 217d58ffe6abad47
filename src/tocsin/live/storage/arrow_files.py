"""A closed file of the write-ahead log to an Arrow file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.live.storage.journal_format import SCHEMA, RowMaker
from tocsin.live.storage.log_format import (
    CopiedFile,
    Deliver,
    MappedFile,
    Snapshot,
    content_sizes,
    log_files_in,
    log_path,
    read_batches,
)

FileKind = type[MappedFile] | type[CopiedFile]


class _Files:
    """The files of a log, opened when first asked for."""

    def __init__(self, folder: Path, kind: FileKind) -> None:
        self._folder = folder
        self._kind = kind
        self._open: dict[int, MappedFile | CopiedFile] = {}

    def view(self, file: int) -> memoryview:
        if file not in self._open:
            self._open[file] = self._kind(log_path(self._folder, file))
        return self._open[file].view

    def require_there(self) -> None:
        """What was read of a file that has left the log since may have been written over."""
        for file in self._open:
            log_path(self._folder, file).stat()

    def let_go(self) -> None:
        for file in self._open.values():
            file.let_go()

    def close(self) -> None:
        for file in self._open.values():
            file.close()


def feed_file(maker: RowMaker, folder: Path, file: int, kind: FileKind = MappedFile) -> Iterator[Any]:
    """Feed a file of the log to a row maker; yields record batches as they fill. FileNotFoundError if it, or one that
    it refers to, has left the log meanwhile."""
    files = _Files(folder, kind)
    try:
        view = files.view(file)
        for batch in read_batches(view, file):
            at = batch.contents_at
            for op in batch.operations.ops:
                size = sum(content_sizes(op))
                content = b""
                if isinstance(op, Deliver) and op.file >= 0:
                    content = bytes(files.view(op.file)[op.offset : op.offset + op.size])
                elif isinstance(op, Deliver):
                    content = bytes(view[at : at + size])
                maker.feed(batch.operations.time_us, op, content)
                at += size
                if maker.is_full():
                    files.let_go()
                    yield maker.take()
        files.require_there()
    finally:
        files.close()
    if maker.count:
        yield maker.take()


def prime(maker: RowMaker, wal_folder: Path, file: int, kind: FileKind = MappedFile) -> None:
    """Bring a fresh row maker to where a file begins: it needs the first pieces of messages that end in it."""
    opened = kind(log_path(wal_folder, file))
    try:
        first = next(read_batches(opened.view, file), None)
        snapshot = first.operations.ops[0] if first is not None else None
    finally:
        opened.close()
    if isinstance(snapshot, Snapshot) and any(state.unfinished for state in snapshot.groups):
        for earlier in log_files_in(wal_folder):
            if earlier < file:
                for _ in feed_file(maker, wal_folder, earlier, kind):
                    maker.forget()


class ArrowFiles:
    """Writes one file after the other; large messages may begin in one and end in the next."""

    def __init__(self, wal_folder: Path, sites: tuple[str, ...], group_names: tuple[str, ...], site: int) -> None:
        self._wal_folder = wal_folder
        self._maker = RowMaker(sites, group_names, site)
        self._primed = False

    def write(self, file: int, target: Path) -> None:
        if not self._primed:
            prime(self._maker, self._wal_folder, file)
            self._primed = True
        part = target.with_suffix(".arrow.part")
        with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            for batch in feed_file(self._maker, self._wal_folder, file):
                writer.write_batch(batch)
        descriptor = os.open(part, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.replace(part, target)
