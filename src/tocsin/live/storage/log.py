"""The log: what a step of the machine makes durable is written as one, and after a crash is there as one.

The driver stages operations, and commits them: `layout` decides where the batch goes, `write` writes it (and may run in
a thread), `apply` makes it part of the state that is read back. `Log` knows the format and the files; when to commit,
and whether to wait for the disk, is the driver's business.
"""

import os
import time
from pathlib import Path

from tocsin.live.storage.batch import Batch
from tocsin.live.storage.log_files import LogFiles
from tocsin.live.storage.log_format import (
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
    View,
    check_version,
    content_sizes,
    encode_batch,
    log_files_in,
    log_path,
    read_batches,
)
from tocsin.live.storage.logged_frames import LoggedFrames

KNOWN_BYTES_MAX = 32 << 20  # payloads remembered to be in the log; what is delivered later is written again
PATIENCE = 3  # how often the size of a file a checkpoint is waited for


class Laid:
    """A batch that has its place in a file."""

    def __init__(self, file: int, offset: int, batch: Batch, head: bytes) -> None:
        self.file = file
        self.offset = offset
        self.batch = batch
        self.head = head
        self.contents_at = offset + len(head)
        self.length = len(head) + sum(map(len, batch.contents))


class Log:
    """One member's log, opened by its only writer."""

    def __init__(self, folder: Path, groups: int, file_bytes: int, syncs: bool = True) -> None:
        self._syncs = syncs  # whether a new file's name has to be safe from a power loss before it is used
        self.frames = LoggedFrames(groups)
        self.life = -1  # of the last start found
        self.clean = True  # whether the last life ended in order
        self.next_number = 0  # of this member's next message
        self.view: View | None = None
        self.cut_bytes = 0  # of a torn tail, found at the start
        self.records: list[tuple[int, int, int]] = []  # file, offset, size: live records of the protocol, oldest first
        self._record_bytes = 0  # of the live records
        self.file = -1  # the file being written; -1 before the first
        self._folder = folder
        self._file_bytes = file_bytes
        self._offset = 0  # where the next batch goes
        self._snapshot_end = 0  # about where the present file's snapshot ends
        self._begun = False  # whether a first snapshot was applied
        self._full = False  # whether the present file takes no more
        self._staged = Batch()
        self._known: dict[int, tuple[bytes, int, int]] = {}  # identity -> payload, file, offset
        self._known_bytes = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._files = LogFiles(folder, self.frames.files)
        self._recover()

    # Recovery

    def _recover(self) -> None:
        files = log_files_in(self._folder)
        for place, file in enumerate(files):
            end, size, recycled = self._replay(file)
            if end > 0:
                self.file = file
                self._offset = end
                self._files.ends[file] = self._frame_ends()
            if end < size or end == 0:
                self.cut_bytes += 0 if recycled else size - end
                self._files.cut(files[place:], end)
                break
        self._files.ends.pop(self.file, None)
        for index in self.frames.groups:
            index.trim_missing(self.frames.files)

    def _replay(self, file: int) -> tuple[int, int, bool]:
        """Take over a file's batches; where the good ones end, the file's size, and whether it was another one
        before."""
        path = log_path(self._folder, file)
        mapped = MappedFile(path)
        end = 0
        recycled = False
        size = len(mapped.view)
        try:
            check_version(path, mapped.view)
            for batch in read_batches(mapped.view, file):
                if end == 0:
                    if not batch.operations.ops or not isinstance(batch.operations.ops[0], Snapshot):
                        break
                    self._files.open_found(file)
                    recycled = batch.operations.ops[0].recycled
                    self._files.begins[file] = _oldest_needed(batch.operations.ops[0].groups)
                self._apply_ops(batch.operations.ops, file, batch.contents_at, [])
                end = batch.end
        finally:
            mapped.close()
        return end, size, recycled

    # Staging and committing

    def stage(self, op: Op) -> None:
        """An operation without content."""
        self._staged.add(op)

    def stage_record(self, data: bytes, payload: bytes) -> None:
        """A record, and the payload that its bytes end with (or b""): a later delivery of the very same object refers
        to it, and need not be written."""
        self._staged.add_record(data, payload)

    def stage_delivery(self, op: Deliver, frame: bytes) -> None:
        self._staged.add_delivery(op, frame)

    def stage_checkpoint(self, records: list[bytes]) -> None:
        self._staged.add_checkpoint(records)

    def place_of(self, payload: bytes) -> tuple[int, int]:
        """Where the log has these bytes already, as the end of a record: file and offset, or -1."""
        known = self._known.pop(id(payload), None)
        if known is None:
            self._staged.forget(payload)
            return -1, 0
        self._known_bytes -= len(payload)
        return (known[1], known[2]) if self._files.pin(known[1]) else (-1, 0)

    def staged(self) -> int:
        return len(self._staged.ops)

    def staged_of(self, group: int) -> list[tuple[Op, bytes]]:
        """The staged operations on a group's frames, with the frames that were delivered."""
        return self._staged.of_group(group)

    def drop_staged(self) -> None:
        self._staged = Batch()

    def layout(self) -> Laid:
        """Give the staged operations their place. Everything laid out before must have been applied."""
        if self.file < 0 or self._is_full():
            self._open_next()
        batch = self._staged
        head, _ = encode_batch(self.file, time.time_ns() // 1000, batch.ops, batch.contents)
        laid = Laid(self.file, self._offset, batch, head)
        self._offset += laid.length
        self._staged = Batch()
        return laid

    def _is_full(self) -> bool:
        """The next file repeats the live records. So it begins with a checkpoint, which replaces them; or, when none
        comes, after as much as they are, and more, has been written besides."""
        written = self._offset - self._snapshot_end
        if self._full or (self._staged.replaces_records() and written >= self._file_bytes):
            return True
        return written >= max(PATIENCE * self._file_bytes, self._record_bytes)

    def _open_next(self) -> None:
        """Start a file: its first operation is a snapshot of all that older files say, but for frames."""
        records = [] if self._staged.replaces_records() else self.read_records()
        groups = tuple(index.state() for index in self.frames.groups)
        if self.file >= 0:
            self._files.end(self.file, self._offset, self._frame_ends())
        recycled = self._files.make(self.file + 1, self._syncs)
        self.file += 1
        self._offset = 0
        self._full = False
        self._files.begins[self.file] = _oldest_needed(groups)
        sizes = tuple(map(len, records))
        snapshot = Snapshot(self.life, self.next_number, self.view, groups, sizes, recycled)
        self._snapshot_end = sum(sizes)
        self._staged.put_first(snapshot, records)

    def write(self, laid: Laid) -> None:
        """Write a batch; safe to run in a thread."""
        buffers: list[bytes | memoryview] = [laid.head, *laid.batch.contents]
        if len(buffers) > 512:
            buffers = [b"".join(buffers)]
        self._files.write(laid.file, laid.offset, buffers, laid.length)

    def sync(self) -> None:
        """Make everything written durable against a power loss; safe to run in a thread."""
        self._files.sync(self.file)

    def apply(self, laid: Laid) -> None:
        """The batch is written: its operations become what is read back."""
        batch = laid.batch
        for op in batch.ops:
            if isinstance(op, Deliver) and op.file >= 0:
                self._files.unpin(op.file)
        self._apply_ops(batch.ops, laid.file, laid.contents_at, batch.carried)

    def _apply_ops(self, ops: list[Op], file: int, offset: int, carried: list[bytes]) -> None:
        """`carried`: by record, the payload that its bytes end with; empty when they come from a file."""
        records = 0
        for op in ops:
            if isinstance(op, Deliver):
                self.frames.group(op.group).append(op, file, offset)
                if op.file >= 0 and op.file != file:
                    self._files.refer(op.file, file, self._frame_ends())
            elif isinstance(op, Persist):
                self.records.append((file, offset, op.size))
                self._record_bytes += op.size
                if records < len(carried) and carried[records]:
                    self._know(carried[records], file, offset + op.size - len(carried[records]))
                records += 1
            elif isinstance(op, Broadcast):
                self.next_number = max(self.next_number, op.number + max(op.count, 1))
            elif isinstance(op, View):
                self.view = op
            elif isinstance(op, Rollback):
                self.frames.group(op.group).undo(op.begins)
                if op.begins >= 0:
                    self._files.need(file, op.group, op.begins)
            elif isinstance(op, Missed):
                if op.origin < 0:
                    self.frames.group(op.group).skip(op.first + op.count)
            elif isinstance(op, (Checkpoint, Snapshot)):
                self.records = []
                self._record_bytes = sum(op.sizes)
                at = offset
                for size in op.sizes:
                    self.records.append((file, at, size))
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

    def _know(self, payload: bytes, file: int, offset: int) -> None:
        """Remember where a payload lies; the object is kept, so that its identity stays its own."""
        if id(payload) not in self._known:
            self._known_bytes += len(payload)
        self._known[id(payload)] = (payload, file, offset)
        while self._known_bytes > KNOWN_BYTES_MAX:
            oldest = next(iter(self._known))
            self._known_bytes -= len(self._known.pop(oldest)[0])

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
            self.frames.group(group).restore(state)

    # Reading back, and letting go

    def read_records(self) -> list[bytes]:
        return [os.pread(self.frames.files[file], size, offset) for file, offset, size in self.records]

    def closed(self) -> list[int]:
        """Closed files, oldest first."""
        return sorted(self._files.ends)

    def release(self, needed: list[int], archived: int) -> list[int]:
        """Remove closed files that hold no frame at or above `needed` (by group) and are below `archived`, the first
        that is not yet in the journal; what is not yet there may rest on older frames, which stay, too."""
        needed = [min(need, self._files.needed_by(archived, group)) for group, need in enumerate(needed)]
        gone = self._files.release(needed, archived)
        if gone:
            for group, index in enumerate(self.frames.groups):
                index.forget(min(needed[group], index.end))
        return gone

    def size_bytes(self) -> int:
        return self._offset + self._files.closed_bytes()

    def close_file(self) -> None:
        """Begin a new file with the next batch: the present one goes to the journal whole."""
        self._full = True

    def close(self) -> None:
        """Let go of the files; what an overwritten one holds behind its last batch goes, too."""
        self._files.close(self.file, self._offset)

    def _frame_ends(self) -> list[int]:
        return [index.end for index in self.frames.groups]


def _oldest_needed(groups: tuple[GroupState, ...]) -> list[int]:
    """Per group, the frame position from which on a reader that starts here can put every message together."""
    return [min((position for _, position in state.unfinished), default=state.end) for state in groups]
