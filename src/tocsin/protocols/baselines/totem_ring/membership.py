"""Gathering the members of a new ring: Join messages until all agree; beacons to find other rings (section 5)."""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.baselines.totem_ring.gathering import Gathering
from tocsin.protocols.baselines.totem_ring.messages import Beacon, Join
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.store import Store

JOIN: Final = "JOIN"
CONSENSUS: Final = "CONSENSUS"
BEACON: Final = "BEACON"


class Membership:
    """Who is to be on the next ring, as far as it is agreed."""

    def __init__(self, site: SiteId, sites: int, options: TotemRingOptions, store: Store, outbox: Outbox) -> None:
        self._site = site
        self._sites = sites
        self._others: list[SiteId] = [other for other in range(sites) if other != site]
        self._join_us: int = options.join_us
        self._consensus_us: int = options.consensus_us
        self._beacon_us: int = options.beacon_us
        self._store = store
        self._outbox = outbox
        self._gathering = Gathering(site, [])  # the last one, which may be over

    # While a ring works

    def start_beacon(self, now: Micros) -> None:
        """The representative of a ring that is not everybody's looks for others."""
        ring = self._store.ring
        if len(ring.members) < self._sites and ring.root == self._site:
            self._outbox.set_timer(BEACON, 0, now + self._beacon_us)

    def send_beacon(self, now: Micros) -> None:
        ring = self._store.ring
        targets = [site for site in self._others if site not in ring.members]
        if targets:
            self._outbox.multicast(targets, Beacon(ring.number))
            self._outbox.set_timer(BEACON, 0, now + self._beacon_us)

    # While there is none

    def gather(self, now: Micros, more: list[SiteId]) -> None:
        """Begin anew, with the members of the last ring and some more."""
        self._outbox.cancel_timer(BEACON, 0)
        self._gathering = Gathering(self._site, self._store.ring.members + more)
        self._await_consensus(now)

    def on_join(self, now: Micros, source: SiteId, join: Join) -> None:
        if self._gathering.hear(source, list(join.known), list(join.dead)):
            self._await_consensus(now)

    def maybe_give_up_silent(self, now: Micros) -> bool:
        """Take those for dead who have not agreed in time; False if there were none."""
        if not self._gathering.give_up_silent():
            return False
        self._await_consensus(now)
        return True

    def _await_consensus(self, now: Micros) -> None:
        """The sets are new: tell everybody, and give them time to agree."""
        self._outbox.set_timer(CONSENSUS, 0, now + self._consensus_us)
        self.send_join(now)

    def send_join(self, now: Micros) -> None:
        gathering = self._gathering
        if self._others:
            join = Join(
                tuple(sorted(gathering.known)), tuple(sorted(gathering.dead)), self._store.seen, self._store.accepted
            )
            self._outbox.multicast(list(self._others), join)
        self._outbox.set_timer(JOIN, 0, now + self._join_us)

    def alive(self) -> list[SiteId]:
        """Who will be on the ring, if all agree."""
        return self._gathering.alive()

    def is_ours_to_propose(self) -> bool:
        """All agree, and this site is the representative."""
        return self._gathering.alive()[0] == self._site and self._gathering.is_agreed()

    def stop(self) -> None:
        """A ring is being committed to."""
        self._outbox.cancel_timer(JOIN, 0)
        self._outbox.cancel_timer(CONSENSUS, 0)
