"""The exchange of the old ring's messages before a new ring is installed (section 5, the recovery state)."""

from tocsin.core.machine import Outbox, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.totem_ring.messages import Commit, Data, Past, Want
from tocsin.protocols.baselines.totem_ring.places import RESEND_MAX, ranges_of
from tocsin.protocols.baselines.totem_ring.store import Store


class Exchange:
    """Among companions, who come from the same ring, everybody gets what one of them has."""

    def __init__(self, site: SiteId, store: Store, outbox: Outbox) -> None:
        self._site = site
        self._store = store
        self._outbox = outbox

    def past(self) -> Past:
        """What this site brings."""
        ring = self._store.ring
        return Past(ring.number, ring.root, max(ring.safe, ring.delivered), ring.have.to_wire())

    def companions(self, commit: Commit) -> list[SiteId]:
        """The transitional configuration: members that come from the same ring."""
        ring = self._store.ring
        return [
            commit.members[place]
            for place in range(len(commit.members))
            if ring.is_named(commit.pasts[place].ring, commit.pasts[place].root)
        ]

    def settled(self, commit: Commit) -> int:
        """Below this place of the old ring everything is safe, or was delivered by a companion."""
        return max([_past_of(commit, site).settled for site in self.companions(commit)])

    def lacking(self, commit: Commit) -> RangeSet:
        """Places that a companion has and this site has not."""
        union = RangeSet()
        for site in self.companions(commit):
            union.update(ranges_of(_past_of(commit, site).have))
        return union.difference(self._store.ring.have)

    def send_missing(self, commit: Commit) -> None:
        """Send the companions what they lack and this site is the first to have."""
        ring = self._store.ring
        companions = self.companions(commit)
        first_had = RangeSet()  # had by a companion before this site
        for site in companions:
            if site == self._site:
                break
            first_had.update(ranges_of(_past_of(commit, site).have))
        mine = ring.have.difference(first_had)
        for start, stop in mine.ranges():
            for place in range(max(start, ring.kept_from), stop):
                lacking = [
                    site
                    for site in companions
                    if site != self._site and not ranges_of(_past_of(commit, site).have).contains(place)
                ]
                if lacking:
                    self._outbox.multicast(lacking, Data(ring.number, ring.root, place, ring.items[place]))

    def send_wants(self, commit: Commit) -> None:
        """Ask for each place that is lacking, one companion that has it."""
        ring = self._store.ring
        lacking = self.lacking(commit)
        for site in self.companions(commit):
            there = lacking.intersection(ranges_of(_past_of(commit, site).have))
            if there and site != self._site:
                self._outbox.send(site, Want(ring.number, ring.root, there.to_wire()))
                lacking = lacking.difference(there)

    def on_want(self, source: SiteId, want: Want) -> None:
        ring = self._store.ring
        if not ring.is_named(want.ring, want.root):
            return
        sent = 0
        for start, stop in ranges_of(want.places).intersection(ring.have).ranges():
            for place in range(start, stop):
                item = ring.items.get(place)
                if item is not None and sent < RESEND_MAX:
                    sent += 1
                    self._outbox.send(source, Data(ring.number, ring.root, place, item))


def _past_of(commit: Commit, site: SiteId) -> Past:
    return commit.pasts[commit.members.index(site)]
