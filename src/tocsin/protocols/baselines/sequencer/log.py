"""The order as one site knows it: items from a base position on, and per origin the number that comes next."""

from tocsin.core.machine import SiteId
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item


class Order:
    """A log of items. Items below `base` are known to every site and forgotten."""

    def __init__(self, sites: int) -> None:
        self.base = 0  # position of items[0]
        self.base_term = 0  # term of the item before it
        self.items: list[Item] = []
        self.next_seqnos: list[int] = [0] * sites  # by origin: messages come in the order of their numbers

    def end(self) -> int:
        return self.base + len(self.items)

    def last_term(self) -> int:
        return self.items[-1].term if self.items else self.base_term

    def term_at(self, position: int) -> int:
        """The term of the item at a position; -1 where there is none (any more)."""
        place = position - self.base
        return self.items[place].term if 0 <= place < len(self.items) else -1

    def expects(self, item: Item) -> bool:
        """Whether the item may come next: nobody's message, or the next of its origin."""
        return item.group == NO_GROUP or self.next_seqnos[item.origin] == item.seqno

    def append(self, item: Item) -> None:
        self.items.append(item)
        if item.group != NO_GROUP:
            self.next_seqnos[item.origin] = item.seqno + 1

    def pop(self) -> Item:
        """Take the last item off."""
        item = self.items.pop()
        if item.group != NO_GROUP:
            self.next_seqnos[item.origin] = item.seqno
        return item

    def forget_below(self, position: int) -> None:
        drop = min(position, self.end()) - self.base
        if drop > 0:
            self.base_term = self.items[drop - 1].term
            del self.items[:drop]
            self.base += drop

    def piece(self, position: int, items_max: int, bytes_max: int) -> tuple[Item, ...]:
        """Some items from a position on: at least one, if there is one, and not too much for one message."""
        chosen: list[Item] = []
        size = 0
        for item in self.items[max(0, position - self.base) : position - self.base + items_max]:
            size += len(item.payload)
            if chosen and size > bytes_max:
                break
            chosen.append(item)
        return tuple(chosen)


def held_by(have: list[int], count: int) -> int:
    """The position below which at least `count` sites have everything."""
    return sorted(have, reverse=True)[count - 1]


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

    def drop(self, item: Item) -> None:
        """It is ordered, here or by another."""
        if item.group != NO_GROUP:
            self.waiting.pop((item.origin, item.seqno), None)
