"""What this site has, on stable storage: the delivery log, and the few messages that the log does not tell of.

A delivery is durable by itself (the driver's promise), so the log is the record of what was received; a restart reads
it from the last checkpoint on. Messages that cannot be delivered yet, or that were sent to a group this site is not in,
are `Kept` records.
"""

from typing import Final

from tocsin.core.machine import FIRST_INCARNATION, GroupId, Outbox, Setup
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.protocols.tree_ack.messages import (
    Batch,
    Checkpoint,
    Data,
    Kept,
    Piece,
    Request,
    Skipped,
    Started,
    StreamState,
)
from tocsin.protocols.tree_ack.stream import Stream

LIFE_BITS: Final = 20  # starts of one incarnation; those of a later one count from the next multiple on
READ_COUNT: Final = 256  # log entries read at once
SCAN_MAX: Final = 4096  # log entries looked at for one batch
BATCH_PIECES_MAX: Final = 64
BATCH_BYTES_MAX: Final = 32 * 1024  # a batch stays within one 64 KiB burst of datagrams, unless one message is larger


class Store:
    """Takes messages, hands them out, and keeps the log short."""

    def __init__(self, setup: Setup, outbox: Outbox, records_max: int) -> None:
        self.life = (
            setup.incarnation - FIRST_INCARNATION
        ) << LIFE_BITS  # of this start; persisted before anything is sent
        self.numbers = OwnNumbers()
        self.numbers.resume(setup.first_seqno)
        self.found_something = False  # whether this is a restart: an earlier life had left something
        self._site = setup.site
        self._groups = setup.groups
        self._log = setup.log
        self._outbox = outbox
        self._records_max = records_max  # durable requests between two checkpoints; a restart reads about as many
        self._changes = 0  # durable requests since the last checkpoint
        self._ends: list[int] = [0] * len(setup.groups)  # by group: the log's end at the last checkpoint

    # Taking

    def take(self, stream: Stream, data: Data) -> None:
        """Make a new message durable: deliver it, or keep it until those before it have come."""
        if data.previous <= stream.last:  # smaller where its origin has begun anew and did not know of our last one
            self._deliver(stream, data)
            self._deliver_held(stream)
        else:
            self._keep(data)
            stream.held[data.seqno] = data

    def _deliver_held(self, stream: Stream) -> None:
        while stream.held:
            first = min(stream.held)
            if first <= stream.last:
                del stream.held[first]  # its origin has begun anew since, and goes on without it
            elif stream.held[first].previous > stream.last:
                break
            else:
                self._deliver(stream, stream.held.pop(first))

    def take_own(self, stream: Stream, data: Data) -> None:
        """Make our own broadcast durable, and with it that its number is taken."""
        if self._site in self._groups[stream.group]:
            self._deliver(stream, data)
        else:
            self._keep(data)
            stream.step_to(data.seqno)

    def skip(self, stream: Stream, last: int, count: int) -> None:
        """What we lack up to this number is nowhere any more: tell the application, and go on after it."""
        self._outbox.missed(stream.group, stream.origin, stream.last + 1, count - stream.count)
        self._outbox.persist(Skipped(stream.group, stream.origin, last, count))
        self._changes += 1
        stream.last = last
        stream.count = count
        stream.floor = last
        stream.floor_count = count
        for seqno in sorted(stream.held):
            if seqno <= last:
                del stream.held[seqno]
        self._deliver_held(stream)

    def skip_in_jump(self, stream: Stream, before: int, count: int) -> None:
        """Tell the application what it has missed if there was more of an origin's earlier incarnation than we had."""
        first = stream.jump[0] + 1
        lost = stream.skip_in_jump(before, count)
        if lost > 0:
            self._outbox.missed(stream.group, stream.origin, first, lost)
            self._changes = self._records_max  # a checkpoint in this step says so

    def _deliver(self, stream: Stream, data: Data) -> None:
        stream.step_to(data.seqno)
        self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)
        self._changes += 1

    def _keep(self, data: Data) -> None:
        self._outbox.persist(Kept(data.group, data.origin, data.seqno, data.previous, data.payload))
        self._changes += 1

    # Handing out

    def batch(self, request: Request, streams: dict[int, Stream]) -> Batch:
        """The next messages of a group that the asker lacks. `streams`: of this group, by origin."""
        group = request.group
        have: dict[int, int] = dict(request.vector)
        position = max(request.cursor, self._log.first(group))
        end = self._log.end(group)
        scan_end = position + SCAN_MAX
        pieces: list[Piece] = []
        size = 0
        while position < end and position < scan_end and len(pieces) < BATCH_PIECES_MAX and size < BATCH_BYTES_MAX:
            entries = self._log.read(group, position, READ_COUNT)
            if not entries:
                break
            for entry in entries:
                last = have.get(entry.origin, -1)
                stream = streams.get(entry.origin)
                if stream is not None and entry.seqno > last >= stream.floor:
                    pieces.append(Piece(entry.origin, entry.seqno, last, entry.seqno < stream.done, entry.payload))
                    size += len(entry.payload)
                    have[entry.origin] = entry.seqno
                position += 1
                if len(pieces) >= BATCH_PIECES_MAX or size >= BATCH_BYTES_MAX:
                    break
        floors: list[tuple[int, int, int]] = []
        for origin in sorted(streams):
            stream = streams[origin]
            if have.get(origin, -1) < stream.floor:
                floors.append((origin, stream.floor, stream.floor_count))
        return Batch(group, position, position < end, tuple(floors), tuple(pieces))

    # Coming back

    def recall_checkpoint(self, records: list[Record]) -> Checkpoint:
        """The newest checkpoint (an empty one if there is none); persists the new life."""
        checkpoint = Checkpoint(0, 0, tuple([0] * len(self._groups)), ())
        for record in records:
            if isinstance(record, Checkpoint):
                checkpoint = record
                self.life = record.life
            elif isinstance(record, Started):
                self.life = record.life
        self.numbers.resume(max(self.numbers.following, checkpoint.next_seqno))
        self._ends = list(checkpoint.positions)
        self.found_something = len(records) > 0
        self.life += 1
        self._outbox.persist(Started(self.life))
        self._changes = len(records)
        return checkpoint

    def log_since(self, group: GroupId, position: int) -> list[Data]:
        """The log from a position on; who came before whom and what was complete is for the caller to find."""
        found: list[Data] = []
        position = max(position, self._log.first(group))
        while True:
            entries = self._log.read(group, position, READ_COUNT)
            if not entries:
                return found
            for entry in entries:
                found.append(Data(group, entry.origin, entry.seqno, -1, 0, 0, entry.payload))
            position += len(entries)

    # Keeping it short

    def wants_checkpoint(self) -> bool:
        return self._changes >= self._records_max

    def checkpoint(self, streams: list[Stream]) -> None:
        """Fold the records into one, and let go of what everybody has; `streams` in the order of their keys."""
        groups = len(self._groups)
        by_group: list[dict[int, Stream]] = [{} for _ in range(groups)]
        for stream in streams:
            by_group[stream.group][stream.origin] = stream
        trims = [self._trim_position(group, by_group[group]) for group in range(groups)]
        ends = [self._log.end(group) for group in range(groups)]
        records: list[Record] = [
            Checkpoint(
                self.life,
                self.numbers.following,
                tuple(ends),
                tuple(
                    [
                        StreamState(
                            s.group, s.origin, s.last, s.count, s.done, s.stable, s.floor, s.floor_count, s.jump
                        )
                        for s in streams
                    ]
                ),
            )
        ]
        for stream in streams:
            for seqno in stream.numbers():
                records.append(_kept(stream.instances[seqno].message))
            for seqno in sorted(stream.held):
                if seqno not in stream.instances:
                    records.append(_kept(stream.held[seqno]))
        self._outbox.checkpoint(records)
        self._changes = 0
        for group in range(groups):
            # A trim may be quicker than the disk: only what the checkpoint before this one covers is let go
            self._outbox.trim(group, min(trims[group], self._ends[group]))
        self._ends = ends

    def _trim_position(self, group: GroupId, streams: dict[int, Stream]) -> int:
        """The position of the first message that somebody may still ask for."""
        position = self._log.first(group)
        while True:
            entries = self._log.read(group, position, READ_COUNT)
            if not entries:
                return position
            for entry in entries:
                stream = streams.get(entry.origin)
                if stream is None or entry.seqno >= stream.stable:
                    return position
                if entry.seqno > stream.floor:
                    stream.floor = entry.seqno
                    stream.floor_count += 1
                position += 1


def _kept(message: Data) -> Kept:
    return Kept(message.group, message.origin, message.seqno, message.previous, message.payload)
