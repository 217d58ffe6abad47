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

from tocsin.core.data import Account, Data, Enquiry, Received, Renewed
from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import RESEND, OwnNumbers, Resending
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import Records
from tocsin.core.renewal import RENEW, Renewal, over_of
from tocsin.protocols.baselines.ack_all.messages import Ack, Acknowledged, Sent, Summary
from tocsin.protocols.baselines.ack_all.options import AckAllOptions


class AckAll(Machine):
    """Send to each, resend until each has acknowledged."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, AckAllOptions)
        self._site = setup.site
        self._groups = setup.groups
        self._outbox = outbox
        self._window: int = options.window
        self._use_multicast: bool = options.multicast
        self._first_seqno: int = setup.first_seqno
        self._numbers = OwnNumbers(setup.first_seqno)
        self._own: Resending[Data] = Resending(outbox, options.resend_us)
        self._sent: list[int] = [0] * len(setup.groups)  # by group: own messages
        self._places: dict[int, int] = {}  # by number of an outstanding message: its place among those to its group
        self._received = ReceivedNumbers()
        self._records = Records(outbox, options.records_max)
        self._renewal = Renewal(setup, options.resend_us, setup.sites - 1, self._records, outbox)

    def room(self) -> int:
        return self._window - len(self._own.outstanding) if self._renewal.is_over else 0

    def quiet(self) -> bool:
        return not self._own.outstanding and self._renewal.is_over

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._own.send_all_again(now)
        self._renewal.start(now)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._numbers.resume(record.next_seqno)
            self._sent = list(record.sent)
            for origin, ranges in record.received:
                self._received.recall(origin, ranges)
        elif isinstance(record, Sent):
            self._sent[record.group] = max(self._sent[record.group], record.place + 1)
            self._numbers.recall(record.seqno)
            waiting = self._others(record.group)
            if waiting:
                data = Data(record.group, self._site, record.seqno, record.payload)
                self._own.add(record.seqno, data, waiting)
                self._places[record.seqno] = record.place
        elif isinstance(record, Acknowledged):
            self._own.drop(record.seqno)
            self._places.pop(record.seqno, None)
        elif isinstance(record, Received):
            self._received.add(record.origin, record.seqno)
        elif isinstance(record, Renewed):
            self._renewal.recall()

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        place = self._sent[group]
        self._sent[group] = place + 1
        self._records.persist(Sent(group, seqno, place, payload))
        data = Data(group, self._site, seqno, payload)
        waiting = self._others(group)
        if waiting:
            self._own.add(seqno, data, waiting)
            self._places[seqno] = place
            self._send_first(data, waiting)
            self._own.arm(now, seqno)
        if self._site in self._groups[group]:
            self._deliver(data)
        self._maybe_checkpoint()
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(source, message)
        elif isinstance(message, Ack):
            self._on_ack(source, message.seqno)
        elif isinstance(message, Enquiry):
            self._renewal.answer(source, message, self._received.marks(), self._over_for(source))
        elif isinstance(message, Account):
            self._on_account(source, message)

    def _over_for(self, site: SiteId) -> tuple[tuple[int, int, int, int], ...]:
        """Own messages that this site has acknowledged."""
        found: list[tuple[int, int, int, int]] = []
        for group in range(len(self._groups)):
            if site in self._groups[group]:
                under_way = [
                    (self._places[seqno], seqno)
                    for seqno, outstanding in self._own.outstanding.items()
                    if outstanding.data.group == group and site in outstanding.waiting
                ]
                found.extend(over_of(group, self._first_seqno, self._sent[group], under_way))
        return tuple(found)

    def _on_account(self, source: SiteId, account: Account) -> None:
        """This site has begun anew, and is told what the others have: that is missed here, and never delivered."""
        if self._renewal.on_account(source, account):
            self._renewal.tell_missed()
            for _, marks in self._renewal.answers():
                self._received.adopt(marks)
            self._fold()

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            self._own.send_again(now, key)
        elif timer == RENEW:
            self._renewal.ask(now)

    def _on_data(self, source: SiteId, data: Data) -> None:
        if data.origin != source or data.group >= len(self._groups):
            return  # not from a site of ours
        if not self._renewal.is_over:
            return  # not acknowledged: it comes again
        if not self._received.has(source, data.seqno):
            self._received.add(source, data.seqno)
            self._records.persist(Received(source, data.seqno))
            self._deliver(data)
        self._outbox.send(source, Ack(data.seqno))
        self._maybe_checkpoint()

    def _on_ack(self, source: SiteId, seqno: int) -> None:
        if self._own.acknowledge(seqno, source):
            del self._places[seqno]
            self._records.persist(Acknowledged(seqno))
            self._maybe_checkpoint()

    def _send_first(self, data: Data, targets: list[SiteId]) -> None:
        if self._use_multicast:
            self._outbox.multicast(list(targets), data)
        else:
            for target in targets:
                self._outbox.send(target, data)

    def _deliver(self, data: Data) -> None:
        self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)

    def _others(self, group: GroupId) -> list[SiteId]:
        return [site for site in self._groups[group] if site != self._site]

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is outstanding, once they are many."""
        if not self._records.are_many(2 * len(self._own.outstanding)):
            return False
        self._fold()
        return True

    def _fold(self) -> None:
        records: list[Record] = [Summary(self._numbers.following, tuple(self._sent), self._received.all_ranges())]
        records.extend(self._renewal.records())
        for outstanding in self._own.outstanding.values():
            data = outstanding.data
            records.append(Sent(data.group, data.seqno, self._places[data.seqno], data.payload))
        self._records.fold(records)
        self._records.release_log(len(self._groups))
