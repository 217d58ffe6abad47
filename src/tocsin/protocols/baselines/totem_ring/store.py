"""What a member keeps: its present ring with the messages at their places, and what of them is delivered."""

from tocsin.core.data import Renewed, Sent
from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP, GroupId, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import Records
from tocsin.protocols.baselines.totem_ring.absence import Absence
from tocsin.protocols.baselines.totem_ring.messages import (
    Delivered,
    History,
    Installed,
    Item,
    Kept,
    Met,
    Seen,
    Stored,
)
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.queue import Queue
from tocsin.protocols.baselines.totem_ring.ring import BLANK, RINGS_MAX, Ring


class Store:
    """The durable state, and the deliveries that go with it."""

    def __init__(
        self, setup: Setup, options: TotemRingOptions, records: Records, absence: Absence, outbox: Outbox
    ) -> None:
        site = setup.site
        self._site: SiteId = site
        self._groups = setup.groups
        self._safe_only: bool = options.delivery == "safe"  # deliver what is safe, not what is agreed
        self._outbox = outbox
        self.ring = Ring(0, 0, list(range(setup.sites)))  # the last one installed; its messages are durable
        if setup.incarnation > FIRST_INCARNATION:
            self.ring = Ring(BLANK, site, [site])  # it comes from no ring that there was
        self.queue = Queue(site, setup.first_seqno)
        self.seen = (setup.incarnation - FIRST_INCARNATION) * RENEWAL_GAP  # largest ring number heard of …
        # … in which own proposals are durable
        self.accepted = 0  # the last ring that this life has proposed or agreed to; it never agrees to an older one
        self.history = ReceivedNumbers()  # of messages delivered here, or missed for good; durable with them
        self.before: tuple[int, ...] = ()  # what the history was when the ring was installed
        self._absence = absence
        self._records = records
        self._repeated_max = 4 * (options.window + options.queue)

    # Starting

    def found(self) -> None:
        """The first start of all: everybody is on ring 0."""
        self._records.persist(Installed(0, 0, tuple(self.ring.members), 0, 0))

    def recall(self, records: list[Record]) -> None:
        """What an earlier life kept."""
        for record in records:
            self._recall(record)
        self._records.recall(records)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Installed):
            self.ring = Ring(record.ring, record.root, list(record.members))
            self.queue.numbers.resume(record.next_seqno)
            self.seen = record.seen
        elif isinstance(record, Sent):
            self.queue.recall(record)
        elif isinstance(record, Stored):
            self.ring.store(record.place, record.item)
            self.queue.recall_placed(record.item)
        elif isinstance(record, Delivered):
            for place in range(self.ring.delivered, record.place):
                self._note_delivered(self.ring.items[place])
            self.ring.recall_delivered(record.place)
        elif isinstance(record, Seen):
            self.seen = record.ring
        elif isinstance(record, Kept):
            self.ring.start_at(record.place, record.delivered)
        elif isinstance(record, History):
            self.history.adopt(record.marks)
        elif isinstance(record, Met):
            self._absence.recall_met(record, self.history)
        elif isinstance(record, Renewed):
            self._absence.recall()

    # Messages

    def take_own(self, group: GroupId, payload: bytes) -> int:
        """A broadcast of this site; its number."""
        sent = self.queue.add(group, payload)
        self._records.persist(sent)
        return sent.seqno

    def store(self, place: int, item: Item) -> None:
        """A message at its place."""
        if self.ring.store(place, item):
            self._records.persist(Stored(place, item))

    def is_delivered(self) -> bool:
        """Whether all that is here is delivered."""
        return not self.ring.have or self.ring.delivered > self.ring.have.last()

    def deliver_ready(self) -> None:
        """Deliver in the order of places: what is safe, or what is here."""
        ring = self.ring
        limit = min(ring.safe, ring.reached()) if self._safe_only else ring.reached()
        if ring.delivered < limit:
            while ring.delivered < limit:
                self._deliver(ring.take_next())
            self._records.persist(Delivered(ring.delivered))

    def deliver_below(self, place: int) -> None:
        """In a recovery: deliver what is settled of the old ring. Nothing is persisted before `begin_ring`."""
        ring = self.ring
        while ring.delivered < min(place, ring.reached()):
            self._deliver(ring.take_next())

    def deliver_rest(self, companions: list[SiteId]) -> None:
        """What is left, in order; beyond a gap only the companions' own: others may depend on what is missing."""
        ring = self.ring
        reached = ring.reached()
        for start, stop in ring.have.ranges():
            for place in range(max(start, ring.delivered), stop):
                item = ring.items[place]
                if place < reached or item.origin in companions:
                    self._deliver(item)

    def _deliver(self, item: Item) -> None:
        if self._site in self._groups[item.group]:
            self._note_delivered(item)
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

    def _note_delivered(self, item: Item) -> None:
        if self._site in self._groups[item.group]:
            self.history.add(item.origin, item.seqno)

    # Rings

    def hear_of(self, ring: int) -> None:
        """Somebody knows a ring of this number."""
        if ring <= RINGS_MAX:
            self.seen = max(self.seen, ring)

    def propose_ring(self) -> int:
        """A number that no ring had: even numbers are rings, odd ones their transitional views."""
        self.seen = self.seen + 2 - self.seen % 2
        self._records.persist(Seen(self.seen))
        self.accepted = self.seen
        return self.seen

    def accept(self, ring: int) -> None:
        """A ring of this number is to be the next one here."""
        self.hear_of(ring)
        self.accepted = ring

    def begin_anew(self) -> None:
        """This site may take part again: no number of a ring is used twice."""
        self.seen = self._absence.ring_beyond(self.seen)
        self._records.persist(Seen(self.seen))

    def begin_ring(self, number: int, root: SiteId, members: list[SiteId]) -> None:
        """A new ring without messages; the old one is forgotten."""
        self.ring = Ring(number, root, members)
        self.hear_of(number)
        self.before = self.history.marks()
        self._records.fold([*self._lasting(), *self.queue.records()])

    def _lasting(self) -> list[Record]:
        """What every checkpoint keeps."""
        ring = self.ring
        installed = Installed(ring.number, ring.root, tuple(ring.members), self.queue.numbers.following, self.seen)
        return [installed, History(self.history.marks()), *self._absence.records()]

    # Records

    def maybe_checkpoint(self) -> bool:
        """Forget what everybody has and is delivered, once the records are many."""
        ring = self.ring
        repeated = len(ring.items) + len(self.queue.waiting)  # at most 4 windows and the queue
        if not self._records.are_many(min(2 * repeated, self._repeated_max)):
            return False
        records = [*self._lasting(), Kept(ring.kept_from, ring.delivered)]
        for place in sorted(ring.items):
            records.append(Stored(place, ring.items[place]))
        records.extend(self.queue.records())
        self._records.fold(records)
        self._records.release_log(len(self._groups))
        return True
