"""`totem_ring`: the holder of a circulating token broadcasts; the token numbers, acknowledges, asks and limits.

Paper: Amir, Moser, Melliar-Smith, Agarwal, Ciarfella, "The Totem Single-Ring Ordering and Membership Protocol", TOCS
13(4), 1995 (the "fast message" protocol of Chang and Hwang).

| the paper                                                        | here                                          |
|------------------------------------------------------------------|-----------------------------------------------|
| section 4: seq, aru, aru_id, rtr, fcc in the token               | `Token`, `_use_token`                         |
| agreed: all before it are delivered; safe: aru on two rotations  | `_deliver_ready`, `Ring.safe`                 |
| section 5: operational, gather, commit, recovery                 | `_state`; recovery is phases 1 to 3 of commit |
| proc_set, fail_set, Join, consensus                              | `Gathering`, `_on_join`, CONSENSUS            |
| the commit token collects and tells what each brings             | `Commit` phases 0 and 1                       |
| messages of the old ring are exchanged before the new is installed | `_exchange`, `Want`; phase 2 waits for all  |
| regular and transitional configuration changes                   | `_install`: two views                         |
| after a gap only messages of transitional members are delivered  | `_deliver_rest`                               |

Deviations. The exchange of old messages is by plain messages, and two more rotations of the commit token say that it
is done and that the ring is installed. Messages at their places are durable before they are sent or acknowledged, so a
site that crashed comes back as one that was cut off: it delivers what its old ring left it in a transitional
configuration of its own, and joins. A representative's beacon finds other rings. An idle token is held for a while. Any
component goes on by itself, as in the paper: all its views, transitional ones too, are views in which messages are
ordered or delivered, and are reported as such.
"""

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.totem_ring.circulation import (
    AHEAD_MAX,
    BEACON,
    COMMIT,
    CONSENSUS,
    GATHER,
    HOLD,
    JOIN,
    LOST,
    OPERATIONAL,
    RESEND_MAX,
    RETRY,
    Circulating,
    ranges_of,
)
from tocsin.protocols.baselines.totem_ring.messages import (
    Beacon,
    Commit,
    Data,
    Installed,
    Item,
    Join,
    Past,
    Seen,
    Token,
    Want,
)
from tocsin.protocols.baselines.totem_ring.ring import Gathering, Ring


class TotemRing(Circulating):
    """A member of a ring, or on its way to one."""

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        if not records:
            self._records.persist(Installed(0, 0, tuple(self._ring.members), 0, 0))
            self._outbox.install_view(0, self._ring.members, True)
            self._start_ring(now)
            if self._site == 0 and self._others:
                self._use_token(now, Token(0, 0, 1, 0, 0, -1, (), 0))
            return
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._gather(now, [])

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._records.persist(Sent(group, seqno, payload))
        self._queue.append(Item(group, self._site, seqno, payload))
        if self._state == OPERATIONAL:
            if len(self._ring.members) == 1:
                self._run_alone()
            elif self._held is not None:
                self._release(now)
        return seqno

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Token):
            self._on_token(now, source, message)
        elif isinstance(message, Beacon):
            stale = source in self._ring.members and message.ring <= self._ring.number
            if self._state == OPERATIONAL and not stale:
                self._gather(now, [source])
        elif isinstance(message, Join):
            self._on_join(now, source, message)
        elif isinstance(message, Commit):
            self._on_commit(now, source, message)
        elif isinstance(message, Want):
            self._on_want(source, message)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            self._release(now)
        elif timer == RETRY:
            if self._last_sent is not None:
                self._outbox.send(self._last_target, self._last_sent)
                self._outbox.set_timer(RETRY, 0, now + self._retry_us)
            if self._held_commit is not None:
                self._send_wants()
                self._outbox.set_timer(RETRY, 0, now + self._retry_us)
        elif timer == LOST:
            self._gather(now, [])
        elif timer == JOIN and self._state == GATHER:
            self._send_join(now)
        elif timer == CONSENSUS and self._state == GATHER:
            self._on_consensus_timeout(now)
        elif timer == BEACON and self._state == OPERATIONAL:
            self._send_beacon(now)

    # The ring at work

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        ring = self._ring
        item = data.item
        if not ring.is_named(data.ring, data.root) or source not in ring.members:
            return
        if item.origin >= self._sites or item.group >= len(self._groups) or data.place > ring.reached() + AHEAD_MAX:
            return
        if self._state == COMMIT:
            self._on_exchanged(now, source, data)
        elif ring.have.contains(data.place) or self._state == GATHER:
            return
        else:
            self._store(data.place, item)
            if not self._safe_only:
                self._deliver_ready()
            if data.place >= ring.last_end:
                self._passed_on()  # somebody after us has the token, or had it

    # Gathering a new ring

    def _gather(self, now: Micros, more: list[SiteId]) -> None:
        self._state = GATHER
        self._held = None
        self._commit = None
        self._held_commit = None
        self._last_sent = None
        for timer in (HOLD, RETRY, LOST, BEACON):
            self._outbox.cancel_timer(timer, 0)
        self._gathering = Gathering(self._site, self._ring.members + more)
        self._outbox.set_timer(CONSENSUS, 0, now + self._consensus_us)
        self._send_join(now)
        self._maybe_commit(now)

    def _send_join(self, now: Micros) -> None:
        gathering = self._gathering
        if self._others:
            join = Join(tuple(sorted(gathering.known)), tuple(sorted(gathering.dead)), self._seen)
            self._outbox.multicast(list(self._others), join)
        self._outbox.set_timer(JOIN, 0, now + self._join_us)

    def _on_join(self, now: Micros, source: SiteId, join: Join) -> None:
        if max((*join.known, *join.dead, 0)) >= self._sites:
            return
        if self._state == OPERATIONAL and source in self._ring.members and join.ring < self._ring.number:
            return  # sent before this ring was installed
        if self._state == COMMIT:
            return  # it is heard again when the ring is installed, or given up
        self._seen = max(self._seen, join.ring)
        if self._state != GATHER:
            self._gather(now, [source])
        if self._gathering.hear(source, list(join.known), list(join.dead)):
            self._outbox.set_timer(CONSENSUS, 0, now + self._consensus_us)
            self._send_join(now)
        self._maybe_commit(now)

    def _on_consensus_timeout(self, now: Micros) -> None:
        if self._gathering.give_up_silent():
            self._outbox.set_timer(CONSENSUS, 0, now + self._consensus_us)
            self._send_join(now)
            self._maybe_commit(now)
        else:
            self._gather(now, [])  # agreed, and the representative did nothing

    def _maybe_commit(self, now: Micros) -> bool:
        """The representative of agreed members makes the commit token."""
        alive = self._gathering.alive()
        if self._state != GATHER or alive[0] != self._site or not self._gathering.is_agreed():
            return False
        self._seen = self._seen + 2 - self._seen % 2  # even numbers are rings, odd ones their transitional views
        self._records.persist(Seen(self._seen))
        self._enter_commit(now, Commit(self._seen, self._site, tuple(alive), 0, (self._past(),)))
        return True

    # Committing to it

    def _past(self) -> Past:
        ring = self._ring
        return Past(ring.number, ring.root, max(ring.safe, ring.delivered), ring.have.to_wire())

    def _enter_commit(self, now: Micros, commit: Commit) -> None:
        self._state = COMMIT
        self._outbox.cancel_timer(JOIN, 0)
        self._outbox.cancel_timer(CONSENSUS, 0)
        self._advance(now, commit)

    def _on_commit(self, now: Micros, source: SiteId, commit: Commit) -> None:
        members = commit.members
        if self._site not in members or max(members) >= self._sites or list(members) != sorted(set(members)):
            return
        if members[0] != commit.root or len(commit.pasts) > len(members):
            return
        if commit.phase == 3 and self._ring.is_named(commit.ring, commit.root):
            self._on_installed(now, commit)
        if commit.ring <= self._ring.number:
            return
        index = members.index(self._site)
        known = self._commit
        if self._state == GATHER:
            if commit.phase == 0 and len(commit.pasts) == index and list(members) == self._gathering.alive():
                self._seen = max(self._seen, commit.ring)
                pasts = (*commit.pasts, self._past())
                self._enter_commit(now, Commit(commit.ring, commit.root, members, 0, pasts))
        elif self._state == COMMIT and known is not None and len(commit.pasts) == len(members):
            own = commit.pasts[index]
            if known.ring != commit.ring or known.root != commit.root or not self._ring.is_named(own.ring, own.root):
                return
            if index == 0 and commit.phase == known.phase:  # round once: the next phase
                if commit.phase < 3:
                    self._advance(now, Commit(commit.ring, commit.root, members, commit.phase + 1, commit.pasts))
            elif index > 0 and commit.phase == known.phase + 1:
                self._advance(now, commit)

    def _advance(self, now: Micros, commit: Commit) -> None:
        """Do what a phase asks for, and pass the commit token on."""
        self._commit = commit
        self._last_sent = None
        self._outbox.set_timer(LOST, 0, now + self._patience_us())
        if len(commit.members) == 1:
            self._install(commit)
            self._end_commit(now)
            return
        if commit.phase == 1:
            self._exchange(commit)
        if commit.phase == 2 and self._lacking(commit):
            self._held_commit = commit
            self._send_wants()
            self._outbox.set_timer(RETRY, 0, now + self._retry_us)
            return
        following = commit.members[(commit.members.index(self._site) + 1) % len(commit.members)]
        if commit.phase == 3:
            self._install(commit)
            self._end_commit(now)
            if commit.root == self._site:
                self._pass(now, following, commit)
            else:
                self._outbox.send(following, commit)
        else:
            self._pass(now, following, commit)

    def _on_installed(self, now: Micros, commit: Commit) -> None:
        """The last round: the representative makes the token when it is over; the others pass it on again if asked."""
        ring = self._ring
        if self._state != OPERATIONAL or ring.hop > 0:
            return
        if ring.root == self._site:
            self._passed_on()
            self._use_token(now, Token(ring.number, ring.root, 1, 0, 0, -1, (), 0))
        else:
            self._outbox.send(ring.next_after(self._site), commit)

    def _end_commit(self, now: Micros) -> None:
        self._commit = None
        self._held_commit = None
        self._outbox.cancel_timer(LOST, 0)
        self._start_ring(now)

    def _companions(self, commit: Commit) -> list[SiteId]:
        """The transitional configuration: members that come from the same ring."""
        ring = self._ring
        return [
            commit.members[place]
            for place in range(len(commit.members))
            if ring.is_named(commit.pasts[place].ring, commit.pasts[place].root)
        ]

    def _past_of(self, commit: Commit, site: SiteId) -> Past:
        return commit.pasts[commit.members.index(site)]

    def _exchange(self, commit: Commit) -> None:
        """Send the companions what they lack and this site is the first to have."""
        ring = self._ring
        companions = self._companions(commit)
        first_had = RangeSet()  # had by a companion before this site
        for site in companions:
            if site == self._site:
                break
            first_had.update(ranges_of(self._past_of(commit, site).have))
        mine = ring.have.difference(first_had)
        for start, stop in mine.ranges():
            for place in range(max(start, ring.kept_from), stop):
                lacking = [
                    site
                    for site in companions
                    if site != self._site and not ranges_of(self._past_of(commit, site).have).contains(place)
                ]
                if lacking:
                    self._outbox.multicast(lacking, Data(ring.number, ring.root, place, ring.items[place]))

    def _lacking(self, commit: Commit) -> RangeSet:
        """Places that a companion has and this site has not."""
        union = RangeSet()
        for site in self._companions(commit):
            union.update(ranges_of(self._past_of(commit, site).have))
        return union.difference(self._ring.have)

    def _send_wants(self) -> None:
        commit = self._held_commit
        if commit is None:
            return
        lacking = self._lacking(commit)
        for site in self._companions(commit):
            there = lacking.intersection(ranges_of(self._past_of(commit, site).have))
            if there and site != self._site:
                self._outbox.send(site, Want(self._ring.number, self._ring.root, there.to_wire()))
                lacking = lacking.difference(there)

    def _on_want(self, source: SiteId, want: Want) -> None:
        ring = self._ring
        if not ring.is_named(want.ring, want.root):
            return
        sent = 0
        for start, stop in ranges_of(want.places).intersection(ring.have).ranges():
            for place in range(start, stop):
                item = ring.items.get(place)
                if item is not None and sent < RESEND_MAX:
                    sent += 1
                    self._outbox.send(source, Data(ring.number, ring.root, place, item))

    def _on_exchanged(self, now: Micros, source: SiteId, data: Data) -> None:
        """A message of the old ring, in a recovery: taken only if the exchange is about it."""
        commit = self._commit
        if commit is None or commit.phase == 0 or not self._lacking(commit).contains(data.place):
            return
        self._store(data.place, data.item)
        held = self._held_commit
        if held is not None and not self._lacking(held):
            self._held_commit = None
            self._advance(now, held)

    def _install(self, commit: Commit) -> None:
        """Deliver what the old ring left, in two configurations, and begin the new one; all in one step."""
        companions = self._companions(commit)
        ring = self._ring
        settled = max([self._past_of(commit, site).settled for site in companions])
        while ring.delivered < min(settled, ring.reached()):
            self._deliver(ring.items[ring.delivered])
            ring.delivered += 1
        self._outbox.install_view((commit.ring - 1) * self._sites + companions[0], companions, True)
        self._deliver_rest(companions)
        members = list(commit.members)
        self._ring = Ring(commit.ring, commit.root, members)
        self._outbox.install_view(commit.ring * self._sites + commit.root, members, True)
        self._seen = max(self._seen, commit.ring)
        records: list[Record] = [
            Installed(commit.ring, commit.root, commit.members, self._numbers.following, self._seen)
        ]
        for item in self._queue:
            records.append(Sent(item.group, item.seqno, item.payload))
        self._records.fold(records)

    def _deliver_rest(self, companions: list[SiteId]) -> None:
        """What is left, in order; beyond a gap only the companions' own: others may depend on what is missing."""
        ring = self._ring
        reached = ring.reached()
        for start, stop in ring.have.ranges():
            for place in range(max(start, ring.delivered), stop):
                item = ring.items[place]
                if place < reached or item.origin in companions:
                    self._deliver(item)
