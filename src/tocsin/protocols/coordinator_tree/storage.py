"""Stable storage: what a site writes down, and how it finds itself again after a crash.

A message that is delivered in a step leaves a `Delivered` record and, by the delivery itself, its payload in the log.
A message that is only kept leaves a `Held` record with its payload. From time to time the records are folded into a
checkpoint, and the log is told from where on it is needed.
"""

from typing import Final

from tocsin.core.machine import DeliveryLog, GroupId, Outbox, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.rangeset import rangeset_from_wire
from tocsin.core.records import RANGES_MAX, Records
from tocsin.protocols.coordinator_tree.messages import Delivered, Held, Missed, StreamSummary, Summary
from tocsin.protocols.coordinator_tree.stream import NIL, Kept, Stream
from tocsin.protocols.coordinator_tree.streams import Streams

READ_MAX: Final = 1024  # log entries read at a time


class Storage:
    """Writes records, counts them, and knows the log."""

    def __init__(self, outbox: Outbox, log: DeliveryLog, groups: int, records_max: int, first_seqno: int) -> None:
        self._outbox = outbox
        self._log = log
        self._records = Records(outbox, records_max)
        self.numbers = OwnNumbers()
        self.numbers.resume(first_seqno)
        self.next_position: list[int] = [0] * groups  # by group: where the next delivery goes in the log
        self._needed_from: list[int] = [0] * groups  # by group: from the last checkpoint
        self._released: list[int] = [0] * groups  # by group: what the log may have let go, from the one before
        self._records_max = records_max

    # Writing

    def persist(self, record: Record) -> None:
        self._records.persist(record)

    def deliver(self, stream: Stream, number: int, kept: Kept) -> None:
        """Deliver a message that is kept."""
        kept.position = self.next_position[stream.group]
        self.next_position[stream.group] += 1
        self.persist(Delivered(stream.group, stream.origin, number, kept.seqno))
        self._outbox.deliver(stream.group, stream.origin, kept.seqno, kept.payload)

    def maybe_checkpoint(self, streams: list[Stream]) -> bool:
        """Fold the records once they are many compared with what has to be written again."""
        if not self._records.are_many(0):
            return False
        if not self._records.are_many(2 * _kept(streams)):
            return False
        self._checkpoint(streams)
        return True

    def maybe_release(self, streams: list[Stream]) -> bool:
        """Where all is stable, let go of a log that grew while much was kept: by two checkpoints, a period apart."""
        held = max([self.next_position[group] - self._released[group] for group in range(len(self._released))])
        if held <= self._records_max or _kept(streams) > 0:
            return False
        self._checkpoint(streams)
        return True

    def _checkpoint(self, streams: list[Stream]) -> None:
        needed_from = list(self.next_position)
        records: list[Record] = []
        for stream in streams:
            received = stream.received.to_wire(RANGES_MAX)
            records.append(StreamSummary(stream.group, stream.origin, received, stream.stable, stream.floor))
            if len(needed_from) > 1:  # else numbers and seqnos are the same
                for number in sorted(stream.edges):
                    records.append(Delivered(stream.group, stream.origin, number, stream.edges[number]))
            for number in sorted(stream.kept):
                message = stream.kept[number]
                if message.position == NIL:
                    records.append(Held(stream.group, stream.origin, number, message.seqno, message.payload))
                else:
                    records.append(Delivered(stream.group, stream.origin, number, message.seqno))
                    needed_from[stream.group] = min(needed_from[stream.group], message.position)
        records.insert(0, Summary(self.numbers.following, tuple(needed_from)))
        self._records.fold(records)
        for group in range(len(needed_from)):
            # A trim may be quicker than the disk: only what the checkpoint before this one let go is let go
            self._outbox.trim(group, self._needed_from[group])
        self._released = self._needed_from
        self._needed_from = needed_from

    # Reading back

    def recall(self, records: list[Record], site: SiteId, streams: Streams) -> None:
        """Put the streams back as they were; then find the payloads of what was delivered in the log."""
        self._records.recall(records)
        logged: dict[tuple[GroupId, SiteId, int], int] = {}  # (group, origin, seqno): its number in the stream
        for record in records:
            if isinstance(record, Summary):
                self.numbers.resume(max(self.numbers.following, record.next_seqno))
                self._needed_from = list(record.needed_from)
                self._released = [self._log.first(group) for group in range(len(self._released))]
            elif isinstance(record, StreamSummary):
                stream = streams.open(record.group, record.origin)
                stream.received = rangeset_from_wire(record.received, RANGES_MAX)
                stream.stable = record.stable
                stream.floor = record.floor
            elif isinstance(record, Missed):
                stream = streams.open(record.group, record.origin)
                stream.received.add_range(record.first, record.first + record.count)
            elif isinstance(record, Held):
                stream = streams.open(record.group, record.origin)
                stream.received.add(record.number)
                stream.keep(record.number, Kept(record.seqno, record.payload, NIL))
            elif isinstance(record, Delivered):
                stream = streams.open(record.group, record.origin)
                stream.received.add(record.number)
                stream.forget(record.number)  # had it been held: the log has it now
                stream.edges[record.number] = record.seqno
                logged[(record.group, record.origin, record.seqno)] = record.number
            if isinstance(record, (Held, Delivered)) and record.origin == site:
                self.numbers.recall(record.seqno)
        for group in range(len(self.next_position)):
            self._read_log(group, logged, streams)
        for stream in streams.all:
            stream.forget_edges()

    def _read_log(self, group: GroupId, logged: dict[tuple[GroupId, SiteId, int], int], streams: Streams) -> None:
        end = self._log.end(group)
        position = max(self._needed_from[group], self._log.first(group))
        while position < end:
            entries = self._log.read(group, position, READ_MAX)
            if not entries:
                break
            for entry in entries:
                number = logged.get((group, entry.origin, entry.seqno), NIL)
                if number >= 0:
                    stream = streams.open(group, entry.origin)
                    if number >= stream.floor:
                        stream.keep(number, Kept(entry.seqno, entry.payload, position))
                position += 1
        self.next_position[group] = end


def _kept(streams: list[Stream]) -> int:
    return sum([len(stream.kept) for stream in streams])
