"""`lamport`: deliver in the order of logical timestamps, once every potential source was heard beyond.

Papers: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978; Schneider,
"Synchronization in Distributed Programs", TOPLAS 4(2), 1982, who gives the delivery rule and the null messages.

| what the papers say                                           | here                          |
|---------------------------------------------------------------|-------------------------------|
| IR1, IR2: tick between events, stamp, and jump ahead on receipt | `broadcast`, `_see`           |
| channels are reliable and keep the order                      | `Channel`, RESEND, `places`   |
| a message is fully acknowledged, hence stable, when every     | `_maybe_deliver`              |
| process was heard beyond its stamp                            |                               |
| ties are broken by the order of the processes                 | the key (stamp, origin)       |
| a process with nothing to say sends a null message            | `_maybe_send_nulls`           |

Deviations. Channels are made reliable here: places, acknowledgements (inside the null messages), sending again. A null
is sent only when a stamp was received that this site has not answered. Messages go to the members of their group only,
and a channel counts what went to that one receiver, so that one order holds over all groups. Everything accepted or
promised is durable first (stamps by blocks), so that a site that comes back keeps its promises.

One silent site stops all delivery: nothing can be delivered that it might still precede. Guarantees need no more than
that every crashed site comes back; while one is down, everybody waits.
"""

from bisect import insort
from typing import Final

from tocsin.core.data import Account, Enquiry, PeerRenewed, Renewed
from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import RESEND, OwnNumbers, Resending
from tocsin.core.records import Records
from tocsin.core.renewal import RENEW, Renewal
from tocsin.protocols.baselines.lamport.channels import Channel, next_place, over_for
from tocsin.protocols.baselines.lamport.messages import (
    Ack,
    Acknowledged,
    Data,
    Delivered,
    Null,
    Received,
    Reserved,
    Sent,
    Summary,
)
from tocsin.protocols.baselines.lamport.options import LamportOptions

ASK: Final = "ASK"  # the oldest message here waits for somebody
NULL: Final = "NULL"  # somebody waits for this site

RESERVE: Final = 1024  # stamps reserved by one record: one write for a thousand promises
STAMP_MAX: Final = 1 << 59  # no honest clock comes here: a million events a second for 18,000 years


class Lamport(Machine):
    """Timestamp order."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, LamportOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._outbox = outbox
        self._nulls: bool = options.nulls
        self._null_us: int = options.null_us
        self._resend_us: int = options.resend_us
        self._window: int = options.window
        self._clock = 0  # largest stamp sent or seen
        self._reserved = 0  # on disk: every stamp sent from here is below it
        self._first_seqno: int = setup.first_seqno
        self._numbers = OwnNumbers(setup.first_seqno)
        self._sent: list[int] = [0] * setup.sites  # by site: messages broadcast to it
        self._sent_to: list[int] = [0] * len(setup.groups)  # by group: own messages
        self._channels: list[Channel] = [Channel() for _ in range(setup.sites)]  # by site; the own one is idle
        self._own: Resending[Data] = Resending(outbox, options.resend_us)
        self._pending: list[tuple[int, SiteId, int, GroupId, bytes]] = []  # (stamp, origin, seqno, …), sorted; durable
        self._delivered: tuple[int, SiteId] = (-1, -1)  # everything up to this key is delivered; durable
        self._needed: list[int] = [-1] * setup.sites  # by site: the stamp it waits to hear from here
        self._announced: list[int] = [-1] * setup.sites  # by site: the last stamp sent to it
        self._asking = False  # the ASK timer is set
        self._null_set = False  # the NULL timer is set
        self._records = Records(outbox, options.records_max)
        self._renewal = Renewal(setup, options.resend_us, setup.sites - 1, self._records, outbox)

    def room(self) -> int:
        return self._window - len(self._own.outstanding) if self._renewal.is_over else 0

    def quiet(self) -> bool:
        return not self._own.outstanding and not self._pending and self._renewal.is_over

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._pending.sort()
        while self._pending and self._pending[0][:2] <= self._delivered:
            self._pending.pop(0)
        self._clock = max(self._clock, self._reserved)
        self._own.send_all_again(now)
        self._maybe_ask(now)
        self._renewal.start(now)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._numbers.resume(record.next_seqno)
            self._reserved = record.reserved
            self._delivered = (record.delivered_stamp, record.delivered_origin)
            self._sent = list(record.sent)
            self._sent_to = list(record.groups)
            for site in range(self._sites):
                self._channels[site].received = record.received[site]
                self._channels[site].heard = record.heard[site] - 1
        elif isinstance(record, Sent):
            self._recall_sent(record)
        elif isinstance(record, Acknowledged):
            self._own.drop(record.seqno)
        elif isinstance(record, Received):
            self._pending.append((record.stamp, record.origin, record.seqno, record.group, record.payload))
            self._clock = max(self._clock, record.stamp)
            if not record.counted:
                channel = self._channels[record.origin]
                channel.received += 1
                channel.heard = max(channel.heard, record.stamp)
        elif isinstance(record, Delivered):
            self._delivered = (record.stamp, record.origin)
        elif isinstance(record, Reserved):
            self._reserved = record.stamp
        elif isinstance(record, PeerRenewed):
            self._channels[record.site].renew()
        elif isinstance(record, Renewed):
            self._renewal.recall()

    def _recall_sent(self, record: Sent) -> None:
        data = Data(record.group, self._site, record.seqno, record.stamp, record.places, record.payload)
        self._clock = max(self._clock, record.stamp)
        self._numbers.recall(record.seqno)
        if not record.counted:
            self._sent_to[record.group] += 1
            for site in self._groups[record.group]:
                self._sent[site] += 1
            if self._site in self._groups[record.group]:
                self._pending.append((record.stamp, self._site, record.seqno, record.group, record.payload))
        waiting = self._others(record.group)
        if waiting:
            self._own.add(record.seqno, data, waiting)

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._tick(self._clock + 1)
        places = tuple([self._sent[site] for site in self._groups[group]])
        data = Data(group, self._site, seqno, self._clock, places, payload)
        self._records.persist(Sent(group, seqno, data.stamp, places, False, payload))
        self._sent_to[group] += 1
        for site in self._groups[group]:
            self._sent[site] += 1
            self._announced[site] = data.stamp
        waiting = self._others(group)
        if waiting:
            self._own.add(seqno, data, waiting)
            self._outbox.multicast(list(waiting), data)
            self._own.arm(now, seqno)
        if self._site in self._groups[group]:
            insort(self._pending, (data.stamp, self._site, seqno, group, payload))
            self._maybe_deliver()
            self._maybe_ask(now)
        self._maybe_checkpoint()
        return seqno

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Enquiry):
            own = self._own.outstanding.values()
            place = next_place(own, self._groups, source, self._sent[source])
            over = over_for(own, self._groups, source, self._sent_to, self._first_seqno)
            self._renewal.answer(source, message, (place, self._clock), over)
        elif isinstance(message, Account):
            self._on_account(source, message)
        elif not self._renewal.is_over:
            return  # nothing is promised or acknowledged: it comes again
        elif isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Null):
            self._on_null(now, source, message)
        elif isinstance(message, Ack):
            self._on_received(source, message.received)
        self._maybe_checkpoint()

    # Sites that begin anew

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        """Its places begin at 0 again; what it once promised stands, for it will ask everybody for their clocks."""
        self._channels[site].renew()
        self._records.persist(PeerRenewed(site))
        self._needed[site] = -1
        self._announced[site] = -1
        self._renewal.forget(site)

    def _on_account(self, source: SiteId, account: Account) -> None:
        """This site has begun anew; when all have answered, its clock is beyond all that it can have promised."""
        if not self._renewal.on_account(source, account, 2):
            return
        self._renewal.tell_missed()
        for site, marks in self._renewal.answers():
            self._channels[site].received = marks[0]
            self._see(min(marks[1], STAMP_MAX))
        self._tick(self._clock + 1)
        self._fold()

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        if data.origin != source or data.group >= len(self._groups) or data.stamp > STAMP_MAX:
            return  # not a message of ours
        members = self._groups[data.group]
        if self._site not in members or len(data.places) != len(members):
            return
        channel = self._channels[source]
        if channel.hold(data.places[members.index(self._site)], data, self._window):
            taken = channel.take()
            while taken is not None:
                self._accept(taken)
                taken = channel.take()
        if not self._nulls:
            self._outbox.send(source, Ack(channel.received))
        self._maybe_deliver()
        for site in members:
            self._needed[site] = max(self._needed[site], data.stamp)
        self._needed[source] = max(self._needed[source], data.stamp)  # it waits for our acknowledgement, member or not
        self._announced[source] = min(self._announced[source], data.stamp - 1)
        self._maybe_send_nulls(now)
        self._maybe_ask(now)

    def _accept(self, data: Data) -> None:
        self._records.persist(Received(data.group, data.origin, data.seqno, data.stamp, False, data.payload))
        insort(self._pending, (data.stamp, data.origin, data.seqno, data.group, data.payload))
        self._see(data.stamp)

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        if len(null.sent) != self._sites or len(null.received) != self._sites or null.stamp > STAMP_MAX:
            return
        self._channels[source].promise(null.stamp, null.sent[self._site])
        self._see(null.stamp)
        self._on_received(source, null.received[self._site])
        self._maybe_deliver()
        if null.ask:
            self._needed[source] = self._clock
            self._announced[source] = -1
            self._send_nulls()
        self._maybe_ask(now)

    def _on_received(self, source: SiteId, received: int) -> None:
        """The source has everything of ours that went to it at places below `received`."""
        acknowledged: list[int] = []
        for seqno, outstanding in self._own.outstanding.items():
            data = outstanding.data
            if source in outstanding.waiting:
                place = data.places[self._groups[data.group].index(source)]
                if place >= received:
                    break  # places grow with numbers
                acknowledged.append(seqno)
        for seqno in acknowledged:
            if self._own.acknowledge(seqno, source):
                self._records.persist(Acknowledged(seqno))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            self._own.send_again(now, key)
        elif timer == ASK:
            self._asking = False
            self._send_asks()
            self._maybe_ask(now)
        elif timer == NULL:
            self._null_set = False
            self._send_nulls()
        elif timer == RENEW:
            self._renewal.ask(now)

    # Order

    def _maybe_deliver(self) -> bool:
        """Deliver, in the order of keys, what nobody can precede any more."""
        delivered = False
        while self._pending and self._heard_beyond(self._pending[0][0]):
            stamp, origin, seqno, group, payload = self._pending.pop(0)
            self._delivered = (stamp, origin)
            self._outbox.deliver(group, origin, seqno, payload)
            delivered = True
        if delivered:
            self._records.persist(Delivered(self._delivered[0], self._delivered[1]))
        return delivered

    def _heard_beyond(self, stamp: int) -> bool:
        return not self._silent(stamp)

    def _silent(self, stamp: int) -> list[SiteId]:
        """Those that may still send something with this stamp or a smaller one."""
        channels = self._channels
        return [site for site in range(self._sites) if site != self._site and channels[site].heard < stamp]

    def _see(self, stamp: int) -> None:
        """IR2: the clock is never behind a stamp that was seen."""
        self._clock = max(self._clock, stamp)

    def _tick(self, stamp: int) -> None:
        """Use a stamp: all below the reservation may be used without a write."""
        self._clock = stamp
        if stamp >= self._reserved:
            self._reserved = stamp + RESERVE
            self._records.persist(Reserved(self._reserved))

    # Null messages

    def _maybe_send_nulls(self, now: Micros) -> bool:
        """Answer those who wait, now or when `null_us` has passed without a broadcast."""
        if not self._nulls or not self._owed_nulls():
            return False
        if self._null_us == 0:
            self._send_nulls()
            return True
        if not self._null_set:
            self._null_set = True
            self._outbox.set_timer(NULL, 0, now + self._null_us)
        return False

    def _owed_nulls(self) -> list[SiteId]:
        return [
            site for site in range(self._sites) if site != self._site and self._announced[site] < self._needed[site]
        ]

    def _send_nulls(self) -> None:
        targets = self._owed_nulls()
        if targets and self._nulls:
            self._tick(self._clock)
            self._outbox.multicast(targets, self._null(False))
            for site in targets:
                self._announced[site] = self._clock

    def _null(self, ask: bool) -> Null:
        received = tuple([channel.received for channel in self._channels])
        return Null(self._clock, tuple(self._sent), received, ask)

    def _maybe_ask(self, now: Micros) -> bool:
        """While something waits here, ask the silent once in a while: their nulls may be lost."""
        if self._asking or not self._nulls or not self._pending:
            return False
        self._asking = True
        self._outbox.set_timer(ASK, 0, now + self._resend_us)
        return True

    def _send_asks(self) -> None:
        if not self._pending:
            return
        silent = self._silent(self._pending[0][0])
        if silent:
            self._tick(self._clock)
            self._outbox.multicast(silent, self._null(True))

    # Sending and keeping

    def _others(self, group: GroupId) -> list[SiteId]:
        return [site for site in self._groups[group] if site != self._site]

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is still needed, once they are many."""
        if not self._records.are_many(4 * (len(self._own.outstanding) + len(self._pending))):
            return False
        self._fold()
        return True

    def _fold(self) -> None:
        records: list[Record] = [
            Summary(
                self._numbers.following,
                self._reserved,
                max(self._delivered[0], 0),
                self._delivered[1],
                tuple(self._sent),
                tuple([channel.received for channel in self._channels]),
                tuple([channel.heard + 1 for channel in self._channels]),
                tuple(self._sent_to),
            )
        ]
        records.extend(self._renewal.records())
        for outstanding in self._own.outstanding.values():
            data = outstanding.data
            records.append(Sent(data.group, data.seqno, data.stamp, data.places, True, data.payload))
        for stamp, origin, seqno, group, payload in self._pending:
            records.append(Received(group, origin, seqno, stamp, True, payload))
        self._records.fold(records)
        self._records.release_log(len(self._groups))
