"""What waits to be ordered."""

from tocsin.core.machine import SiteId
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item
from tocsin.protocols.baselines.sequencer.order import Order, is_renewed


class Submissions:
    """Messages that wait to be ordered: early ones, and all while this site has no right to order."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._firsts: dict[SiteId, int] = {}  # by origin: it will send no smaller number
        self.waiting: dict[tuple[SiteId, int], Item] = {}  # none of them is ordered; at most `window` of an origin

    def add(self, order: Order, item: Item) -> None:
        expected = self.expected(item.origin, order.next_seqnos[item.origin])
        if expected <= item.seqno < expected + self._window:
            self.waiting[(item.origin, item.seqno)] = item

    def note_first(self, origin: SiteId, first: int) -> None:
        """An origin says which of its messages is the oldest that is not settled."""
        self._firsts[origin] = max(first, self._firsts.get(origin, 0))

    def expected(self, origin: SiteId, following: int) -> int:
        """The number that comes next, or, where the origin has begun anew since then, the one that comes first."""
        first = self._firsts.get(origin, 0)
        return first if is_renewed(following, first) else following

    def take(self, order: Order) -> Item | None:
        """A message that may be ordered now: the next of its origin."""
        for origin in range(len(order.next_seqnos)):
            expected = self.expected(origin, order.next_seqnos[origin])
            item = self.waiting.pop((origin, expected), None)
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
