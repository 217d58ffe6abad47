"""What a member keeps: its present ring with the messages at their places, and what of them is delivered."""

from typing import Final

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.totem_ring.messages import Delivered, Installed, Item, Kept, Seen, Stored
from tocsin.protocols.baselines.totem_ring.queue import Queue
from tocsin.protocols.baselines.totem_ring.ring import Ring

NO_RING: Final = 1  # the number of a past without a ring: odd, so that no ring has it
UNHEARD_RINGS: Final = 1 << 20  # numbers that an earlier incarnation may have used, beyond those that others heard of


class Store:
    """The durable state, and the deliveries that go with it."""

    def __init__(self, setup: Setup, safe_only: bool, records: Records, outbox: Outbox) -> None:
        self._site = setup.site
        self._groups = setup.groups
        self._safe_only = safe_only  # deliver what is safe, not what is agreed
        self._outbox = outbox
        self.ring = Ring(0, 0, list(range(setup.sites)))  # the last one installed; its messages are durable
        self.queue = Queue(setup.site, setup.first_seqno)
        self.seen = 0  # largest ring number heard of; own proposals are durable in it
        self._records = records

    # Starting

    def found(self) -> None:
        """The first start of all: everybody is on ring 0."""
        self._records.persist(Installed(0, 0, tuple(self.ring.members), 0, 0))

    def begin_anew(self, heard_of: int) -> None:
        """The start of a later incarnation: it comes from no ring, and names none as an earlier one did."""
        self.seen = heard_of + UNHEARD_RINGS
        self.ring = Ring(NO_RING, self._site, [self._site])
        self._records.fold([self._installed()])

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
            self.ring.recall_delivered(record.place)
        elif isinstance(record, Seen):
            self.seen = record.ring
        elif isinstance(record, Kept):
            self.ring.start_at(record.place, record.delivered)

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
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

    # Rings

    def hear_of(self, ring: int) -> None:
        """Somebody knows a ring of this number."""
        self.seen = max(self.seen, ring)

    def propose_ring(self) -> int:
        """A number that no ring had: even numbers are rings, odd ones their transitional views."""
        self.seen = self.seen + 2 - self.seen % 2
        self._records.persist(Seen(self.seen))
        self.maybe_checkpoint()  # while no ring comes about, nothing else folds these
        return self.seen

    def begin_ring(self, number: int, root: SiteId, members: list[SiteId]) -> None:
        """A new ring without messages; the old one is forgotten."""
        self.ring = Ring(number, root, members)
        self.hear_of(number)
        self._records.fold([self._installed(), *self.queue.records()])

    def _installed(self) -> Record:
        ring = self.ring
        return Installed(ring.number, ring.root, tuple(ring.members), self.queue.numbers.following, self.seen)

    # Records

    def maybe_checkpoint(self) -> bool:
        """Forget what everybody has and is delivered, once the records are many."""
        ring = self.ring
        if not self._records.are_many(2 * (len(ring.items) + len(self.queue.waiting))):
            return False
        records: list[Record] = [self._installed(), Kept(ring.kept_from, ring.delivered)]
        for place in sorted(ring.items):
            records.append(Stored(place, ring.items[place]))
        records.extend(self.queue.records())
        self._records.fold(records)
        self._records.release_log(len(self._groups))
        return True
