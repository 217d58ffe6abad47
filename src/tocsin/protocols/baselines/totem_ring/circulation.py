"""The ring at work: the token numbers, acknowledges, asks and limits (section 4 of the paper)."""

from typing import Final

from tocsin.core.data import Sent
from tocsin.core.errors import DecodeError
from tocsin.core.machine import Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.core.records import Records
from tocsin.protocols.baselines.totem_ring.messages import (
    Beacon,
    Commit,
    Data,
    Delivered,
    Installed,
    Item,
    Kept,
    Seen,
    Stored,
    Token,
)
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.ring import Gathering, Ring

HOLD: Final = "HOLD"  # an idle token is held
RETRY: Final = "RETRY"  # no sign that the token, or commit token, arrived
LOST: Final = "LOST"  # the token, or commit token, did not come back
JOIN: Final = "JOIN"
CONSENSUS: Final = "CONSENSUS"
BEACON: Final = "BEACON"

OPERATIONAL: Final = 0
GATHER: Final = 1
COMMIT: Final = 2

RESEND_MAX: Final = 64  # messages sent again in one visit of the token
AHEAD_MAX: Final = 1 << 20  # no honest place is so far beyond what is here


class Circulating(Machine):
    """A member of a ring that works; `TotemRing` makes new rings."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, TotemRingOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._others: list[SiteId] = [site for site in range(setup.sites) if site != setup.site]
        self._outbox = outbox
        self._safe_only: bool = options.delivery == "safe"
        self._idle_us: int = options.idle_us
        self._retry_us: int = options.retry_us
        self._loss_us: int = options.loss_us
        self._join_us: int = options.join_us
        self._consensus_us: int = options.consensus_us
        self._beacon_us: int = options.beacon_us
        self._burst: int = options.burst
        self._window: int = options.window
        self._queue_max: int = options.queue
        self._state = OPERATIONAL
        self._numbers = OwnNumbers()
        self._queue: list[Item] = []  # own messages without a place; durable
        self._ring = Ring(0, 0, list(range(setup.sites)))  # the last one installed; its messages are durable
        self._seen = 0  # largest ring number heard of; own proposals are durable in it
        self._held: Token | None = None  # an idle token that waits here
        self._last_target: SiteId = -1  # whom the token, or commit token, was passed to …
        self._last_sent: Message | None = None  # … for sending it again
        self._gathering = Gathering(setup.site, [])
        self._records = Records(outbox)
        self._commit: Commit | None = None  # the newest commit token seen here
        self._held_commit: Commit | None = None  # phase 2, waiting for messages of the old ring

    def room(self) -> int:
        return self._queue_max - len(self._queue)

    def quiet(self) -> bool:
        ring = self._ring
        if self._state != OPERATIONAL or self._queue:
            return False
        return not ring.have or ring.delivered > ring.have.last()

    def _recall(self, record: Record) -> None:
        if isinstance(record, Installed):
            self._ring = Ring(record.ring, record.root, list(record.members))
            self._numbers.resume(record.next_seqno)
            self._seen = record.seen
        elif isinstance(record, Sent):
            self._numbers.recall(record.seqno)
            self._queue.append(Item(record.group, self._site, record.seqno, record.payload))
        elif isinstance(record, Stored):
            self._ring.store(record.place, record.item)
            if self._queue and record.item.origin == self._site and record.item.seqno == self._queue[0].seqno:
                self._queue.pop(0)
        elif isinstance(record, Delivered):
            self._ring.delivered = record.place
        elif isinstance(record, Seen):
            self._seen = record.ring
        elif isinstance(record, Kept):
            self._ring.start_at(record.place, record.delivered)

    def _run_alone(self) -> None:
        """A ring of one needs no token."""
        ring = self._ring
        for item in self._queue:
            self._store(ring.reached(), item)
        self._queue = []
        ring.safe = ring.reached()
        self._deliver_ready()
        ring.drop_below(ring.safe)
        self._maybe_checkpoint()

    def _store(self, place: int, item: Item) -> None:
        if self._ring.store(place, item):
            self._records.persist(Stored(place, item))

    def _on_token(self, now: Micros, source: SiteId, token: Token) -> None:
        ring = self._ring
        if self._state != OPERATIONAL or not ring.is_named(token.ring, token.root) or token.hop <= ring.hop:
            return
        if source not in ring.members or token.aru > token.end or token.end > ring.reached() + AHEAD_MAX:
            return
        if self._held is not None:
            return
        self._passed_on()
        self._outbox.set_timer(LOST, 0, now + self._patience_us())
        news = token.end != ring.last_end or token.aru != ring.last_aru or min(ring.last_aru, token.aru) > ring.safe
        if not news and not self._queue and self._idle_us > 0:  # the token need not hurry
            self._held = token
            self._outbox.set_timer(HOLD, 0, now + self._idle_us)
        else:
            self._use_token(now, token)

    def _release(self, now: Micros) -> None:
        """Use a token that was held."""
        token = self._held
        if token is not None:
            self._held = None
            self._outbox.cancel_timer(HOLD, 0)
            self._use_token(now, token)

    def _use_token(self, now: Micros, token: Token) -> None:
        """Send again what is asked for, broadcast, ask, acknowledge, and pass the token on."""
        ring = self._ring
        ring.hop = token.hop
        others = [site for site in ring.members if site != self._site]
        wanted = self._answer_wanted(token, others)
        end = max(token.end, ring.reached())
        before = max(0, token.sent - ring.sent_last)
        allowed = min(self._burst, max(0, self._window - before), len(self._queue))
        for item in self._queue[:allowed]:
            self._store(end, item)
            self._outbox.multicast(list(others), Data(ring.number, ring.root, end, item))
            end += 1
        del self._queue[:allowed]
        ring.sent_last = allowed
        wanted.update(ring.have.gaps_below(min(ring.last_end, end), ring.kept_from))
        ring.last_end = end
        aru, aru_site = self._acknowledge(token, end)
        ring.safe = max(ring.safe, min(ring.last_aru, token.aru))
        ring.last_aru = aru
        self._deliver_ready()
        ring.drop_below(ring.safe)
        passed = Token(ring.number, ring.root, token.hop + 1, end, aru, aru_site, wanted.to_wire(), before + allowed)
        self._maybe_checkpoint()
        self._pass(now, ring.next_after(self._site), passed)

    def _answer_wanted(self, token: Token, others: list[SiteId]) -> RangeSet:
        """Send again what is here of the wanted; what remains wanted."""
        ring = self._ring
        wanted = ranges_of(token.wanted)
        sent = 0
        for start, stop in wanted.intersection(ring.have).ranges():
            for place in range(start, stop):
                item = ring.items.get(place)
                if item is not None and sent < RESEND_MAX:
                    sent += 1
                    self._outbox.multicast(list(others), Data(ring.number, ring.root, place, item))
                    wanted.remove(place)
        return wanted

    def _acknowledge(self, token: Token, end: int) -> tuple[int, int]:
        """All-received-up-to: whoever has less lowers it, whoever lowered it raises it again."""
        mine = min(self._ring.reached(), end)
        if mine < token.aru or token.aru_site in (self._site, -1):
            return mine, (self._site if mine < end else -1)
        return token.aru, token.aru_site

    def _deliver_ready(self) -> None:
        """Deliver in the order of places: what is safe, or what is here."""
        ring = self._ring
        limit = min(ring.safe, ring.reached()) if self._safe_only else ring.reached()
        if ring.delivered < limit:
            while ring.delivered < limit:
                self._deliver(ring.items[ring.delivered])
                ring.delivered += 1
            self._records.persist(Delivered(ring.delivered))

    def _deliver(self, item: Item) -> None:
        if self._site in self._groups[item.group]:
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

    def _pass(self, now: Micros, target: SiteId, message: Message) -> None:
        """Hand the token, or commit token, to the next member, again and again until there is a sign of it."""
        self._last_target = target
        self._last_sent = message
        self._outbox.send(target, message)
        self._outbox.set_timer(RETRY, 0, now + self._retry_us)

    def _passed_on(self) -> None:
        self._last_sent = None
        if self._held_commit is None:
            self._outbox.cancel_timer(RETRY, 0)

    def _patience_us(self) -> int:
        return self._loss_us + 4 * self._retry_us * len(self._ring.members)

    def _start_ring(self, now: Micros) -> None:
        """A ring is installed here."""
        ring = self._ring
        self._state = OPERATIONAL
        if len(ring.members) == 1:
            self._run_alone()
        else:
            self._outbox.set_timer(LOST, 0, now + self._patience_us())
        if len(ring.members) < self._sites and ring.root == self._site:
            self._outbox.set_timer(BEACON, 0, now + self._beacon_us)

    def _send_beacon(self, now: Micros) -> None:
        targets = [site for site in self._others if site not in self._ring.members]
        if targets:
            self._outbox.multicast(targets, Beacon(self._ring.number))
            self._outbox.set_timer(BEACON, 0, now + self._beacon_us)

    def _maybe_checkpoint(self) -> bool:
        """Forget what everybody has and is delivered, once the records are many."""
        ring = self._ring
        if not self._records.are_many(2 * (len(ring.items) + len(self._queue))):
            return False
        records: list[Record] = [
            Installed(ring.number, ring.root, tuple(ring.members), self._numbers.following, self._seen),
            Kept(ring.kept_from, ring.delivered),
        ]
        for place in sorted(ring.items):
            records.append(Stored(place, ring.items[place]))
        for item in self._queue:
            records.append(Sent(item.group, item.seqno, item.payload))
        self._records.fold(records)
        self._records.release_log(len(self._groups))
        return True


def ranges_of(flat: tuple[int, ...]) -> RangeSet:
    """A set from the wire; what is no set is empty."""
    try:
        return rangeset_from_wire(flat)
    except DecodeError:
        return RangeSet()
