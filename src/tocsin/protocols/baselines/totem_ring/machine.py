"""`totem_ring`: the holder of a circulating token broadcasts; the token numbers, acknowledges, asks and limits.

Paper: Amir, Moser, Melliar-Smith, Agarwal, Ciarfella, "The Totem Single-Ring Ordering and Membership Protocol", TOCS
13(4), 1995 (the "fast message" protocol of Chang and Hwang).

| the paper                                                          | here                                        |
|--------------------------------------------------------------------|---------------------------------------------|
| section 4: seq, aru, aru_id, rtr, fcc in the token                 | `Token`, `Circulation`; `Passing` resends it |
| agreed: all before it are delivered; safe: aru on two rotations    | `Store.deliver_ready`, `Ring.safe`          |
| section 5: operational, gather, commit, recovery                   | `_state`; recovery is phases 1 to 3 of commit |
| proc_set, fail_set, Join, consensus                                | `Gathering`, `Membership`                   |
| the commit token collects and tells what each brings               | `Recovery`, phases 0 and 1                  |
| messages of the old ring are exchanged before the new is installed | `Exchange`; phase 2 waits for all           |
| regular and transitional configuration changes                     | `Recovery._install`: two views              |
| nothing: disks are not lost                                        | `Absence`                                   |
| after a gap only messages of transitional members are delivered    | `Store.deliver_rest`                        |

Deviations. The exchange of old messages is by plain messages, and two more rotations of the commit token say that it
is done and that the ring is installed. Messages at their places are durable before they are sent or acknowledged, so a
site that crashed comes back as one that was cut off: it delivers what its old ring left it in a transitional
configuration of its own, and joins. A representative's beacon finds other rings. Who is in
another's fail_set puts it into its own only when it has not agreed in time. An idle token is held for a while. Any
component goes on by itself, as in the paper: all its views, transitional ones too, are views in which messages are
ordered or delivered, and are reported as such.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.core.renewal import RENEW
from tocsin.protocols.baselines.totem_ring.absence import ASK, Absence
from tocsin.protocols.baselines.totem_ring.circulation import HOLD, Circulation
from tocsin.protocols.baselines.totem_ring.exchange import Exchange
from tocsin.protocols.baselines.totem_ring.membership import BEACON, CONSENSUS, JOIN, Membership
from tocsin.protocols.baselines.totem_ring.messages import Beacon, Before, Commit, Data, Had, Join, Token, Want
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.passing import LOST, RETRY, Passing
from tocsin.protocols.baselines.totem_ring.places import AHEAD_MAX
from tocsin.protocols.baselines.totem_ring.recovery import Recovery
from tocsin.protocols.baselines.totem_ring.store import Store

OPERATIONAL: Final = 0  # a ring is installed; the token circulates
GATHER: Final = 1  # the members of a new ring are being agreed on
COMMIT: Final = 2  # they are agreed; the commit token circulates


class TotemRing(Machine):
    """A member of a ring, or on its way to one."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, TotemRingOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._outbox = outbox
        self._queue_max: int = options.queue
        records = Records(outbox, options.records_max)
        self._absence = Absence(setup, options.join_us, records, outbox)
        self._store = Store(setup, options, records, self._absence, outbox)
        self._passing = Passing(options.retry_us, options.loss_us, outbox)
        self._circulation = Circulation(setup.site, options, self._store, self._passing, outbox)
        self._membership = Membership(setup.site, setup.sites, options, self._store, outbox)
        self._exchange = Exchange(setup.site, self._store, outbox)
        self._recovery = Recovery(setup.site, setup.sites, self._store, self._exchange, self._passing, outbox)
        self._is_first: bool = setup.incarnation == FIRST_INCARNATION
        self._state = OPERATIONAL

    # Questions

    def room(self) -> int:
        return self._queue_max - len(self._store.queue.waiting) if self._absence.takes_part() else 0

    def quiet(self) -> bool:
        if self._state != OPERATIONAL or not self._absence.has_asked_all():
            return False
        return not self._store.queue.waiting and self._store.is_delivered()

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        if records or not self._is_first:
            self._store.recall(records)
            self._begin_again(now)
            return
        self._store.found()
        self._outbox.install_view(0, self._store.ring.members, True)
        self._start_ring(now)
        if self._site == 0 and self._sites > 1:
            self._circulation.make_token(now)

    def _begin_again(self, now: Micros) -> None:
        """After a restart, or with an empty disk."""
        if self._absence.takes_part():
            self._gather(now, [])
        else:
            self._state = GATHER
            self._absence.start(now)

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        """It is on no ring, whatever it had agreed to: whoever counts on it gathers anew."""
        self._absence.forget(site)
        if self._absence.takes_part() and (self._state != OPERATIONAL or site in self._store.ring.members):
            self._gather(now, [site])
            self._store.maybe_checkpoint()

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._store.take_own(group, payload)
        if self._state == OPERATIONAL:
            self._circulation.on_broadcast(now)
        self._store.maybe_checkpoint()
        return seqno

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Enquiry):
            self._absence.on_enquiry(source, message, self._store.seen)
        elif isinstance(message, Account):
            if self._absence.on_account(source, message):
                self._store.begin_anew()
                self._gather(now, [site for site in range(self._sites) if site != self._site])
        elif self._absence.takes_part():
            self._on_message(now, source, message)
        self._store.maybe_checkpoint()

    def _on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Token):
            if self._state == OPERATIONAL:
                self._circulation.on_token(now, source, message)
        elif isinstance(message, Beacon):
            self._on_beacon(now, source, message)
        elif isinstance(message, Join):
            self._on_join(now, source, message)
        elif isinstance(message, Commit):
            self._on_commit(now, source, message)
        elif isinstance(message, Want):
            self._exchange.on_want(source, message)
        elif isinstance(message, Before):
            self._on_before(source, message)
        elif isinstance(message, Had):
            self._absence.on_had(source, message, self._store.ring, self._store.history)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            self._circulation.release(now)
        elif timer == RETRY:
            self._passing.retry(now)
            self._recovery.ask_again(now)
        elif timer == LOST:
            self._gather(now, [])
        elif timer == JOIN and self._state == GATHER:
            self._membership.send_join(now)
        elif timer == CONSENSUS and self._state == GATHER:
            self._on_consensus_timeout(now)
        elif timer == RENEW:
            self._absence.ask(now)
        elif timer == ASK:
            self._absence.ask_members(now, self._store.ring)
        elif timer == BEACON and self._state == OPERATIONAL:
            self._membership.send_beacon(now)
        self._store.maybe_checkpoint()

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        ring = self._store.ring
        item = data.item
        if not ring.is_named(data.ring, data.root) or source not in ring.members:
            return
        if item.origin >= self._sites or item.group >= len(self._groups) or data.place > ring.reached() + AHEAD_MAX:
            return
        if self._state == COMMIT:
            commit = self._recovery.on_data(data)
            if commit is not None:
                self._advance(now, commit)
        elif self._state == OPERATIONAL and not ring.have.contains(data.place):
            self._circulation.on_data(data.place, item)

    # Operational: a ring is installed

    def _start_ring(self, now: Micros) -> None:
        self._state = OPERATIONAL
        self._circulation.start(now)
        self._membership.start_beacon(now)
        self._absence.begin_ring(now, self._store.ring)

    def _on_before(self, source: SiteId, before: Before) -> None:
        ring = self._store.ring
        if self._state == OPERATIONAL and ring.is_named(before.ring, before.root) and source in ring.members:
            self._outbox.send(source, Had(ring.number, ring.root, self._store.before))

    def _on_beacon(self, now: Micros, source: SiteId, beacon: Beacon) -> None:
        ring = self._store.ring
        stale = source in ring.members and beacon.ring <= ring.number
        if self._state == OPERATIONAL and not stale:
            self._gather(now, [source])

    # Gather: the members of a new ring

    def _gather(self, now: Micros, more: list[SiteId]) -> None:
        self._state = GATHER
        self._circulation.stop()
        self._absence.stop()
        self._recovery.stop()
        self._passing.stop()
        self._membership.gather(now, more)
        self._maybe_commit(now)

    def _on_join(self, now: Micros, source: SiteId, join: Join) -> None:
        if max((*join.known, *join.dead, 0)) >= self._sites:
            return
        ring = self._store.ring
        if self._state == OPERATIONAL and source in ring.members and join.ring < ring.number:
            return  # sent before this ring was installed
        if self._state == OPERATIONAL and source not in ring.members and self._site in join.dead:
            return  # it gathers a ring without us; when that is installed, beacons find each other
        if self._state == COMMIT and not self._recovery.is_given_up(source, join.accepted):
            return  # it is heard again when the ring is installed, or given up
        self._store.hear_of(join.ring)
        if self._state != GATHER:
            self._gather(now, [source])
        self._membership.on_join(now, source, join)
        self._maybe_commit(now)

    def _on_consensus_timeout(self, now: Micros) -> None:
        if self._membership.maybe_give_up_silent(now):
            self._maybe_commit(now)
        else:
            self._gather(now, [])  # agreed, and the representative did nothing

    def _maybe_commit(self, now: Micros) -> bool:
        """The representative of agreed members makes the commit token."""
        if self._state != GATHER or not self._membership.is_ours_to_propose():
            return False
        self._enter_commit(now, self._recovery.first_commit(self._membership.alive()))
        return True

    # Commit: to the new ring

    def _enter_commit(self, now: Micros, commit: Commit) -> None:
        self._state = COMMIT
        self._membership.stop()
        self._advance(now, commit)

    def _on_commit(self, now: Micros, source: SiteId, commit: Commit) -> None:
        if not self._recovery.is_sound(commit):
            return
        ring = self._store.ring
        if commit.phase == 3 and ring.is_named(commit.ring, commit.root):
            self._on_installed(now, commit)
        if commit.ring <= ring.number:
            return
        if self._state == GATHER:
            joined = self._recovery.with_past(commit)
            is_new = commit.ring > self._store.accepted  # else it was given up here
            if joined is not None and is_new and list(commit.members) == self._membership.alive():
                self._store.accept(commit.ring)
                self._enter_commit(now, joined)
        elif self._state == COMMIT:
            following = self._recovery.following(commit)
            if following is not None:
                self._advance(now, following)
            elif commit.ring > self._store.accepted and source in commit.members:
                self._gather(now, [])  # the others have agreed on a later ring; it comes again

    def _advance(self, now: Micros, commit: Commit) -> None:
        if self._recovery.advance(now, commit):
            self._start_ring(now)
            self._recovery.tell_installed(now, commit)

    def _on_installed(self, now: Micros, commit: Commit) -> None:
        """The last round: the representative makes the token when it is over; the others pass it on again if asked."""
        if self._state != OPERATIONAL or self._circulation.has_begun():
            return
        ring = self._store.ring
        if ring.root == self._site:
            self._passing.arrived()
            self._circulation.make_token(now)
        else:
            self._outbox.send(ring.next_after(self._site), commit)
