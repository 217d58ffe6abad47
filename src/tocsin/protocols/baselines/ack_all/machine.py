"""`ack_all`: the "basic algorithm" that the papers start from: send to each, resend until each has acknowledged.

Paper: Garcia-Molina, Kogan 1988, section 3 (the basic algorithm); Schneider, Gries, Schlichting 1982 use the same shape
as their bush. It is the yardstick of the efficiency claims, and the first protocol through every driver.

| what the papers say                            | here              |
|------------------------------------------------|-------------------|
| the source sends each message to every host    | `broadcast`       |
| a host that receives a message acknowledges it | `_on_data`        |
| the source notes who has acknowledged          | `_on_ack`         |
| and sends again to those who have not          | `on_timer` RESEND |

Deviations: numbers and payloads are persisted before they are sent, and receptions before they are acknowledged, so
that a site that comes back goes on where it was; a window bounds what is outstanding.

Guarantees hold while every crashed site comes back: if an origin stays down for ever, some sites may have its last
messages and others never get them.
"""

from typing import Final

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.protocols.baselines.ack_all.messages import (
    Ack,
    AckAllOptions,
    Acknowledged,
    Data,
    Received,
    Sent,
    Summary,
)

RESEND: Final = "RESEND"  # key: the message's number

RECORDS_MAX: Final = 4096  # records on disk before a checkpoint folds them into a summary
RANGES_MAX: Final = 1 << 20  # ranges of a summary per origin; a window of unordered arrivals is far below


class Outstanding:
    """A broadcast of this site that somebody has not acknowledged."""

    def __init__(self, data: Data, waiting: list[SiteId]) -> None:
        self.data = data
        self.waiting = waiting  # sorted, never empty; sites that have not acknowledged


class AckAll(Machine):
    """Send to each, resend until each has acknowledged."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, AckAllOptions)
        self._site = setup.site
        self._groups = setup.groups
        self._outbox = outbox
        self._resend_us: int = options.resend_us
        self._window: int = options.window
        self._use_multicast: bool = options.multicast
        self._next_seqno = 0  # next to assign; every smaller number is persisted
        self._outstanding: dict[int, Outstanding] = {}  # by number, in increasing order
        self._received: dict[SiteId, RangeSet] = {}  # by origin that was heard of; persisted
        self._records = 0  # on disk since the last checkpoint

    def room(self) -> int:
        return self._window - len(self._outstanding)

    def quiet(self) -> bool:
        return not self._outstanding

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records = len(records)
        for outstanding in self._outstanding.values():
            self._send_again(now, outstanding)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._next_seqno = record.next_seqno
            for origin, ranges in record.received:
                self._received[origin] = rangeset_from_wire(ranges, RANGES_MAX)
        elif isinstance(record, Sent):
            self._next_seqno = record.seqno + 1
            waiting = self._others(record.group)
            if waiting:
                data = Data(record.group, self._site, record.seqno, record.payload)
                self._outstanding[record.seqno] = Outstanding(data, waiting)
        elif isinstance(record, Acknowledged):
            self._outstanding.pop(record.seqno, None)
        elif isinstance(record, Received):
            self._received_from(record.origin).add(record.seqno)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._next_seqno
        self._next_seqno = seqno + 1
        self._persist(Sent(group, seqno, payload))
        data = Data(group, self._site, seqno, payload)
        waiting = self._others(group)
        if waiting:
            self._outstanding[seqno] = Outstanding(data, waiting)
            self._send_first(data, waiting)
            self._outbox.set_timer(RESEND, seqno, now + self._resend_us)
        if self._site in self._groups[group]:
            self._deliver(data)
        self._maybe_checkpoint()
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(source, message)
        elif isinstance(message, Ack):
            self._on_ack(source, message.seqno)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        outstanding = self._outstanding.get(key)
        if timer == RESEND and outstanding is not None:
            self._send_again(now, outstanding)

    def _on_data(self, source: SiteId, data: Data) -> None:
        if data.origin != source or data.group >= len(self._groups):
            return  # not from a site of ours
        received = self._received_from(source)
        if not received.contains(data.seqno):
            received.add(data.seqno)
            self._persist(Received(source, data.seqno))
            self._deliver(data)
        self._outbox.send(source, Ack(data.seqno))
        self._maybe_checkpoint()

    def _on_ack(self, source: SiteId, seqno: int) -> None:
        outstanding = self._outstanding.get(seqno)
        if outstanding is None or source not in outstanding.waiting:
            return  # an acknowledgement that came twice, or late
        outstanding.waiting.remove(source)
        if not outstanding.waiting:
            del self._outstanding[seqno]
            self._outbox.cancel_timer(RESEND, seqno)
            self._persist(Acknowledged(seqno))
            self._maybe_checkpoint()

    def _send_first(self, data: Data, targets: list[SiteId]) -> None:
        if self._use_multicast:
            self._outbox.multicast(list(targets), data)
        else:
            for target in targets:
                self._outbox.send(target, data)

    def _send_again(self, now: Micros, outstanding: Outstanding) -> None:
        for target in outstanding.waiting:
            self._outbox.send(target, outstanding.data)
        self._outbox.set_timer(RESEND, outstanding.data.seqno, now + self._resend_us)

    def _deliver(self, data: Data) -> None:
        self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)

    def _received_from(self, origin: SiteId) -> RangeSet:
        known = self._received.get(origin)
        if known is None:
            known = RangeSet()
            self._received[origin] = known
        return known

    def _others(self, group: GroupId) -> list[SiteId]:
        return [site for site in self._groups[group] if site != self._site]

    def _persist(self, record: Record) -> None:
        self._outbox.persist(record)
        self._records += 1

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is outstanding, once they are many."""
        if self._records < RECORDS_MAX + 2 * len(self._outstanding):
            return False
        received = [(origin, self._received[origin].to_wire(RANGES_MAX)) for origin in sorted(self._received)]
        records: list[Record] = [Summary(self._next_seqno, tuple(received))]
        for outstanding in self._outstanding.values():
            data = outstanding.data
            records.append(Sent(data.group, data.seqno, data.payload))
        self._outbox.checkpoint(records)
        self._records = len(records)
        for group in range(len(self._groups)):
            self._outbox.trim(group, 1 << 62)  # nothing here reads the log
        return True
