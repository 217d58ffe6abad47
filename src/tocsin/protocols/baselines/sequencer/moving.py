"""The moving token: who orders next, when a site may take the token, and the token list of a term."""

from abc import abstractmethod

from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.baselines.sequencer.election import Electing
from tocsin.protocols.baselines.sequencer.keeper import ELECT, NOBODY, PASS
from tocsin.protocols.baselines.sequencer.messages import Have, Status


class Moving(Electing):
    """The token goes round the sites of the list; a site suspected by the first holder of a term is not on it."""

    @abstractmethod
    def _count_try(self, now: Micros) -> None:
        """A question had no answer."""

    def _next_site(self) -> SiteId:
        """The next on the token list; this site itself, if nobody else is on it."""
        site = (self._site + 1) % self._sites
        while site in self._absent and site != self._site:
            site = (site + 1) % self._sites
        return site

    def _tell_taken(self) -> None:
        """Tell the site before this one on the list that the token has arrived."""
        site = (self._site - 1) % self._sites
        while site in self._absent and site != self._site:
            site = (site - 1) % self._sites
        if site != self._site:
            self._outbox.send(site, Have(self._term, self._matched, self._hop))

    def _status(self, ask: bool = False) -> Status:
        have = tuple(self._have) if self._rotate else ()
        orderer = self._orderer if self._orderer != NOBODY else self._site
        return Status(self._term, self._matched, self._committed, orderer, self._hop, have, tuple(self._absent), ask)

    def _note_token(
        self, source: SiteId, token: SiteId, hop: int, have: tuple[int, ...], absent: tuple[int, ...]
    ) -> bool:
        """Who orders now; an old token changes nothing. Without rotation the orderer is the sender."""
        if token >= self._sites or max((*absent, 0)) >= self._sites or len(absent) > self._sites - self._majority:
            return False  # nobody says so: a majority is on every list
        if (self._rotate and len(have) != self._sites) or self._token:
            return self._token and token == self._site
        if not self._rotate or hop > self._hop or token == source:  # a repeated old word is no sign of life
            self._contact = True
            self._tries = 0
        self._in_step = True
        self._candidate = False  # another has won this term
        self._failures = 0
        self._unset(ELECT)
        if self._rotate:
            self._absent = list(absent)
            for site in range(self._sites):
                self._have[site] = max(self._have[site], have[site])
            if hop >= self._hop:
                self._hop = hop
                self._orderer = token
                if token != self._next_site():
                    self._unset(PASS)
        else:
            self._orderer = source
        return True

    def _maybe_take_token(self, now: Micros) -> bool:
        """Accept the token when everything ordered before it is here; use it, pass it on, or let it rest."""
        if not self._rotate or self._token or self._orderer != self._site or self._early:
            return False
        if self._matched < max(self._have) or self._candidate or self._barred:
            return False
        self._token = True
        self._have[self._site] = self._matched
        self._maybe_commit(now)
        self._order_waiting(now)
        if self._token and self._everywhere() < self._order.end():
            self._pass_token()
        elif self._token and self._hop > 0:
            self._tell_taken()
        return True

    def _pass_token(self) -> None:
        """Nothing to order, and not everything is known to be everywhere: the token goes round by itself."""
        self._token = False
        self._hop += 1
        self._orderer = self._next_site()
        self._outbox.multicast(list(self._others), self._status())

    def _on_pass_timer(self, now: Micros) -> None:
        if self._orderer == self._next_site() and not self._token:
            self._outbox.send(self._orderer, self._status())
            self._count_try(now)
