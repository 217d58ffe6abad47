"""What waits to be ordered."""

from tocsin.core.machine import SiteId
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item
from tocsin.protocols.baselines.sequencer.order import Order


class Submissions:
    """Messages that wait to be ordered: early ones, and all while this site has no right to order."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.waiting: dict[tuple[SiteId, int], Item] = {}  # none of them is ordered; at most `window` of an origin

    def add(self, order: Order, item: Item) -> None:
        expected = order.next_seqnos[item.origin]
        if expected <= item.seqno < expected + self._window:
            self.waiting[(item.origin, item.seqno)] = item

    def take(self, order: Order) -> Item | None:
        """A message that may be ordered now: the next of its origin."""
        for origin in range(len(order.next_seqnos)):
            item = self.waiting.pop((origin, order.next_seqnos[origin]), None)
            if item is not None:
                return item
        return None

    def put_back(self, item: Item) -> None:
        """It has lost its place and waits again."""
        self.waiting[(item.origin, item.seqno)] = item

    def drop_ordered(self, order: Order) -> None:
        """The order went on by more than one place."""
        for origin, seqno in [key for key in self.waiting if key[1] < order.next_seqnos[key[0]]]:
            del self.waiting[(origin, seqno)]

    def clear(self) -> None:
        self.waiting.clear()

    def drop(self, item: Item) -> None:
        """It is ordered, here or by another."""
        if item.group != NO_GROUP:
            self.waiting.pop((item.origin, item.seqno), None)
