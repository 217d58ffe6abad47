"""Writes the log's files and the marks: what reaches the disk, in which order, and what is called synced.

Batches are written by whoever commits (the loop or a thread, one at a time); syncs and letting go of files run in
threads, beside it. A sync that fails is the end: nothing that was in the system's memory counts any more, and the marks
say so (no boot id), so that the next start reads, writes again and syncs the tail before use.
"""

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tocsin.live.errors import StorageFailed
from tocsin.live.storage.disk import Disk, Mapped, disk_error
from tocsin.live.storage.file_format import BATCHES_AT, BLOCK, SLOTS_AT, encode_slot, log_path
from tocsin.live.storage.log_format import FileEnd, Place
from tocsin.live.storage.marks import NOBODY, Mark, Marks
from tocsin.live.storage.recovery import Recovered

SPARES_MAX: Final = 2  # files kept to be written over: one for the next, one for a burst
ALLOCATED_MIN: Final = 1 << 20  # room that is taken for a new file; then twice as much each time, up to a file's size
_COPY_BYTES: Final = 1 << 20


class LogWriter:
    """One member's. `open_files`: by number, the descriptors; whoever reads frames back has the same."""

    def __init__(self, disk: Disk, folder: Path, open_files: dict[int, int], file_bytes: int, syncs: bool) -> None:
        self._disk = disk
        self._folder = folder
        self._open = open_files
        self._leaving: dict[int, int] = {}  # descriptors of files that are let go of
        self._file_bytes = file_bytes
        self._syncs = syncs  # whether anything is visible only when it was synced
        self._spares: list[Path] = []  # files to be written over
        self._map: Mapped | None = None  # the first blocks of the newest file
        self._turn = 0  # of the end slots
        self._secret = b""
        self._allocated = 0  # of the newest file
        self._written = FileEnd(0, 0, 0)  # the last batch that was written
        self._dirty: set[int] = set()  # files with writes that were not synced
        self._new_names = False  # the folder was not synced since a file got its name
        self._secured: dict[int, FileEnd] = {}  # file -> so far it was synced, whatever was of the files before
        self._syncing = threading.Lock()  # one sync, or letting go, at a time
        self._marking = threading.Lock()  # held for a mark only
        self._marks: Marks
        # what the next mark says
        self._group_id = NOBODY
        self._incarnation = NOBODY
        self._boot = NOBODY
        self._first = 0
        self._begun = 0
        self._synced = FileEnd(0, 0, 0)
        self._closed = False
        self._ends = False
        self._in_doubt = False

    # Opening what was found

    def open(self, found: Recovered, group_id: bytes, incarnation: bytes) -> None:
        """Take over what recovery found intact. What lies behind the last mark is written again and synced: a sync of
        an earlier life may have failed, and what can be read now may be in memory only."""
        try:
            last = max(found.ends, default=-1)
            self._put_names_right(found)
            for file in sorted(found.ends):
                self._open[file] = self._disk.open(log_path(self._folder, file))
            if found.mark is None or not found.mark.closed:
                for file in sorted(found.ends):
                    self._write_again(found.ends[file], found.synced)
            self._disk.sync_folder(self._folder)
            self._marks = Marks(self._disk, self._folder, found.number)
            self._group_id, self._incarnation = group_id, incarnation
            self._boot = self._disk.boot_id()
            self._first = found.first
            self._begun = max(last + 1, found.first)
            self._synced = self._written = found.ends[last] if last >= 0 else FileEnd(found.first, 0, 0)
            self._ends = True
            self._in_doubt = bool(found.in_doubt)
            self._mark()
            self._mark()  # twice: either alone will do
            self._marks.sync()
        except OSError as error:
            for descriptor in self._open.values():
                self._disk.close(descriptor)
            self._open.clear()
            raise StorageFailed(disk_error(self._folder, error)) from None

    def _put_names_right(self, found: Recovered) -> None:
        for file in found.aside:
            path = log_path(self._folder, file)
            names = self._disk.names(self._folder)
            number = sum(name.startswith(f"{path.stem}.aside") for name in names)
            self._disk.rename(path, path.with_suffix(f".aside{number}"))
        for file in found.unused:
            self._put_by(log_path(self._folder, file))
        spares = [self._folder / name for name in self._disk.names(self._folder) if name.endswith(".spare")]
        for spare in spares[SPARES_MAX:]:
            self._disk.remove(spare)
        self._spares = spares[:SPARES_MAX]

    def _write_again(self, end: FileEnd, synced: Place) -> None:
        """The header and the batches; end slots are of no use any more."""
        if end.file < synced[0]:
            return
        descriptor = self._open[end.file]
        at = synced[1] if end.file == synced[0] else 0
        if at < BATCHES_AT:
            self._copy(descriptor, 0, BLOCK)
            at = BATCHES_AT
        while at < end.end:
            at += self._copy(descriptor, at, min(_COPY_BYTES, end.end - at))
        self._disk.sync(descriptor)

    def _copy(self, descriptor: int, at: int, size: int) -> int:
        data = self._disk.read(descriptor, size, at)
        self._disk.write(descriptor, [data], at, len(data))
        return len(data)

    # Writing

    def begin(self, file: int, header: bytes, secret: bytes) -> None:
        """Make a file of this number; its header is in the kernel's hands when this returns, and synced by the next
        sync, with its name."""
        path = log_path(self._folder, file)
        try:
            if self._spares:
                self._disk.rename(self._spares.pop(), path)
            descriptor = self._disk.open(path, create=True)
            self._open[file] = descriptor
            self._allocated = max(self._disk.size(descriptor), min(ALLOCATED_MIN, BATCHES_AT + self._file_bytes))
            self._disk.allocate(descriptor, 0, self._allocated)
            self._disk.write(descriptor, [header], 0, len(header))
            if self._map is not None:
                self._map.close()
            self._map = self._disk.map(descriptor, BATCHES_AT)
        except OSError as error:
            raise StorageFailed(disk_error(path, error)) from None
        self._secret = secret
        self._new_names = True
        self._dirty.add(file)
        if not self._syncs:
            self._begun = file + 1
            self._mark()

    def write(self, buffers: "Sequence[bytes | memoryview]", offset: int, length: int, end: FileEnd) -> None:
        """A batch, all of it, and then how far the file is written."""
        descriptor = self._open[end.file]
        assert self._map is not None
        try:
            if end.end > self._allocated:
                self._allocate(descriptor, end.end)
            self._disk.write(descriptor, buffers, offset, length)
        except OSError as error:
            raise StorageFailed(disk_error(log_path(self._folder, end.file), error)) from None
        self._turn = 1 - self._turn
        self._map.put(SLOTS_AT[self._turn], encode_slot(self._secret, end.end, end.check))
        self._dirty.add(end.file)
        self._written = end

    def _allocate(self, descriptor: int, size: int) -> None:
        """Room for so many bytes of the newest file, and more."""
        larger = min(2 * self._allocated, BATCHES_AT + self._file_bytes)
        if larger < size:
            larger = size + min(ALLOCATED_MIN, self._file_bytes)
        self._disk.allocate(descriptor, self._allocated, larger - self._allocated)
        self._allocated = larger

    # Syncing

    def synced(self) -> Place:
        """What the last sync covered."""
        return self._synced.file, self._synced.end

    def sync(self) -> None:
        """Make everything written so far safe from a power loss: files, their names, and then the mark that says so."""
        with self._syncing:
            self._sync(self._first)

    def _sync(self, first: int) -> None:
        """`first`: from here on the log begins with this file; older ones need not be synced."""
        target = self._written
        path = self._folder
        try:
            for file in sorted(self._dirty):
                self._dirty.discard(file)
                descriptor = self._open.get(file)
                if descriptor is not None:  # else let go of: nothing of it is needed
                    path = log_path(self._folder, file)
                    self._disk.sync(descriptor)
            path = self._folder
            is_new_file = self._new_names
            if is_new_file:
                self._new_names = False
                self._disk.sync_folder(self._folder)
            with self._marking:
                self._advance(target)
                self._first = first
                self._begun = max(self._begun, target.file + 1)
                self._put_mark()
            if is_new_file:
                self._marks.sync()
        except OSError as error:
            raise self._sync_failed(path, error) from None

    def _advance(self, target: FileEnd) -> None:
        """More is synced. Until then the marks say where the last life's file ended: a new file's header says it, too,
        but may be lost in a power loss."""
        self._ends = self._ends and target == self._synced
        self._synced = target

    def _sync_failed(self, path: Path, error: OSError) -> StorageFailed:
        self._boot = NOBODY
        self._mark()
        return StorageFailed(disk_error(path, error))

    def secure(self, file: int) -> None:
        """Make the beginning of the newest file safe from a power loss, so that those before it can be let go of: soon
        after it was begun, when that is little, and whatever else waits to be synced."""
        with self._syncing:
            target = self._written
            if self._syncs or target.file != file:
                return  # it is synced anyway; or nothing was written to it yet
            path = log_path(self._folder, target.file)
            try:
                self._dirty.discard(target.file)
                self._disk.sync(self._open[target.file])
                if self._new_names:
                    self._new_names = False
                    self._disk.sync_folder(self._folder)
            except OSError as error:
                raise self._sync_failed(path, error) from None
            self._secured[target.file] = target

    def rest(self) -> None:
        """Nothing is under way: the last mark itself becomes safe."""
        with self._syncing:
            self._sync_marks()

    def _mark(self) -> None:
        with self._marking:
            self._put_mark()

    def _put_mark(self) -> None:
        self._marks.put(
            Mark(
                group_id=self._group_id,
                incarnation=self._incarnation,
                first=self._first,
                begun=self._begun,
                file=self._synced.file,
                offset=self._synced.end,
                check=self._synced.check,
                boot=self._boot,
                syncs=self._syncs,
                closed=self._closed,
                ends=self._ends,
                in_doubt=self._in_doubt,
            )
        )

    def become(self, group_id: bytes, incarnation: bytes) -> None:
        """The next mark says of which group and incarnation the log is, before any header does."""
        with self._syncing:
            self._group_id, self._incarnation = group_id, incarnation
            self._mark()
            self._mark()
            self._sync_marks()

    def settle(self) -> None:
        """What was in doubt is so no longer."""
        with self._syncing:
            self._in_doubt = False
            self._mark()
            self._sync_marks()

    def _sync_marks(self) -> None:
        try:
            self._marks.sync()
        except OSError as error:
            raise self._sync_failed(self._folder, error) from None

    # Letting go

    def leave(self, file: int) -> None:
        """Nobody reads this file any more; `recycle` follows."""
        self._leaving[file] = self._open.pop(file)

    def recycle(self, files: list[int]) -> None:
        """Files that nobody needs may be written over. The log begins behind them: first that is synced, and what is
        left of the log, then their names go."""
        if not files:
            return
        first = max(files) + 1
        with self._syncing:
            if first in self._secured:
                with self._marking:
                    self._first = first
                    if self.synced() < (first, self._secured[first].end):
                        self._advance(self._secured[first])
                    self._put_mark()
            else:
                self._sync(first)
            self._sync_marks()
            for file in [file for file in self._secured if file < first]:
                del self._secured[file]
            try:
                for file in files:
                    self._disk.close(self._leaving.pop(file))
                    self._put_by(log_path(self._folder, file))
            except OSError as error:
                raise StorageFailed(disk_error(self._folder, error)) from None

    def _put_by(self, path: Path) -> None:
        """Keep a few files that nobody needs, to be written over: new files cost the system new pages."""
        if len(self._spares) < SPARES_MAX:
            spare = path.with_suffix(".spare")
            self._disk.rename(path, spare)
            self._spares.append(spare)
        else:
            self._disk.remove(path)

    def close(self) -> None:
        """Let go of everything. If all was synced, the marks say that the log ends here."""
        with self._syncing, contextlib.suppress(OSError):
            if self._synced == self._written and self._boot != NOBODY and not self._dirty:
                self._closed = True
                self._mark()
                self._marks.sync()
        if self._map is not None:
            self._map.close()
        self._marks.close()
        for descriptor in (*self._open.values(), *self._leaving.values()):
            self._disk.close(descriptor)
        self._open.clear()
        self._leaving.clear()
