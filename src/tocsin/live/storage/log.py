"""The log: what a step of the machine makes durable is written as one, and after a crash is there as one.

The driver stages operations, and commits them: `layout` decides where the batch goes, `write` writes it (and may run in
a thread), `apply` makes it part of the state that is read back. `Log` knows what the operations mean; how their bytes
lie, what is found after a crash, and what is synced when are the business of `file_format`, `recovery` and
`log_writer`; when to commit, and whether to wait for the disk, is the driver's.
"""

import time
from pathlib import Path

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live.errors import Damaged
from tocsin.live.known import Known
from tocsin.live.storage.batch import Batch
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import (
    BATCHES_AT,
    SECRET_BYTES,
    BatchRead,
    content_check,
    encode_batch,
    encode_header,
)
from tocsin.live.storage.kept_records import KeptRecords
from tocsin.live.storage.knowledge import Knowledge, incarnation_of, new_incarnation
from tocsin.live.storage.laid import Laid
from tocsin.live.storage.log_files import LogFiles, oldest_needed
from tocsin.live.storage.log_format import (
    Acquaint,
    Broadcast,
    Checkpoint,
    Deliver,
    FileEnd,
    FileHeader,
    Missed,
    Op,
    Persist,
    Rollback,
    Snapshot,
    Start,
    Stop,
    View,
)
from tocsin.live.storage.log_writer import LogWriter
from tocsin.live.storage.logged_frames import LoggedFrames
from tocsin.live.storage.marks import NOBODY
from tocsin.live.storage.producer_tables import ProducerTables
from tocsin.live.storage.recovery import State, recover
from tocsin.live.storage.refusal import refusal
from tocsin.live.storage.written_payloads import WrittenPayloads

PATIENCE = 3  # how often the size of a file a checkpoint is waited for


class Log:
    """One member's log, opened by its only writer. `Damaged` if something that is needed is not as it was written."""

    def __init__(
        self,
        folder: Path,
        groups: int,
        file_bytes: int,
        syncs: bool = True,
        disk: Disk | None = None,
        group_id: bytes = NOBODY,
        incarnation: int = FIRST_INCARNATION,
    ) -> None:
        """`incarnation`: of a folder that is empty; others know theirs."""
        self._disk = Disk() if disk is None else disk
        self.frames = LoggedFrames(groups, self._disk)
        self.knowledge = Knowledge()
        self.producers = ProducerTables()
        self.clean = True  # whether the last life ended in order
        self.view: View | None = None
        self.in_doubt = ""  # what may be missing at the end of what was found, and why
        self.cut_bytes = 0  # that were written behind the end of what was found
        self.incarnation = incarnation  # of the folder
        self.made = 0  # when it was
        self.records = KeptRecords()
        self.file = -1  # the file being written; -1 before the first
        self._folder = folder
        self._file_bytes = file_bytes
        self.group_id = group_id  # of a folder that knows none
        self._identity = NOBODY  # the incarnation, as files say it
        self._secret = b""  # of the present file
        self._end = FileEnd(-1, 0, 0)  # of what is laid out: where the next batch goes
        self._snapshot_end = 0  # about where the present file's snapshot ends
        self._begun = False  # whether a first snapshot was applied
        self._full = True  # whether the present file takes no more
        self._staged = Batch()
        self._payloads = WrittenPayloads()
        self._files = LogFiles(self.frames.files)
        self._writer = LogWriter(self._disk, folder, self.frames.files, file_bytes, syncs)
        self._disk.make_folder(folder)
        self._recover()

    # Recovery

    def _recover(self) -> None:
        found = recover(self._disk, self._folder, State(self._replay, self._positions))
        if found.damage:
            raise Damaged(refusal(self._folder, found), tuple(each for bad in found.damage for each in bad.lost))
        self.in_doubt = found.in_doubt
        self.cut_bytes = found.cut_bytes
        known = found.mark.incarnation if found.mark is not None else NOBODY
        for header in found.headers.values():
            known = header.incarnation
            if header.group_id != NOBODY:
                self.group_id = header.group_id
        self._identity = known if known != NOBODY else new_incarnation(self._disk, self.incarnation)
        self.incarnation, self.made = incarnation_of(self._identity)
        self._writer.open(found, self.group_id, self._identity)
        self.file = max(found.ends, default=found.first - 1)
        if self.file in found.ends:
            self._end = found.ends[self.file]
        for file in self._files.ends:
            self._files.sizes[file] = found.ends[file].end
        for index in self.frames.groups:
            index.trim_missing(self.frames.files)

    def _replay(self, file: int, batch: BatchRead) -> str:
        """Take over a batch; in what it contradicts those before it."""
        first = batch.operations.ops[0] if batch.operations.ops else None
        if isinstance(first, Snapshot) and batch.offset == BATCHES_AT:
            if self._begun:
                contradiction = self._contradiction(first)
                if contradiction:
                    return contradiction
                self._files.end(self.file, 0, self._frame_ends())
            self.file = file
            self._files.begin(file, oldest_needed(first.groups))
        self._apply_ops(batch.operations.ops, file, batch.contents_at, [])
        self.producers.replay(batch.operations.ops)
        return ""

    def _contradiction(self, op: Snapshot) -> str:
        """A file's snapshot repeats what the files before it say."""
        for group, state in enumerate(op.groups):
            found = self.frames.group(group).state()
            if found != state:
                return f"group {group} stands at {state.end}, {state.position}, not at {found.end}, {found.position}"
        if (op.life, op.next_number, op.view) != (self.life, self.next_number, self.view):
            return "another life, number or view"
        if op.who is not None and op.who != self.knowledge.state():
            return "another identity, or other things known of others"
        return ""

    @property
    def life(self) -> int:
        """Of the last start found."""
        return self.knowledge.life

    @property
    def next_number(self) -> int:
        """Of this member's next message."""
        return self.knowledge.next_number

    def _positions(self) -> list[int]:
        return [index.position for index in self.frames.groups]

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

    def place_of(self, payload: bytes) -> tuple[int, int, int]:
        """Where the log has these bytes already, as the end of a record: file, offset and checksum; or -1."""
        place = self._payloads.take(payload)
        if place is None:
            self._staged.forget(payload)
            return -1, 0, 0
        return place if self._files.pin(place[0]) else (-1, 0, 0)

    def staged(self) -> int:
        return len(self._staged.ops)

    def staged_of(self, group: int) -> list[tuple[Op, bytes]]:
        """The staged operations on a group's frames, with the frames that were delivered."""
        return self._staged.of_group(group)

    def drop_staged(self) -> None:
        self._staged = Batch()

    def layout(self) -> Laid:
        """Give the staged operations their place. Everything laid out before must have been applied."""
        header = self._open_next() if self.file < 0 or self._is_full() else b""
        batch = self._staged
        self._staged = Batch()
        offset = self._end.end
        length = sum(map(len, batch.contents))
        batch.time_us = time.time_ns() // 1000
        synced = self._writer.synced()
        head, check = encode_batch(self._secret, offset, self._end.check, synced, batch.time_us, batch.ops, length)
        self._end = FileEnd(self.file, offset + len(head) + length, check)
        return Laid(offset, batch, head, self._end, header, self._secret)

    def _is_full(self) -> bool:
        """The next file repeats the live records. So it begins with a checkpoint, which replaces them; or, when none
        comes, after as much as they are, and more, has been written besides."""
        written = self._end.end - BATCHES_AT - self._snapshot_end
        if self._full or (self._staged.replaces_records() and written >= self._file_bytes):
            return True
        return written >= max(PATIENCE * self._file_bytes, self.records.size_bytes)

    def _open_next(self) -> bytes:
        """Lay out a new file: its header, and its first operation, a snapshot of all that older files say, but for
        frames."""
        records = [] if self._staged.replaces_records() else self.read_records()
        groups = tuple(index.state() for index in self.frames.groups)
        before = None if self._end.file < 0 else self._end
        if self.file in self._files.begins:
            self._files.end(self.file, self._end.end, self._frame_ends())
        self.file += 1
        self._full = False
        self._secret = self._disk.random(SECRET_BYTES)
        mark = self._writer.synced()
        time_us = time.time_ns() // 1000
        header, check = encode_header(
            FileHeader(self.group_id, self._identity, self.file, self._secret, before, mark, time_us)
        )
        self._end = FileEnd(self.file, BATCHES_AT, check)
        self._files.begin(self.file, oldest_needed(groups))
        sizes = tuple(map(len, records))
        checks = tuple(map(content_check, records))
        self._snapshot_end = sum(sizes)
        who = self.knowledge.state()
        tables, is_whole = self.producers.state(), self.producers.whole
        cursors = self.producers.cursors_state()
        snapshot = Snapshot(
            self.life, self.next_number, self.view, groups, sizes, checks, who, tables, is_whole, cursors
        )
        self._staged.put_first(snapshot, records)
        return header

    def write(self, laid: Laid) -> None:
        """Write a batch, and begin its file if it is the first; safe to run in a thread."""
        if laid.header:
            self._writer.begin(laid.file, laid.header, laid.secret)
        buffers: list[bytes | memoryview] = [laid.head, *laid.batch.contents]
        self._writer.write(buffers, laid.offset, laid.end.end - laid.offset, laid.end)

    def sync(self) -> None:
        """Make everything written durable against a power loss; safe to run in a thread."""
        self._writer.sync()

    def secure(self, file: int) -> None:
        """Make the beginning of the newest file, which is this one, durable, so that older ones can be released without
        a sync of everything; safe to run in a thread."""
        self._writer.secure(file)

    def rest(self) -> None:
        """Nothing is under way: what is known of the last sync becomes durable, too; safe to run in a thread."""
        self._writer.rest()

    def become(self, group_id: bytes, incarnation: int) -> None:
        """Of which group this log is; and, while nothing was written, of which incarnation."""
        self.group_id = group_id
        if self.life < 0 and incarnation != self.incarnation:
            self._identity = new_incarnation(self._disk, incarnation)
            self.incarnation, self.made = incarnation_of(self._identity)
        self._writer.become(group_id, self._identity)

    def settle(self) -> None:
        """What was in doubt is so no longer: the protocol knows what was behind. Safe to run in a thread."""
        self._writer.settle()
        self.in_doubt = ""

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
        notes = 0  # operations that are no writes (`Known.writes`)
        knowledge = self.knowledge
        for op in ops:
            if isinstance(op, Deliver):
                self.frames.group(op.group).append(op, file, offset)
                knowledge.on_delivery(op.origin, op.frame, op.number + max(op.count + len(op.dropped), 1) - 1)
                if op.file < 0:
                    offset += op.size
                elif op.file != file:
                    self._files.refer(op.file, file, self._frame_ends())
            elif isinstance(op, Persist):
                self.records.append(op, file, offset)
                offset += op.size
                if records < len(carried) and carried[records]:
                    self._payloads.put(carried[records], file, offset - op.carried, op.carried_check)
                records += 1
            elif isinstance(op, Broadcast):
                knowledge.on_broadcast(op)
            elif isinstance(op, View):
                if op.group < 0:
                    self.view = op
            elif isinstance(op, Rollback):
                self.frames.group(op.group).undo(op.begins)
                if op.begins >= 0:
                    self._files.need(file, op.group, op.begins)
            elif isinstance(op, Missed):
                if op.origin < 0:
                    self.frames.group(op.group).skip(op.first + op.count)
                if op.position >= 0:
                    self.frames.group(op.group).go_on(op.position, op.pieces)
            elif isinstance(op, (Checkpoint, Snapshot)):
                self.records.replace(op, file, offset)
                offset += self.records.size_bytes
                if isinstance(op, Snapshot):
                    self._apply_snapshot(op)
                    notes += 1
            elif isinstance(op, (Known, Acquaint)):
                knowledge.on_note(op)
                notes += 1
            elif isinstance(op, Start):
                knowledge.on_start(op)
                self.clean = False
            elif isinstance(op, Stop):
                self.clean = True
        knowledge.writes += len(ops) - notes

    def _apply_snapshot(self, op: Snapshot) -> None:
        """At the first file found, where everything stands; later ones repeat what is already known."""
        if self._begun:
            return
        self._begun = True
        self.knowledge.life = op.life
        self.knowledge.next_number = op.next_number
        if op.who is not None:
            self.knowledge.restore(op.who)
        self.view = op.view
        self.clean = op.life < 0
        for group, state in enumerate(op.groups):
            self.frames.group(group).restore(state)

    # Reading back, and letting go

    def read_records(self) -> list[bytes]:
        """The live records of the protocol, oldest first; each is checked on the way."""
        return self.records.read(self.frames)

    def closed(self) -> list[int]:
        """Closed files, oldest first."""
        return sorted(self._files.ends)

    def release(self, needed: list[int], archived: int) -> list[int]:
        """Forget closed files that hold no frame at or above `needed` (by group) and are below `archived`, the first
        that is not yet in the journal; what is not yet there may rest on older frames, which stay, too. `recycle`
        follows."""
        needed = [min(need, self._files.needed_by(archived, group)) for group, need in enumerate(needed)]
        gone = self._files.release(needed, archived)
        for file in gone:
            self._writer.leave(file)
        if gone:
            for group, index in enumerate(self.frames.groups):
                index.forget(min(needed[group], index.end))
        return gone

    def recycle(self, files: list[int]) -> None:
        """Let files that were released be written over; safe to run in a thread."""
        self._writer.recycle(files)

    def size_bytes(self) -> int:
        return self._end.end + sum(self._files.sizes.values())

    def close_file(self) -> None:
        """Begin a new file with the next batch: the present one goes to the journal whole."""
        self._full = True

    def close(self) -> None:
        """Let go of the files."""
        self._writer.close()

    def _frame_ends(self) -> list[int]:
        return [index.end for index in self.frames.groups]
