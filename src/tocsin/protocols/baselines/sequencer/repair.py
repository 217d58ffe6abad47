"""What is missing here of this term's order: items beyond a gap wait, and what is between is asked for."""

from typing import Final

from tocsin.core.machine import Outbox, SiteId
from tocsin.core.renewal import END_MAX
from tocsin.protocols.baselines.sequencer.delivery import Delivery
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Fill, Item, Lacks, Skip
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.token_site import TokenSite

EARLY_MAX: Final = 4096  # ordered items held beyond a gap
FILL_ITEMS_MAX: Final = 64
FILL_BYTES_MAX: Final = 32 * 1024


class Repair:
    """Takes items into the log, each at its place, and sees to those that do not come by themselves."""

    def __init__(
        self,
        site: SiteId,
        peers: list[SiteId],
        groups: int,
        terms: Terms,
        log: Log,
        token: TokenSite,
        delivery: Delivery,
        outbox: Outbox,
    ) -> None:
        self._site = site
        self._peers = peers
        self._sites = len(peers) + 1
        self._groups = groups
        self._terms = terms
        self._log = log
        self._token = token
        self._delivery = delivery
        self._outbox = outbox
        self.early: dict[int, Item] = {}  # ordered items beyond a gap, by position; at most EARLY_MAX beyond
        self.known_end = 0  # the order of this term goes at least so far
        self._asked = -1  # the position last asked for

    def forget_term(self) -> None:
        self.early.clear()
        self.known_end = 0
        self._asked = -1

    # What comes

    def is_valid(self, item: Item) -> bool:
        """Whether a correct orderer may have given such an item a place."""
        if item.group == NO_GROUP:
            return item.term <= self._terms.term
        return item.group < self._groups and item.origin < self._sites and item.term <= self._terms.term

    def hold(self, position: int, item: Item) -> None:
        """An item of this term's order, which may stand beyond a gap."""
        if self._log.matched <= position < self._log.matched + EARLY_MAX:
            self.early[position] = item

    def note_end(self, end: int) -> None:
        """Somebody says how far the order goes."""
        self.known_end = max(self.known_end, min(end, self._log.matched + EARLY_MAX))

    def take_early(self) -> None:
        """Accept the items that follow what is here."""
        log = self._log
        for position in [position for position in self.early if position < log.matched]:
            del self.early[position]
        item = self.early.pop(log.matched, None)
        while item is not None:
            if not self._accept(item):
                return
            item = self.early.pop(log.matched, None)

    def take_fill(self, fill: Fill) -> bool:
        """Accept a piece of the order; False if it does not fit, or what is in it is not to be believed."""
        if fill.position > self._log.matched:
            return False
        for item in fill.items[self._log.matched - fill.position :]:
            if not self.is_valid(item) or not self._accept(item):
                return False
        self.take_early()
        return True

    def is_whole(self, skip: Skip) -> bool:
        """Whether somebody's word about what it has forgotten can be gone on with, and goes beyond what is here. The
        groups have at most as many messages as there are positions, and after them there is room for more."""
        if len(skip.next_seqnos) != self._sites or len(skip.counts) != self._groups:
            return False
        return self._log.matched < skip.base <= END_MAX and sum(skip.counts) <= skip.base

    def _accept(self, item: Item) -> bool:
        """An item of this term's order at the position `matched`: keep the one here if it is the same, else replace."""
        log = self._log
        if log.order.term_at(log.matched) != item.term:
            self._delivery.truncate(log.matched)
            if not log.order.expects(item):
                return False  # no orderer orders so: drop it
            self._delivery.append(item)
        log.match_next()
        return True

    # Asking and answering

    def ask(self, source: SiteId) -> None:
        """Negative acknowledgement, once for a position; GAP asks again."""
        if self._asked != self._log.matched:
            self._asked = self._log.matched
            self._outbox.send(source, Lacks(self._terms.term, self._log.matched))

    def ask_again(self) -> None:
        """Ask the orderer; everybody, if it is unknown."""
        self._asked = self._log.matched
        message = Lacks(self._terms.term, self._log.matched)
        orderer = self._token.orderer
        if orderer == NOBODY or orderer == self._site:
            self._outbox.multicast(list(self._peers), message)
        else:
            self._outbox.send(orderer, message)

    def maybe_answer(self, source: SiteId, position: int) -> bool:
        """Send a piece of the order from this position on, if it is here."""
        log = self._log
        order = log.order
        if position < order.base:
            seqnos, counts = tuple(order.base_seqnos), tuple(order.base_counts)
            self._outbox.send(source, Skip(self._terms.term, order.base, order.base_term, seqnos, counts, log.matched))
            return True
        if position >= log.matched:
            return False
        items = log.order.piece(position, min(FILL_ITEMS_MAX, log.matched - position), FILL_BYTES_MAX)
        self._outbox.send(source, Fill(self._terms.term, position, items, log.matched, log.committed))
        return True
