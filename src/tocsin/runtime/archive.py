"""Closed files of the write-ahead log become Arrow files of the journal; old ones are dropped as the owner wishes."""

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.runtime.journal_format import SCHEMA, RowMaker
from tocsin.runtime.wal_format import (
    Deliver,
    MappedFile,
    Snapshot,
    content_sizes,
    read_batches,
    segment_path,
    segments_in,
)


def journal_path(folder: Path, segment: int) -> Path:
    return folder / f"{segment:010d}.arrow"


def journal_files(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.arrow") if path.stem.isdigit())


def feed_segment(maker: RowMaker, path: Path, segment: int) -> Any:
    """Feed a file of the log to a row maker; yields record batches as they fill."""
    mapped = MappedFile(path)
    try:
        for batch in read_batches(mapped.view, segment):
            at = batch.contents_at
            for op in batch.operations.ops:
                size = sum(content_sizes(op))
                content = bytes(mapped.view[at : at + size]) if isinstance(op, Deliver) else b""
                maker.feed(batch.operations.time_us, op, content)
                at += size
                if maker.is_full():
                    yield maker.take()
    finally:
        mapped.close()
    if maker.count:
        yield maker.take()


def prime(maker: RowMaker, wal_folder: Path, segment: int) -> None:
    """Bring a fresh row maker to where a file begins: it needs the first pieces of messages that end in it."""
    path = segment_path(wal_folder, segment)
    mapped = MappedFile(path)
    try:
        first = next(read_batches(mapped.view, segment), None)
        snapshot = first.operations.ops[0] if first is not None else None
    finally:
        mapped.close()
    if isinstance(snapshot, Snapshot) and any(state.unfinished for state in snapshot.groups):
        for earlier in segments_in(wal_folder):
            if earlier < segment:
                for _ in feed_segment(maker, segment_path(wal_folder, earlier), earlier):
                    maker.forget()


class Archive:
    """The journal's folder of one member."""

    def __init__(
        self, site_dir: Path, sites: tuple[str, ...], group_names: tuple[str, ...], site: int, keep: tuple[int, int]
    ) -> None:
        self.folder = site_dir / "journal"
        self.stat_dropped = 0  # Arrow files that retention has removed
        self._wal_folder = site_dir / "wal"
        self._keep_bytes, self._keep_seconds = keep
        self._maker = RowMaker(sites, group_names, site)
        self._primed = False
        self.folder.mkdir(parents=True, exist_ok=True)
        for stray in self.folder.glob("*.arrow.part"):
            stray.unlink()
        files = journal_files(self.folder)
        self.archived = files[-1] + 1 if files else 0  # the first file of the log that is not yet here

    def add(self, segment: int) -> None:
        """Turn one closed file into an Arrow file; runs in a thread, one call at a time, in order."""
        if not self._primed:
            prime(self._maker, self._wal_folder, segment)
            self._primed = True
        target = journal_path(self.folder, segment)
        part = target.with_suffix(".arrow.part")
        with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
            for batch in feed_segment(self._maker, segment_path(self._wal_folder, segment), segment):
                writer.write_batch(batch)
        descriptor = os.open(part, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.replace(part, target)
        self.archived = segment + 1
        self.retain(time.time())

    def retain(self, now: float) -> None:
        """Drop the oldest files above the limits; the newest always stays."""
        files = journal_files(self.folder)
        sizes = {number: journal_path(self.folder, number).stat() for number in files}
        total = sum(stat.st_size for stat in sizes.values())
        for number in files[:-1]:
            too_old = 0 < self._keep_seconds < now - sizes[number].st_mtime
            if total <= self._keep_bytes and not too_old:
                return
            journal_path(self.folder, number).unlink()
            total -= sizes[number].st_size
            self.stat_dropped += 1
