"""One ring as a member sees it: the messages at their places, what is missing, delivered and safe."""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.totem_ring.messages import Item

RINGS_MAX: Final = 1 << 59  # no honest ring has such a number: its successors are numbers, too
BLANK: Final = 1  # the number of a ring that never was: rings have even numbers


class Ring:
    """The members in the order of the token, and the messages so far."""

    def __init__(self, number: int, root: SiteId, members: list[SiteId]) -> None:
        self.number = number
        self.root = root  # its representative, the smallest member; (number, root) names the ring
        self.members = members  # sorted
        self.have = RangeSet()  # places whose message is here, on stable storage
        self.items: dict[int, Item] = {}  # by place; those below `kept_from` are dropped
        self.kept_from = 0
        self.delivered = 0  # places below this are delivered
        self.safe = 0  # places below this are at every member

    def is_named(self, number: int, root: SiteId) -> bool:
        return self.number == number and self.root == root

    def next_after(self, site: SiteId) -> SiteId:
        return self.members[(self.members.index(site) + 1) % len(self.members)]

    def store(self, place: int, item: Item) -> bool:
        """Keep a message; False if it was here."""
        if place < self.kept_from or not self.have.add(place):
            return False
        self.items[place] = item
        return True

    def start_at(self, place: int, delivered: int) -> None:
        """After a checkpoint: the messages below this place are at every member, and forgotten."""
        self.have.add_range(0, place)
        self.kept_from = place
        self.delivered = delivered

    def recall_delivered(self, place: int) -> None:
        """After a restart: places below this were delivered before."""
        self.delivered = place

    def reached(self) -> int:
        """All places below this are here."""
        return self.have.next_missing(0)

    def note_safe(self, place: int) -> None:
        """Every member has all places below this."""
        self.safe = max(self.safe, place)

    def take_next(self) -> Item:
        """The first message that is not delivered; it counts as delivered from now on."""
        item = self.items[self.delivered]
        self.delivered += 1
        return item

    def drop_below(self, place: int) -> None:
        """Every member has these: those delivered here are forgotten, for nobody will ask for them."""
        while self.kept_from < min(place, self.delivered):
            self.items.pop(self.kept_from, None)
            self.kept_from += 1
