"""A site whose disk is lost: what it asks before it takes part again, and what it has missed.

Before it gathers it asks for the largest ring number that anybody knows, until one who has not begun anew, or
everybody, has answered: its own rings have numbers far beyond, so that no name of a ring is used twice.

A message is owed to the members of the view in which it was delivered. A site that has begun anew was in views that it
knows nothing of; who delivered something in them knows. So every member keeps which numbers of each origin it has
delivered, and what they were when its ring began. Who has begun anew asks each member of its ring once, and tells its
application what that member had delivered before: nothing of it comes here again, for a message that was delivered has
had its place. Those who are not there are asked when they come.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry
from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import Records
from tocsin.core.renewal import Renewal
from tocsin.protocols.baselines.totem_ring.messages import Before, Had, Met
from tocsin.protocols.baselines.totem_ring.ring import RINGS_MAX, Ring

ASK: Final = "ASK"  # a member has not said what it had delivered

ANSWERS_NEEDED: Final = 1
THE_GROUP: Final = 0  # there is one


class Absence:
    """What was before this site's disk; every other site answers with the same part."""

    def __init__(self, setup: Setup, ask_us: int, records: Records, outbox: Outbox) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._ask_us = ask_us
        self._records = records
        self._outbox = outbox
        self._is_renewed: bool = setup.incarnation > FIRST_INCARNATION
        self._renewal = Renewal(setup, ask_us, min(ANSWERS_NEEDED, setup.sites - 1), records, outbox)
        self._met: set[SiteId] = set()  # who has said what it had delivered
        self._asked: list[SiteId] = []  # sorted; who has not, on the present ring

    # Before it takes part

    def takes_part(self) -> bool:
        return self._renewal.is_over

    def start(self, now: Micros) -> None:
        self._renewal.start(now)

    def ask(self, now: Micros) -> None:
        self._renewal.ask(now)

    def on_enquiry(self, source: SiteId, enquiry: Enquiry, seen: int) -> None:
        self._renewal.answer(source, enquiry, (seen,))

    def on_account(self, source: SiteId, account: Account) -> bool:
        """Whether this site takes part from here on."""
        return self._renewal.on_account(source, account, 1)

    def ring_beyond(self, seen: int) -> int:
        """When it takes part: a ring number beyond all that an earlier incarnation may have used."""
        return max([seen, *[min(marks[0], RINGS_MAX) for _, marks in self._renewal.answers()]]) + RENEWAL_GAP

    def forget(self, site: SiteId) -> None:
        """It has begun anew itself."""
        self._renewal.forget(site)

    # On a ring

    def begin_ring(self, now: Micros, ring: Ring) -> None:
        """Ask the members that this site meets for the first time."""
        self.stop()
        if self._is_renewed:
            self._asked = [site for site in ring.members if site != self._site and site not in self._met]
            self.ask_members(now, ring)

    def ask_members(self, now: Micros, ring: Ring) -> None:
        if self._asked:
            self._outbox.multicast(list(self._asked), Before(ring.number, ring.root))
            self._outbox.set_timer(ASK, 0, now + self._ask_us)

    def stop(self) -> None:
        """The ring is no more."""
        self._asked = []
        self._outbox.cancel_timer(ASK, 0)

    def has_asked_all(self) -> bool:
        """Whether every member of the ring has said what it had delivered."""
        return not self._asked

    def on_had(self, source: SiteId, had: Had, ring: Ring, history: ReceivedNumbers) -> None:
        """What a member had delivered before this ring, and this site has not, is missed here."""
        if source not in self._asked or not ring.is_named(had.ring, had.root):
            return
        self._asked.remove(source)
        if not self._asked:
            self._outbox.cancel_timer(ASK, 0)
        self._met.add(source)
        self._records.persist(Met(source, had.marks))
        theirs = ReceivedNumbers()
        theirs.adopt(had.marks)
        for origin in range(self._sites):
            for start, end in history.lacking(theirs, origin):
                self._outbox.missed(THE_GROUP, origin, start, end - start)
        history.adopt(had.marks)

    # Records

    def recall(self) -> None:
        """A record says that this site takes part."""
        self._renewal.recall()

    def recall_met(self, met: Met, history: ReceivedNumbers) -> None:
        self._met.add(met.site)
        history.adopt(met.marks)

    def records(self) -> list[Record]:
        """What a checkpoint keeps beside the history."""
        return [*self._renewal.records(), *[Met(site, ()) for site in sorted(self._met)]]
