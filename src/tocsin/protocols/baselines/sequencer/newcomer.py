"""A site that begins anew: what it may have promised or helped to commit is not lost with its disk.

It asks until a majority of the others has answered (of two sites, the other one). Among them is one of every majority
that it was part of in its earlier incarnation. So a term that it may have voted in is at most the largest term that it
hears of, and what it may have helped to commit is in the longest order that it hears of: it votes in later terms only,
and for nobody whose order is shorter. What it lacks it gets like everybody else (`Fill`, `Skip`).
"""

from tocsin.core.data import Account, Enquiry
from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.core.renewal import Renewal
from tocsin.protocols.baselines.sequencer.election import Election
from tocsin.protocols.baselines.sequencer.messages import Learned
from tocsin.protocols.baselines.sequencer.terms import Terms


class Newcomer:
    """Asks before it takes part; and answers others who ask."""

    def __init__(
        self, setup: Setup, resend_us: int, terms: Terms, election: Election, records: Records, outbox: Outbox
    ) -> None:
        self._site = setup.site
        self._terms = terms
        self._election = election
        self._records = records
        self.renewal = Renewal(setup, resend_us, min(terms.majority, setup.sites - 1), records, outbox)

    def takes_part(self) -> bool:
        return self.renewal.is_over

    def start(self, now: Micros) -> None:
        self.renewal.start(now)

    def ask(self, now: Micros) -> None:
        self.renewal.ask(now)

    def on_enquiry(self, source: SiteId, enquiry: Enquiry) -> None:
        last_term, end = max(self._election.floor, self._election.reach())
        self.renewal.answer(source, enquiry, (self._terms.term, last_term, end))

    def on_account(self, source: SiteId, account: Account) -> bool:
        """Whether this site takes part from here on."""
        if not self.renewal.on_account(source, account, 3):
            return False
        newest = 0
        for _, (term, last_term, end) in self.renewal.answers():
            newest = max(newest, term)
            self._election.raise_floor(last_term, end)
        self._terms.enter(newest, self._site)  # as one who has voted
        self._records.persist(Learned(self._election.floor[0], self._election.floor[1]))
        return True

    def recall(self, learned: Learned) -> None:
        self._election.raise_floor(learned.last_term, learned.end)

    def records(self) -> list[Record]:
        """What a checkpoint keeps."""
        renewed = self.renewal.records()
        if renewed:
            renewed.append(Learned(self._election.floor[0], self._election.floor[1]))
        return renewed
