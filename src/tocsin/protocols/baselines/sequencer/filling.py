"""Answering who lacks something of the order, and taking such answers."""

from tocsin.core.machine import Outbox, SiteId
from tocsin.protocols.baselines.sequencer.commits import Commits
from tocsin.protocols.baselines.sequencer.contact import Contact
from tocsin.protocols.baselines.sequencer.keeping import Keeping
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Fill, Skip
from tocsin.protocols.baselines.sequencer.repair import Repair
from tocsin.protocols.baselines.sequencer.terms import NOBODY
from tocsin.protocols.baselines.sequencer.token_site import TokenSite


class Filling:
    """Pieces of the order on their way from site to site."""

    def __init__(
        self,
        site: SiteId,
        log: Log,
        token: TokenSite,
        repair: Repair,
        commits: Commits,
        contact: Contact,
        keeping: Keeping,
        outbox: Outbox,
    ) -> None:
        self._site = site
        self._log = log
        self._token = token
        self._repair = repair
        self._commits = commits
        self._contact = contact
        self._keeping = keeping
        self._outbox = outbox

    def on_lacks(self, source: SiteId, position: int) -> None:
        token = self._token
        if self._repair.maybe_answer(source, position):
            return
        if token.here or (token.rotate and token.orderer not in (NOBODY, self._site)):
            if not token.rotate:
                token.note_have(source, position)
                self._commits.maybe_commit()
            self._outbox.send(source, token.status())

    def on_fill(self, source: SiteId, fill: Fill) -> None:
        if self._token.here or not self._repair.take_fill(fill):
            return
        self._commits.commit(fill.committed)
        if source == self._token.orderer:
            self._contact.answered()
        if self._log.matched < fill.end:
            self._repair.ask(source)

    def on_skip(self, source: SiteId, skip: Skip) -> None:
        if self._token.here or not self._repair.is_whole(skip):
            return
        self._keeping.skip(skip)
        self._repair.note_end(skip.end)
        self._repair.take_early()
        if source == self._token.orderer:
            self._contact.answered()
        if self._log.matched < skip.end:
            self._repair.ask(source)
