"""What is committed: a majority has it, and nothing can take its place any more."""

from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.delivery import Delivery
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.order import held_by
from tocsin.protocols.baselines.sequencer.source import Source
from tocsin.protocols.baselines.sequencer.terms import Terms
from tocsin.protocols.baselines.sequencer.token_site import TokenSite


class Commits:
    """Moves the commit position of the log, and tells everybody here whom it concerns."""

    def __init__(
        self,
        terms: Terms,
        log: Log,
        token: TokenSite,
        source: Source,
        delivery: Delivery,
        application: Application,
    ) -> None:
        self._terms = terms
        self._log = log
        self._token = token
        self._source = source
        self._delivery = delivery
        self._application = application

    def maybe_commit(self) -> bool:
        """Commit what a majority has, if its last item is of this term (an older one could still be overruled)."""
        settled = min(held_by(self._token.have, self._terms.majority), self._log.matched)
        if settled <= self._log.committed or self._log.order.term_at(settled - 1) != self._terms.term:
            return False
        self.commit(settled)
        return True

    def commit(self, position: int) -> None:
        """Somebody says that a majority has the order below a position; of that, what is here."""
        log = self._log
        position = min(position, log.matched)
        if position <= log.committed:
            return
        for place in range(log.committed - log.order.base, position - log.order.base):
            item = log.order.items[place]
            self._delivery.commit(item)
            self._source.settle(item)
            self._application.settle(item)
        log.commit(position)
