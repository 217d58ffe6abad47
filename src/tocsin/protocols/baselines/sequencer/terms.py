"""Terms: in each of them at most one site begins to order, the one that a majority follows."""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.messages import Termed

NOBODY: Final = -1


class Terms:
    """The term that this site is in, and whom it follows there; both are durable."""

    def __init__(self, sites: int, records: Records) -> None:
        self._records = records
        self.majority: int = sites // 2 + 1  # so many sites decide: who leads a term, and what is committed
        self.term = 0  # never decreases
        self.voted: SiteId = 0  # in this term, and for ever; term 0 is led by site 0 without an election

    def enter(self, term: int, voted: SiteId) -> None:
        """A new term begins here."""
        self.resume(term, voted)
        self._records.persist(Termed(term, voted))

    def vote(self, site: SiteId) -> None:
        """Follow a site in this term; nobody was followed before."""
        self.voted = site
        self._records.persist(Termed(self.term, site))

    def resume(self, term: int, voted: SiteId) -> None:
        """After a restart, from a record."""
        self.term = term
        self.voted = voted
