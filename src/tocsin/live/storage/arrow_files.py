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
    read_batches,
    segment_path,
    segments_in,
)

FileKind = type[MappedFile] | type[CopiedFile]


class _Files:
    """The files of a log, opened when first asked for."""

    def __init__(self, folder: Path, kind: FileKind) -> None:
        self._folder = folder
        self._kind = kind
        self._open: dict[int, MappedFile | CopiedFile] = {}

    def view(self, segment: int) -> memoryview:
        if segment not in self._open:
            self._open[segment] = self._kind(segment_path(self._folder, segment))
        return self._open[segment].view

    def require_there(self) -> None:
        """What was read of a file that has left the log since may have been written over."""
        for segment in self._open:
            segment_path(self._folder, segment).stat()

    def let_go(self) -> None:
        for file in self._open.values():
            file.let_go()

    def close(self) -> None:
        for file in self._open.values():
            file.close()


def feed_segment(maker: RowMaker, folder: Path, segment: int, kind: FileKind = MappedFile) -> Iterator[Any]:
    """Feed a file of the log to a row maker; yields record batches as they fill. FileNotFoundError if it, or one that
    it refers to, has left the log meanwhile."""
    files = _Files(folder, kind)
    try:
        view = files.view(segment)
        for batch in read_batches(view, segment):
            at = batch.contents_at
            for op in batch.operations.ops:
                size = sum(content_sizes(op))
                content = b""
                if isinstance(op, Deliver) and op.segment >= 0:
                    content = bytes(files.view(op.segment)[op.offset : op.offset + op.size])
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


def prime(maker: RowMaker, wal_folder: Path, segment: int, kind: FileKind = MappedFile) -> None:
    """Bring a fresh row maker to where a file begins: it needs the first pieces of messages that end in it."""
    file = kind(segment_path(wal_folder, segment))
    try:
        first = next(read_batches(file.view, segment), None)
        snapshot = first.operations.ops[0] if first is not None else None
    finally:
        file.close()
    if isinstance(snapshot, Snapshot) and any(state.unfinished for state in snapshot.groups):
        for earlier in segments_in(wal_folder):
            if earlier < segment:
                for _ in feed_segment(maker, wal_folder, earlier, kind):
                    maker.forget()


class ArrowFiles:
    """Writes one file after the other; large messages may begin in one and end in the next."""

    def __init__(self, wal_folder: Path, sites: tuple[str, ...], group_names: tuple[str, ...], site: int) -> None:
        self._wal_folder = wal_folder
        self._maker = RowMaker(sites, group_names, site)
        self._primed = False

    def write(self, segment: int, target: Path) -> None:
        if not self._primed:
            prime(self._maker, self._wal_folder, segment)
            self._primed = True
        part = target.with_suffix(".arrow.part")
        with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            for batch in feed_segment(self._maker, self._wal_folder, segment):
                writer.write_batch(batch)
        descriptor = os.open(part, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.replace(part, target)
