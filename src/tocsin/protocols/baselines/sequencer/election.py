"""The election of a new orderer: the reformation phase of Chang and Maxemchuk, as a leader election like Raft's.

Whoever a majority follows leads a term, and nobody follows a site whose order is behind its own.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.rng import Rng
from tocsin.protocols.baselines.sequencer.contact import BACKOFF_MAX
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Seek, Vote
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.timers import Timers
from tocsin.protocols.baselines.sequencer.token_site import TokenSite

ELECT: Final = "ELECT"  # a candidate's patience


class Election:
    """The part of one site in elections: as a candidate, and as one that votes."""

    def __init__(
        self,
        site: SiteId,
        peers: list[SiteId],
        election_us: int,
        rng: Rng,
        terms: Terms,
        log: Log,
        token: TokenSite,
        timers: Timers,
        outbox: Outbox,
    ) -> None:
        self._site = site
        self._peers = peers
        self._election_us = election_us
        self._rng = rng
        self._terms = terms
        self._log = log
        self._token = token
        self._timers = timers
        self._outbox = outbox
        self.candidate = False  # this site has asked for votes in this term, and nobody has won
        self._votes: list[SiteId] = []  # sorted; who follows the candidate
        self._suspects: list[SiteId] = []  # sorted; they did not answer, and were not heard since
        self._failures = 0  # elections without a winner
        self.floor: tuple[int, int] = (0, 0)  # (last term, end): nobody with less is followed; for who has begun anew

    # Whom to leave out

    def suspect(self, site: SiteId) -> None:
        """It does not answer."""
        if site != self._site and site not in self._suspects:
            self._suspects.append(site)
            self._suspects.sort()

    def trust(self, site: SiteId) -> None:
        """It was heard."""
        if site in self._suspects:
            self._suspects.remove(site)

    def absentees(self) -> list[SiteId]:
        """Who did not vote and is suspected: not on the winner's token list."""
        return [site for site in self._suspects if site not in self._votes]

    def reach(self) -> tuple[int, int]:
        """How far the order here goes: what two sites compare."""
        return (self._log.order.last_term(), self._log.end())

    def raise_floor(self, last_term: int, end: int) -> None:
        """This site has begun anew: others have an order that goes so far."""
        self.floor = max(self.floor, (last_term, end))

    # A candidate

    def seek(self, now: Micros) -> None:
        """In a term that this site has just entered, voting for itself: ask everybody else to follow."""
        self.candidate = True
        self._votes = [self._site]
        if self._peers:
            seek = Seek(self._terms.term, self._log.order.last_term(), self._log.end())
            self._outbox.multicast(list(self._peers), seek)
        self.wait(now, 1)
        self._failures += 1

    def wait(self, now: Micros, share: int) -> None:
        """Be a candidate, perhaps again, after a random time; a share of the usual one."""
        patience_us = self._election_us << min(self._failures, BACKOFF_MAX)
        self._timers.set(ELECT, now + (patience_us + self._rng.below(patience_us)) // share)

    def on_vote(self, source: SiteId, vote: Vote) -> None:
        if vote.term == self._terms.term and self.candidate and source not in self._votes:
            self._votes.append(source)
            self._votes.sort()

    def is_won(self) -> bool:
        """A majority follows this site."""
        return self.candidate and len(self._votes) >= self._terms.majority

    def end(self) -> None:
        """Somebody has won this term, perhaps this site."""
        self.candidate = False
        self._failures = 0
        self._timers.unset(ELECT)

    def forget_term(self) -> None:
        self.candidate = False
        self._votes = []
        self._timers.unset(ELECT)

    # One that votes

    def on_seek(self, now: Micros, source: SiteId, seek: Seek) -> None:
        """A candidate of this term asks for a vote."""
        terms = self._terms
        ahead = (seek.last_term, seek.end) >= max(self.floor, self.reach())
        if terms.voted in (NOBODY, source) and ahead and not self.candidate and not self._token.here:
            if terms.voted == NOBODY:
                terms.vote(source)
            self._outbox.send(source, Vote(terms.term))
        elif not ahead and self._token.orderer == NOBODY:
            self.wait(now, 2)  # it may not win, and we know more: try before it does again
