"""What a site keeps on stable storage: read after a start, folded into a checkpoint once it is much."""

from tocsin.core.data import PeerRenewed, Renewed
from tocsin.core.message import Record
from tocsin.core.rangeset import rangeset_from_wire
from tocsin.core.records import RANGES_MAX, Records
from tocsin.core.renewal import Renewal
from tocsin.protocols.baselines.two_phase.member import Member
from tocsin.protocols.baselines.two_phase.messages import Agreed, Data, Proposed, Sent, Stream, Summary
from tocsin.protocols.baselines.two_phase.outgoing import Outgoings
from tocsin.protocols.baselines.two_phase.source import Source


class Keeping:
    """The same records in the same order make the same queue, and what left its head was delivered then."""

    def __init__(
        self, groups: int, source: Source, outgoings: Outgoings, member: Member, renewal: Renewal, records: Records
    ) -> None:
        self._groups = groups
        self._source = source
        self._outgoings = outgoings
        self._member = member
        self._renewal = renewal
        self._records = records

    def recall(self, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)

    def _recall(self, record: Record) -> None:
        member = self._member
        if isinstance(record, Summary):
            self._source.numbers.resume(record.next_seqno)
            self._source.places = list(record.places)
            member.clock = record.clock
        elif isinstance(record, Stream):
            stream = member.stream(record.origin, record.group)
            stream.proposed = record.proposed
            stream.agreed = rangeset_from_wire(record.agreed, RANGES_MAX)
            stream.stable = record.stable
        elif isinstance(record, Sent):
            self._source.recall(record)
        elif isinstance(record, Proposed):
            data = Data(
                record.group,
                record.origin,
                record.seqno,
                record.place,
                record.floor,
                record.own,
                0,
                record.payload,
            )
            stream = member.stream(record.origin, record.group)
            stream.proposed = max(stream.proposed, stream.agreed.next_missing(record.place + 1))
            member.queue_up(data, record.priority)
        elif isinstance(record, Agreed):
            member.note_final(record.group, record.origin, record.seqno, record.place, record.priority)
            while member.queue.pop_deliverable() is not None:
                pass
        elif isinstance(record, PeerRenewed):
            member.renew(record.site)
        elif isinstance(record, Renewed):
            self._renewal.recall()

    def maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is still needed, once they are many."""
        member = self._member
        needed = len(member.streams) + len(self._outgoings.waiting) + len(member.queue.entries)
        for stream in member.streams.values():
            needed += len(stream.finals)
        if not self._records.are_many(2 * needed):
            return False
        self.fold()
        return True

    def fold(self) -> None:
        member = self._member
        records: list[Record] = [Summary(self._source.numbers.following, member.clock, tuple(self._source.places))]
        for (origin, group), stream in sorted(member.streams.items()):
            records.append(Stream(group, origin, stream.proposed, stream.agreed.to_wire(RANGES_MAX), stream.stable))
        records.extend(self._renewal.records())
        for outgoing in self._outgoings.waiting.values():
            records.append(Sent(outgoing.group, outgoing.seqno, outgoing.place, outgoing.payload))
        records.extend(self._queued())
        for (origin, group), stream in sorted(member.streams.items()):
            for place, (seqno, priority) in stream.finals.items():
                records.append(Agreed(group, origin, seqno, place, priority))
        self._records.fold(records)
        self._records.release_log(self._groups)

    def _queued(self) -> list[Record]:
        """The queue. What is final waits there for what comes before it, even when everybody knows that it is final."""
        proposed: list[Record] = []
        agreed: list[Record] = []
        for entry in self._member.queue.entries.values():
            data = entry.data
            proposed.append(
                Proposed(
                    data.group,
                    data.origin,
                    data.seqno,
                    data.place,
                    data.floor,
                    data.own,
                    entry.priority,
                    data.payload,
                )
            )
            if entry.deliverable and data.place < self._member.stream(data.origin, data.group).stable:
                agreed.append(Agreed(data.group, data.origin, data.seqno, data.place, entry.priority))
        return proposed + agreed
