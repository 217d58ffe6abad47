"""A member's log over a modelled disk, told as a story: steps, syncs, new files, files let go of, crashes and lives.

The story keeps what the log should say after each batch, and which of them were written and which were synced: after a
crash the log must be one of these, and not an earlier one than was promised.
"""

import random
from pathlib import Path
from typing import NamedTuple

from tests.live.modelled_disk import Crash, ModelledDisk
from tocsin.live.errors import StorageFailed
from tocsin.live.frame_format import pack
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Broadcast, Start
from tocsin.live.stream import Stream

FOLDER = Path("wal")


class Said(NamedTuple):
    """What a log says after a batch."""

    life: int
    next_number: int
    records: tuple[bytes, ...]
    frames: tuple[tuple[int, bytes], ...]  # number and payload, from the first delivery on


class Story:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.disk = ModelledDisk(seed)
        self.syncs = self.rng.random() < 0.5
        self.file_bytes = self.rng.choice((1500, 4000, 12_000))
        self.said = [Said(-1, 0, (), ())]  # by batch, those that were only attempted included
        self.written = 0  # the last batch that was written whole
        self.synced = 0  # the last batch that was called synced
        self.happened: set[str] = set()
        self.ended = ""  # how the last life did
        self.in_doubt = False  # since the start before the last life
        self.log: Log
        self._stream: Stream
        self._batches: dict[tuple[int, int], int] = {}  # by where it ends: the number of a batch
        self._payloads: list[bytes] = []  # written as part of a record, to be delivered
        self._sync_failed = False

    def open(self) -> None:
        """A new life; the log must have been found in order."""
        self.log = Log(FOLDER, 1, self.file_bytes, self.syncs, self.disk)
        self._stream = Stream(0, self.log.frames)
        self._payloads = []

    def live(self, steps: int) -> bool:
        """Whether the member has lived that long."""
        try:
            self.open()
            self.log.stage(Start(self.log.life + 1))
            self._commit(self.said[-1]._replace(life=self.log.life + 1))
            for _ in range(steps):
                self._step()
        except Crash:
            self.happened.add("crash")
            return False
        except StorageFailed:
            self.happened.add("failure")
            return False
        return True

    def stop(self) -> None:
        """In order."""
        self.log.sync()
        self.synced = self.written
        self.log.close()

    def _step(self) -> None:
        choice = self.rng.random()
        if choice < 0.06:
            self.log.close_file()
        elif choice < 0.14:
            self._let_go()
        elif choice < 0.25 and not self.syncs:
            self._sync()
        elif choice < 0.28:
            self._rest()
        elif choice < 0.36:
            self._secure()
        else:
            self._batch()

    def _batch(self) -> None:
        now = self.said[-1]
        records, frames = list(now.records), list(now.frames)
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            choice = self.rng.random()
            if choice < 0.2:
                records = [self.rng.randbytes(self.rng.randrange(300)) for _ in range(self.rng.randrange(4))]
                self.log.stage_checkpoint(list(records))
                self._payloads = []
            elif choice < 0.5:
                payload = self._frame(now.next_number + len(frames))
                records.append(b"record:" + payload)
                self.log.stage_record(records[-1], payload)
                self._payloads.append(payload)
            else:
                payload = self._payloads.pop(0) if self._payloads and choice < 0.8 else self._frame(len(frames))
                self._deliver(len(frames), payload)
                frames.append((len(frames), payload))
        self.log.stage(Broadcast(0, 0, now.next_number, 1))
        self._commit(Said(now.life, now.next_number + 1, tuple(records), tuple(frames)))

    def _frame(self, number: int) -> bytes:
        return pack(number, [self.rng.randbytes(self.rng.choice((0, 20, 700, 3000)))])

    def _deliver(self, number: int, payload: bytes) -> None:
        op, _ = self._stream.deliver(0, number, payload, self.log.place_of(payload))
        if op.file >= 0:
            self.happened.add("delivery of a record's payload")
        self.log.stage_delivery(op, payload)

    def _commit(self, said: Said) -> None:
        """As the driver does it in either mode."""
        laid = self.log.layout()
        self.said.append(said)
        self._batches[(laid.file, laid.end.end)] = len(self.said) - 1
        self.log.write(laid)
        self.written = len(self.said) - 1
        if self.syncs:
            self._sync()
        self.log.apply(laid)
        self._stream.on_applied([])

    def _sync(self) -> None:
        target = self.written
        try:
            self.log.sync()
        except StorageFailed:
            self._sync_failed = True
            raise
        self.synced = target
        self.happened.add("sync")

    def _rest(self) -> None:
        try:
            self.log.rest()
        except StorageFailed:
            self._sync_failed = True
            raise

    def _secure(self) -> None:
        try:
            self.log.secure(self.log.file)
        except StorageFailed:
            self._sync_failed = True
            raise
        self.happened.add("beginning of a file secured")

    def _let_go(self) -> None:
        closed = self.log.closed()
        if closed:
            needed = self.rng.randrange(self.log.frames.end(0) + 1)
            archived = self.rng.choice(closed) + 1
            gone = self.log.release([self.log.frames.group(0).needed_from(needed)], archived)
            try:
                self.log.recycle(gone)
            except StorageFailed:
                self._sync_failed = True
                raise
            if gone:
                self.synced = max(self.synced, self._batches.get(self.log._writer.synced(), 0))
                self.happened.add("file let go of")

    # The end of a life

    def kill(self) -> int:
        """The batch that must be there afterwards."""
        self.disk.kill()
        if self._sync_failed:  # what it could not write may be forgotten at any time
            self._sync_failed = False
            self.disk.forget_after_failed_sync()
            self._end("forgotten after a failed sync")
            return self.synced
        self._end("kill")
        return self.synced if self.syncs else self.written

    def lose_power(self) -> int:
        self.disk.lose_power()
        self._sync_failed = False
        self._end("power loss")
        return self.synced

    def _end(self, how: str) -> None:
        self.ended = how
        self.happened.add(how)

    def found(self, log: Log) -> int:
        """Which batch was the last, by what a log says; -1: none that was ever written."""
        frames = log.frames
        entries = frames.read(0, frames.first(0), 1 << 30)
        for at in range(len(self.said) - 1, -1, -1):
            said = self.said[at]
            if (
                (log.life, log.next_number, frames.end(0)) == (said.life, said.next_number, len(said.frames))
                and tuple(log.read_records()) == said.records
                and [(entry.seqno, entry.payload) for entry in entries] == list(said.frames[frames.first(0) :])
            ):
                return at
        return -1

    def go_on_from(self, batch: int) -> None:
        """What was cut never was."""
        del self.said[batch + 1 :]
        self.written = self.synced = batch
