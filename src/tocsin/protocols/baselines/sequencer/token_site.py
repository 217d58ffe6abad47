"""Who may order: where the token is, who is on the token list of the term, and what each site is known to have.

In the central form the token stays with the orderer of the term.
"""

from typing import Final

from tocsin.core.machine import Outbox, SiteId
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Have, Lacks, Status
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.timers import Timers

ASKS_MAX: Final = 8  # whether everybody has what is here is asked so often: 0.3^8 of all answers are lost

PASS: Final = "PASS"  # nobody has said that it took the token


class TokenSite:
    """The token, as far as this site knows; all of it is of this term and forgotten with it."""

    def __init__(
        self, site: SiteId, peers: list[SiteId], rotate: bool, terms: Terms, log: Log, timers: Timers, outbox: Outbox
    ) -> None:
        self._site = site
        self._sites = len(peers) + 1
        self._peers = peers
        self._terms = terms
        self._log = log
        self._timers = timers
        self._outbox = outbox
        self.rotate = rotate  # the token moves on with every item
        self.orderer: SiteId = 0  # who may order now, as far as known; NOBODY: unknown
        self.here = site == 0  # the right to order is here; `forget_term` at a start that is not the first
        self.barred = False  # after a restart: it may have passed the token on already, so the term goes on without it
        self.hop = 0  # of the newest token seen
        self.taken = 0  # the newest hop of ours that the next site is known to have taken
        self.have: list[int] = [0] * self._sites  # by site: what it surely has of this term's order
        self.absent: list[SiteId] = []  # a minority that is not on the token list: the term's leader suspects them
        self._checked_end = 0  # the end of the order when the orderer last asked who is behind
        self._asked_end = 0  # the end of the order when this site last asked whether it is everywhere …
        self._asks = 0  # … and how often it did
        self._told_end = 0  # the end of the order when everybody was last told that it is everywhere

    # Questions

    def everywhere(self) -> int:
        """Below this position every site on the token list, which is never empty, is known to have the order."""
        least = -1
        for site in range(self._sites):
            if (least < 0 or self.have[site] < least) and site not in self.absent:
                least = self.have[site]
        return least

    def next_site(self) -> SiteId:
        """The next on the token list; this site itself, if nobody else is on it."""
        return self._neighbour(1)

    def _neighbour(self, step: int) -> SiteId:
        site = (self._site + step) % self._sites
        while site in self.absent and site != self._site:
            site = (site + step) % self._sites
        return site

    def is_passed_on(self) -> bool:
        """Whether this site gave the token to the next one, as far as known."""
        return not self.here and self.orderer == self.next_site()

    def has_to_check(self) -> bool:
        """Whether the token is here and somebody who has to be asked is not known to have everything."""
        if self.here:
            for site in self._to_check():
                if self.have[site] < self._log.matched:
                    return True
        return self._lacks_stable()

    def _lacks_stable(self) -> bool:
        """Whether another orders, and has not said yet that everybody has what is here: its word may be lost."""
        if self._asked_end != self._log.end():
            self._asked_end = self._log.end()
            self._asks = 0
        return not self.here and self.orderer != NOBODY and self._asks < ASKS_MAX and self._log.stable < self._asked_end

    def status(self, ask: bool = False) -> Status:
        """The orderer's word, or where the token is."""
        have = tuple(self.have) if self.rotate else ()
        orderer = self.orderer if self.orderer != NOBODY else self._site
        log = self._log
        absent = tuple(self.absent)
        return Status(self._terms.term, log.matched, log.committed, log.stable, orderer, self.hop, have, absent, ask)

    # Terms

    def forget_term(self) -> None:
        self.orderer = NOBODY
        self.here = False
        self.absent = []
        self.hop = 0
        self.taken = 0
        self.have = [0] * self._sites
        self.barred = False
        self._checked_end = 0
        self._told_end = 0
        self._timers.unset(PASS)

    def bar(self) -> None:
        """This site has restarted: it takes no token in this term."""
        self.barred = self.rotate

    def lead(self, absent: list[SiteId]) -> None:
        """This site is the first to order in the term; where the token moves, without these."""
        self.orderer = self._site
        self.here = True
        if self.rotate:
            self.absent = absent

    # What others say

    def is_sound(self, token: SiteId, absent: tuple[int, ...]) -> bool:
        """Whether a correct site may have said so: a majority is on every token list."""
        for site in absent:
            if site >= self._sites:
                return False
        return token < self._sites and len(absent) <= self._sites - self._terms.majority

    def is_complete(self, have: tuple[int, ...]) -> bool:
        return not self.rotate or len(have) == self._sites

    def is_news(self, source: SiteId, token: SiteId, hop: int) -> bool:
        """A repeated old word is no sign of life of the orderer."""
        return not self.rotate or hop > self.hop or token == source

    def note(self, source: SiteId, token: SiteId, hop: int, have: tuple[int, ...], absent: tuple[int, ...]) -> None:
        """Who orders now; an old token changes nothing. Without rotation the orderer is the sender."""
        if not self.rotate:
            self.orderer = source
            return
        self.absent = list(absent)
        for site in range(self._sites):
            self.have[site] = max(self.have[site], have[site])
        if hop >= self.hop:
            self.hop = hop
            self.orderer = token
            if token != self.next_site():
                self._timers.unset(PASS)

    def note_have(self, site: SiteId, position: int) -> bool:
        """A site has the order below a position; whether that is news."""
        position = min(position, self._log.matched)
        if position <= self.have[site]:
            return False
        self.have[site] = position
        return True

    def renew(self, site: SiteId) -> None:
        """A site has begun anew, and has nothing."""
        self.have[site] = 0

    def note_taken(self, source: SiteId, hop: int) -> None:
        """A site has taken the token of that hop."""
        if hop >= self.hop and source == self.next_site():
            self.taken = hop
            self._timers.unset(PASS)

    # The token comes and goes

    def note_own(self) -> None:
        """What this site itself has."""
        self.have[self._site] = self._log.matched

    def take(self) -> None:
        self.here = True
        self.note_own()

    def tell_taken(self) -> None:
        """Tell the site before this one on the list that the token has arrived."""
        site = self._neighbour(-1)
        if site != self._site:
            self._outbox.send(site, Have(self._terms.term, self._log.matched, self.hop))

    def give(self) -> None:
        """The next site orders from here on; the caller tells everybody."""
        self.here = False
        self.hop += 1
        self.orderer = self.next_site()

    def pass_on(self) -> None:
        """Nothing to order, and not everything is known to be everywhere: the token goes round by itself."""
        self.give()
        self._outbox.multicast(list(self._peers), self.status())

    def maybe_tell_stable(self) -> bool:
        """Nothing is left to order, and everybody has everything: say so once, so that all forget it."""
        end = self._log.end()
        if not self.here or not self._peers or self._told_end == end or min(self.have) < end:
            return False
        self._told_end = end
        self._outbox.multicast(list(self._peers), self.status())
        return True

    # Who is behind

    def _to_check(self) -> list[SiteId]:
        """Who has to be asked what it has: everybody, or, where the token moves, those it does not come to."""
        return self.absent if self.rotate else self._peers

    def ask_behind(self) -> None:
        """The orderer asks those who have not said that they have what was there at the last look."""
        behind = [site for site in self._to_check() if self.have[site] < self._checked_end]
        self._checked_end = self._log.end()
        if self._lacks_stable() and self.orderer != self._site:
            self._asks += 1
            self._outbox.send(self.orderer, Lacks(self._terms.term, self._log.matched))
        if behind and self.here:
            self._outbox.multicast(behind, self.status(True))
