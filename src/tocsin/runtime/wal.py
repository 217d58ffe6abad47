"""The write-ahead log: what a step of the machine makes durable is written as one, and after a crash is there as one.

The driver stages operations, and commits them: `layout` decides where the batch goes, `write` writes it (and may run in
a thread), `apply` makes it part of the state that is read back. `Wal` knows the format and the files; when to commit,
and whether to wait for the disk, is the driver's business.
"""

import os
import time
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.runtime.errors import StorageFailed
from tocsin.runtime.frame_log import FrameLog
from tocsin.runtime.wal_format import (
    Broadcast,
    Checkpoint,
    Deliver,
    GroupState,
    MappedFile,
    Missed,
    Op,
    Persist,
    Rollback,
    Snapshot,
    Start,
    Stop,
    ViewInstalled,
    content_sizes,
    encode_batch,
    read_batches,
    segment_path,
    segments_in,
)

KNOWN_BYTES_MAX = 32 << 20  # payloads remembered to be in the log; what is delivered later is written again
PATIENCE = 3  # how often the size of a file a checkpoint is waited for
SPARES_MAX = 2  # files kept to be written over: one for the next, one for a burst


Inner = tuple[bytes, int]  # a payload, and its offset in a record's bytes


class Laid:
    """A batch that has its place in a file."""

    def __init__(
        self, segment: int, offset: int, ops: list[Op], head: bytes, contents: list[bytes], inner: "dict[int, Inner]"
    ) -> None:
        self.inner = inner  # by operation: payloads inside of its content
        self.segment = segment
        self.offset = offset
        self.ops = ops
        self.head = head
        self.contents = contents
        self.contents_at = offset + len(head)
        self.length = len(head) + sum(map(len, contents))


class Wal:
    """One member's log, opened by its only writer."""

    def __init__(self, folder: Path, groups: int, segment_bytes: int, syncs: bool = True) -> None:
        self._syncs = syncs  # whether a new file's name has to be safe from a power loss before it is used
        self.log = FrameLog(groups)
        self.life = -1  # of the last start found
        self.clean = True  # whether the last life ended in order
        self.next_number = 0  # of this member's next message
        self.view: ViewInstalled | None = None
        self.cut_bytes = 0  # of a torn tail, found at the start
        self.records: list[tuple[int, int, int]] = []  # file, offset, size: live records of the protocol, oldest first
        self._record_bytes = 0  # of the live records
        self.segment = -1  # the file being written; -1 before the first
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._offset = 0  # where the next batch goes
        self._snapshot_end = 0  # about where the present file's snapshot ends
        self._begun = False  # whether a first snapshot was applied
        self._full = False  # whether the present file takes no more
        self._ops: list[Op] = []
        self._contents: list[bytes] = []
        self._inner: dict[int, Inner] = {}  # by staged operation: the payload inside of its content
        self._referred: list[bytes] = []  # frames of staged deliveries that lie elsewhere, in order
        self._known: dict[int, tuple[bytes, int, int]] = {}  # id -> payload, file, offset: written as part of a record
        self._known_bytes = 0
        self._used_by: dict[int, int] = {}  # file -> the newest file that refers to its bytes
        self._pinned: dict[int, int] = {}  # file -> deliveries that refer to it and are not yet applied
        self._ends: dict[int, list[int]] = {}  # closed file -> per group the frame position after its last
        self._begins: dict[int, list[int]] = {}  # file -> per group the oldest frame that its first messages need
        self._spares: list[Path] = []  # files to be written over
        self._dirty: set[int] = set()  # files with writes that were not synced
        folder.mkdir(parents=True, exist_ok=True)
        self._recover()

    # Recovery

    def _recover(self) -> None:
        for stray in self._folder.glob("*.spare"):
            stray.unlink()
        segments = segments_in(self._folder)
        for place, segment in enumerate(segments):
            end, size, recycled = self._replay(segment)
            if end > 0:
                self.segment = segment
                self._offset = end
                self._ends[segment] = [index.end for index in self.log.groups]
            if end < size or end == 0:
                self.cut_bytes += 0 if recycled else size - end
                self._cut(segments[place:], end)
                break
        self._ends.pop(self.segment, None)
        for index in self.log.groups:
            index.trim_missing(self.log.files)

    def _replay(self, segment: int) -> tuple[int, int, bool]:
        """Take over a file's batches; where the good ones end, the file's size, and whether it was another one
        before."""
        path = segment_path(self._folder, segment)
        mapped = MappedFile(path)
        end = 0
        recycled = False
        size = len(mapped.view)
        try:
            for batch in read_batches(mapped.view, segment):
                if end == 0:
                    if not batch.operations.ops or not isinstance(batch.operations.ops[0], Snapshot):
                        break
                    self.log.files[segment] = os.open(path, os.O_RDWR)
                    recycled = batch.operations.ops[0].recycled
                    self._begins[segment] = _oldest_needed(batch.operations.ops[0].groups)
                self._apply_ops(batch.operations.ops, segment, batch.contents_at, {})
                end = batch.end
        finally:
            mapped.close()
        return end, size, recycled

    def _cut(self, segments: list[int], end: int) -> None:
        """Cut the first file at `end` and drop the rest: what is behind a torn batch never became visible."""
        for segment in segments[1:] if end > 0 else segments:
            os.unlink(segment_path(self._folder, segment))
        if end > 0:
            os.ftruncate(self.log.files[segments[0]], end)
            os.fsync(self.log.files[segments[0]])
        self._sync_folder()

    # Staging and committing

    def stage(self, op: Op, content: bytes | None = None) -> None:
        self._ops.append(op)
        if content is not None:
            self._contents.append(content)

    def stage_record(self, data: bytes, payload: bytes) -> None:
        """A record, and the payload that it holds (or b""): a later delivery of the very same object need not be
        written."""
        self._ops.append(Persist(len(data)))
        self._contents.append(data)
        if payload and data.endswith(payload):  # records have it last; one that has not is written again
            self._inner[len(self._ops) - 1] = (payload, len(data) - len(payload))

    def place_of(self, payload: bytes) -> tuple[int, int]:
        """Where the log has these bytes already: file and offset, or -1."""
        known = self._known.pop(id(payload), None)
        if known is None:
            self._inner = {place: inner for place, inner in self._inner.items() if inner[0] is not payload}
            return -1, 0
        self._known_bytes -= len(payload)
        if known[1] not in self.log.files:
            return -1, 0
        self._pinned[known[1]] = self._pinned.get(known[1], 0) + 1
        return known[1], known[2]

    def stage_delivery(self, op: Deliver, payload: bytes) -> None:
        self._ops.append(op)
        if op.segment < 0:
            self._contents.append(payload)
        else:
            self._referred.append(payload)

    def stage_checkpoint(self, records: list[bytes]) -> None:
        self._ops.append(Checkpoint(tuple(map(len, records))))
        self._contents.extend(records)

    def staged(self) -> int:
        return len(self._ops)

    def staged_of(self, group: int) -> list[tuple[Op, bytes]]:
        """The staged operations on a group's frames, with the frames delivered."""
        found: list[tuple[Op, bytes]] = []
        at = 0
        referred = 0
        for op in self._ops:
            content = b""
            if isinstance(op, Deliver):
                content = self._contents[at] if op.segment < 0 else self._referred[referred]
                referred += op.segment >= 0
            if isinstance(op, (Deliver, Rollback, Missed)) and op.group == group:
                found.append((op, content))
            at += len(content_sizes(op))
        return found

    def insert(self, at: int, op: Op) -> None:
        """Put an operation without content before some that are staged."""
        self._ops.insert(at, op)
        self._inner = {place + (place >= at): inner for place, inner in self._inner.items()}

    def drop_staged(self) -> None:
        self._take_staged()

    def _take_staged(self) -> None:
        self._ops = []
        self._contents = []
        self._inner = {}
        self._referred = []

    def layout(self) -> Laid:
        """Give the staged operations their place. Everything laid out before must have been applied."""
        if self.segment < 0 or self._is_full():
            self._open_next()
        segment = self.segment
        head, _ = encode_batch(segment, time.time_ns() // 1000, self._ops, self._contents)
        laid = Laid(segment, self._offset, self._ops, head, self._contents, self._inner)
        self._offset += laid.length
        self._take_staged()
        return laid

    def _is_full(self) -> bool:
        """The next file repeats the live records. So it begins with a checkpoint, which replaces them; or, when none
        comes, after as much as they are, and more, has been written besides."""
        written = self._offset - self._snapshot_end
        if self._full or (self._replaces_records() and written >= self._segment_bytes):
            return True
        return written >= max(PATIENCE * self._segment_bytes, self._record_bytes)

    def _replaces_records(self) -> bool:
        return any(isinstance(op, Checkpoint) for op in self._ops)

    def _open_next(self) -> None:
        """Start a file: its first operation is a snapshot of all that older files say, but for frames."""
        records = [] if self._replaces_records() else self.read_records()
        groups = tuple(index.state() for index in self.log.groups)
        spare = self._spares.pop() if self._spares else None
        self.segment += 1
        path = segment_path(self._folder, self.segment)
        try:
            if self.segment > 0:
                self._ends[self.segment - 1] = [index.end for index in self.log.groups]
                os.ftruncate(self.log.files[self.segment - 1], self._offset)
            if spare is not None:
                os.rename(spare, path)
            flags = os.O_RDWR if spare is not None else os.O_RDWR | os.O_CREAT | os.O_EXCL
            self.log.files[self.segment] = os.open(path, flags, 0o600)
            if self._syncs:
                self._sync_folder()
        except OSError as error:
            raise StorageFailed(f"{path}: {(error.strerror or str(error)).lower()}") from None
        self._offset = 0
        self._full = False
        self._begins[self.segment] = _oldest_needed(groups)
        sizes = tuple(map(len, records))
        snapshot = Snapshot(self.life, self.next_number, self.view, groups, sizes, spare is not None)
        self._snapshot_end = sum(sizes)
        self.insert(0, snapshot)
        self._contents[:0] = records

    def write(self, laid: Laid) -> None:
        """Write a batch; safe to run in a thread."""
        buffers: list[bytes | memoryview] = [laid.head, *laid.contents]
        if len(buffers) > 512:
            buffers = [b"".join(buffers)]
        offset = laid.offset
        left = laid.length
        try:
            while left > 0:
                written = os.pwritev(self.log.files[laid.segment], buffers, offset)
                left -= written
                offset += written
                if left > 0:
                    buffers = [memoryview(b"".join(buffers))[written:]]
        except OSError as error:
            path = segment_path(self._folder, laid.segment)
            raise StorageFailed(f"{path}: {(error.strerror or str(error)).lower()}") from None
        self._dirty.add(laid.segment)

    def sync(self) -> None:
        """Make everything written durable against a power loss; safe to run in a thread."""
        dirty = list(self._dirty)
        for segment in dirty:
            descriptor = self.log.files.get(segment)
            if descriptor is None:
                continue  # removed meanwhile: nothing of it is needed
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                path = segment_path(self._folder, segment)
                raise StorageFailed(f"{path}: {(error.strerror or str(error)).lower()}") from None
            if segment != self.segment:
                self._dirty.discard(segment)

    def apply(self, laid: Laid) -> None:
        """The batch is written: its operations become what is read back."""
        for op in laid.ops:
            if isinstance(op, Deliver) and op.segment >= 0:
                self._pinned[op.segment] -= 1
        self._apply_ops(laid.ops, laid.segment, laid.contents_at, laid.inner)

    def _apply_ops(self, ops: list[Op], segment: int, offset: int, inner: dict[int, Inner]) -> None:
        for index, op in enumerate(ops):
            if isinstance(op, Deliver):
                self.log.group(op.group).append(op, segment, offset)
                if op.segment >= 0 and op.segment != segment:
                    self._refer(op.segment, segment)
            elif isinstance(op, Persist):
                self.records.append((segment, offset, op.size))
                self._record_bytes += op.size
                if index in inner:
                    self._know(inner[index], segment, offset)
            elif isinstance(op, Broadcast):
                self.next_number = max(self.next_number, op.number + max(op.count, 1))
            elif isinstance(op, ViewInstalled):
                self.view = op
            elif isinstance(op, Rollback):
                self.log.group(op.group).undo(op.begins)
            elif isinstance(op, Missed):
                if op.origin < 0:
                    self.log.group(op.group).skip(op.first + op.count)
            elif isinstance(op, (Checkpoint, Snapshot)):
                self.records = []
                self._record_bytes = sum(op.sizes)
                at = offset
                for size in op.sizes:
                    self.records.append((segment, at, size))
                    at += size
                if isinstance(op, Snapshot):
                    self._apply_snapshot(op)
            elif isinstance(op, Start):
                self.life = op.life
                self.clean = False
            elif isinstance(op, Stop):
                self.clean = True
            for size in content_sizes(op):
                offset += size

    def _know(self, inner: Inner, segment: int, offset: int) -> None:
        payload, at = inner
        if id(payload) not in self._known:
            self._known_bytes += len(payload)
        self._known[id(payload)] = (payload, segment, offset + at)
        while self._known_bytes > KNOWN_BYTES_MAX:
            oldest = next(iter(self._known))
            self._known_bytes -= len(self._known.pop(oldest)[0])

    def _refer(self, target: int, segment: int) -> None:
        """A delivery noted in one file has its bytes in an older one, which is kept as long as they are needed."""
        self._used_by[target] = segment
        if target in self._ends:
            self._ends[target] = [index.end for index in self.log.groups]

    def _apply_snapshot(self, op: Snapshot) -> None:
        """At the first file found, where everything stands; later ones repeat what is already known."""
        if self._begun:
            return
        self._begun = True
        self.life = op.life
        self.next_number = op.next_number
        self.view = op.view
        self.clean = op.life < 0
        for group, state in enumerate(op.groups):
            self.log.group(group).restore(state)

    # Reading back, and letting go

    def read_records(self) -> list[bytes]:
        return [os.pread(self.log.files[segment], size, offset) for segment, offset, size in self.records]

    def closed(self) -> list[int]:
        """Closed files, oldest first."""
        return sorted(self._ends)

    def release(self, needed: list[int], archived: int) -> list[int]:
        """Remove closed files that hold no frame at or above `needed` (by group) and are below `archived`, the first
        that is not yet in the journal; what its first messages began with stays, too."""
        gone: list[int] = []
        begins = self._begins.get(archived, [])
        needed = [min(need, begins[group]) if group < len(begins) else need for group, need in enumerate(needed)]
        for segment in self.closed():
            ends = self._ends[segment]
            if segment >= archived or self._used_by.get(segment, -1) >= archived or self._pinned.get(segment, 0):
                break
            if any(end > needed[group] for group, end in enumerate(ends)):
                break
            os.close(self.log.files.pop(segment))
            self._put_by(segment_path(self._folder, segment))
            del self._ends[segment]
            del self._begins[segment]
            self._used_by.pop(segment, None)
            self._pinned.pop(segment, None)
            self._dirty.discard(segment)
            gone.append(segment)
        if gone:
            for group, index in enumerate(self.log.groups):
                index.forget(min(needed[group], index.end))
        return gone

    def _put_by(self, path: Path) -> None:
        """Keep a few files that nobody needs, to be written over: new files cost the system new pages."""
        if len(self._spares) < SPARES_MAX:
            spare = path.with_suffix(".spare")
            os.rename(path, spare)
            self._spares.append(spare)
        else:
            os.unlink(path)

    def size_bytes(self) -> int:
        closed = [self.log.files[segment] for segment in self._ends if segment in self.log.files]
        return self._offset + sum(os.fstat(descriptor).st_size for descriptor in closed)

    def close_file(self) -> None:
        """Begin a new file with the next batch: the present one goes to the journal whole."""
        self._full = True

    def close(self) -> None:
        """Let go of the files; what an overwritten one holds behind its last batch goes, too."""
        if self.segment in self.log.files:
            os.ftruncate(self.log.files[self.segment], self._offset)
        for spare in self._spares:
            spare.unlink(missing_ok=True)
        self._spares = []
        for descriptor in self.log.files.values():
            os.close(descriptor)
        self.log.files.clear()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _oldest_needed(groups: tuple[GroupState, ...]) -> list[int]:
    """Per group, the frame position from which on a reader that starts here can put every message together."""
    return [min((position for _, position in state.unfinished), default=state.end) for state in groups]


def require_folder(path: Path) -> None:
    """Make a member's folder, or say why not in one line."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {(error.strerror or str(error)).lower()}") from None
