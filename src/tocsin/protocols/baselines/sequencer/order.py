"""The order as one site knows it: items from a base position on, and per origin the number that comes next."""

from tocsin.core.machine import RENEWAL_GAP
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item


class Order:
    """A log of items. Items below `base` are committed and forgotten; what they come to is not."""

    def __init__(self, sites: int, groups: int) -> None:
        self.base = 0  # position of items[0]
        self.base_term = 0  # term of the item before it
        self.base_seqnos: list[int] = [0] * sites  # by origin: the number that comes next after the items below `base`
        self.base_counts: list[int] = [0] * groups  # by group: its messages below `base`
        self.items: list[Item] = []
        self.next_seqnos: list[int] = [0] * sites  # by origin: messages come in the order of their numbers

    def end(self) -> int:
        return self.base + len(self.items)

    def last_term(self) -> int:
        return self.items[-1].term if self.items else self.base_term

    def resume(self, base: int, base_term: int, base_seqnos: list[int], base_counts: list[int]) -> None:
        """Begin at this position, without items."""
        self.base = base
        self.base_term = base_term
        self.base_seqnos = base_seqnos
        self.base_counts = base_counts
        self.items = []
        self.next_seqnos = list(base_seqnos)

    def term_at(self, position: int) -> int:
        """The term of the item at a position; -1 where there is none (any more)."""
        if position == self.base - 1:
            return self.base_term
        place = position - self.base
        return self.items[place].term if 0 <= place < len(self.items) else -1

    def expects(self, item: Item) -> bool:
        """Whether the item may come next: nobody's message, or the next of its origin."""
        expected = 0 if item.group == NO_GROUP else self.next_seqnos[item.origin]
        return item.group == NO_GROUP or item.seqno == expected or is_renewed(expected, item.seqno)

    def is_next(self, item: Item) -> bool:
        """Whether its number follows that of the origin's last."""
        return item.group == NO_GROUP or self.next_seqnos[item.origin] == item.seqno

    def append(self, item: Item) -> None:
        self.items.append(item)
        if item.group != NO_GROUP:
            self.next_seqnos[item.origin] = item.seqno + 1

    def pop(self) -> Item:
        """Take the last item off."""
        item = self.items.pop()
        if item.group != NO_GROUP:
            self.next_seqnos[item.origin] = self._expected_before(item)
        return item

    def _expected_before(self, taken: Item) -> int:
        """What was expected of an origin before an item that was taken off."""
        if taken.seqno - self.base_seqnos[taken.origin] <= RENEWAL_GAP // 2:
            return taken.seqno
        for item in reversed(self.items):
            if item.group != NO_GROUP and item.origin == taken.origin:
                return item.seqno + 1
        return self.base_seqnos[taken.origin]

    def forget_below(self, position: int) -> None:
        drop = min(position, self.end()) - self.base
        if drop <= 0:
            return
        for item in self.items[:drop]:
            if item.group != NO_GROUP:
                self.base_seqnos[item.origin] = item.seqno + 1
                self.base_counts[item.group] += 1
        self.base_term = self.items[drop - 1].term
        del self.items[:drop]
        self.base += drop

    def since(self, position: int) -> list[Item]:
        """The items from a position on."""
        return self.items[max(0, position - self.base) :]

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


def is_renewed(expected: int, seqno: int) -> bool:
    """Whether a number is so far beyond the expected one that its origin has begun anew in between."""
    return seqno - expected > RENEWAL_GAP // 2


def held_by(have: list[int], count: int) -> int:
    """The position below which at least `count` sites have everything."""
    return sorted(have, reverse=True)[count - 1]
