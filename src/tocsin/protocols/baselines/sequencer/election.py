"""A new sequencer: terms, votes and the election; the reformation phase of Chang and Maxemchuk in Raft's clothes."""

from abc import abstractmethod

from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.baselines.sequencer.keeper import BACKOFF_MAX, ELECT, NOBODY, PASS, OrderKeeper
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item, Newer, Seek, Termed, Vote


class Electing(OrderKeeper):
    """Who may order in a term: whoever a majority follows, and nobody whose order is behind a follower's."""

    @abstractmethod
    def _place(self, now: Micros, item: Item) -> None:
        """Give an item the next place."""

    @abstractmethod
    def _order_waiting(self, now: Micros) -> None:
        """Give places to what waits."""

    def _suspect(self, site: SiteId) -> None:
        """It does not answer."""
        if site != self._site and site not in self._suspects:
            self._suspects.append(site)
            self._suspects.sort()

    def _trust(self, site: SiteId) -> None:
        """It was heard."""
        if site in self._suspects:
            self._suspects.remove(site)

    def _enter_term(self, term: int, voted: SiteId) -> None:
        self._term = term
        self._voted = voted
        self._records.persist(Termed(term, voted))
        self._forget_term()

    def _forget_term(self) -> None:
        """What was known of the last term's order is not known of this one's, but what was committed."""
        self._matched = self._committed
        self._orderer = NOBODY
        self._token = False
        self._candidate = False
        self._votes = []
        self._absent = []
        self._hop = 0
        self._taken = 0
        self._have = [0] * self._sites
        self._early.clear()
        self._submissions.waiting.clear()
        self._tries = 0
        self._in_step = False
        self._contact = False
        self._asked = -1
        self._known_end = 0
        self._checked_end = 0
        self._barred = False
        self._unset(ELECT)
        self._unset(PASS)

    def _seek(self, now: Micros) -> None:
        """Ask everybody for the right to order in a new term."""
        self._enter_term(self._term + 1, self._site)
        self._candidate = True
        self._votes = [self._site]
        if self._others:
            self._outbox.multicast(list(self._others), Seek(self._term, self._order.last_term(), self._order.end()))
        self._set_election(now, 1)
        self._failures += 1
        self._maybe_lead(now)

    def _set_election(self, now: Micros, share: int) -> None:
        patience_us = self._election_us << min(self._failures, BACKOFF_MAX)
        self._set(ELECT, now + (patience_us + self._rng.below(patience_us)) // share)

    def _on_seek(self, now: Micros, source: SiteId, seek: Seek) -> None:
        if seek.term < self._term:
            self._outbox.send(source, Newer(self._term))
            return
        if seek.term > self._term:
            self._enter_term(seek.term, NOBODY)
        ahead = (seek.last_term, seek.end) >= (self._order.last_term(), self._order.end())
        if self._voted in (NOBODY, source) and ahead and not self._candidate and not self._token:
            if self._voted == NOBODY:
                self._voted = source
                self._records.persist(Termed(self._term, source))
            self._outbox.send(source, Vote(self._term))
        elif not ahead and self._orderer == NOBODY:
            self._set_election(now, 2)  # it may not win, and we know more: try before it does again

    def _on_vote(self, now: Micros, source: SiteId, vote: Vote) -> None:
        if vote.term == self._term and self._candidate and source not in self._votes:
            self._votes.append(source)
            self._votes.sort()
            self._maybe_lead(now)

    def _maybe_lead(self, now: Micros) -> bool:
        """A majority follows: order from here on, beginning with an item of the new term."""
        if not self._candidate or len(self._votes) < self._majority:
            return False
        self._candidate = False
        self._unset(ELECT)
        self._matched = self._order.end()
        self._orderer = self._site
        self._token = True
        self._in_step = True
        self._tries = 0
        self._failures = 0
        if self._rotate:
            self._absent = [site for site in self._suspects if site not in self._votes]
        for item in self._pending.values():
            self._submissions.add(self._order, item)
        self._place(now, Item(self._term, NO_GROUP, self._site, self._term, b""))
        self._order_waiting(now)
        return True
