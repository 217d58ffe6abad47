"""One ring as a member sees it: the messages at their places, what is missing, delivered and safe."""

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.totem_ring.messages import Item


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
        self.hop = 0  # of the last token taken
        self.last_aru = 0  # of the token when it was last here
        self.sent_last = 0  # own messages in the last rotation
        self.last_end = 0  # of the token when it was last here: older gaps are losses

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

    def reached(self) -> int:
        """All places below this are here."""
        return self.have.next_missing(0)

    def drop_below(self, place: int) -> None:
        """Everybody has these and they are delivered here: nobody will ask for them."""
        while self.kept_from < min(place, self.delivered):
            self.items.pop(self.kept_from, None)
            self.kept_from += 1


class Gathering:
    """The sets of the membership algorithm, and who agrees with them."""

    def __init__(self, site: SiteId, known: list[SiteId]) -> None:
        self.site = site
        self.known: set[SiteId] = {site, *known}
        self.dead: set[SiteId] = set()
        self.agrees: set[SiteId] = set()  # those whose last Join held the same two sets

    def alive(self) -> list[SiteId]:
        return sorted(self.known - self.dead)

    def hear(self, source: SiteId, known: list[SiteId], dead: list[SiteId]) -> bool:
        """Take in a Join; whether it changed a set here."""
        before = (len(self.known), len(self.dead))
        if self.site in dead:
            if source not in self.dead:
                self.known.add(source)
                self.dead.add(source)  # it does not want us: we go without it
        else:
            self.known.update(known)
            self.known.add(source)
            self.dead.update(dead)
        changed = before != (len(self.known), len(self.dead))
        if changed:
            self.agrees.clear()
        same = set(known) == self.known and set(dead) == self.dead
        if same:
            self.agrees.add(source)
        else:
            self.agrees.discard(source)
        return changed

    def is_agreed(self) -> bool:
        return all(site in self.agrees or site == self.site for site in self.alive())

    def give_up_silent(self) -> bool:
        """Take those for dead who have not agreed in time; whether there were any."""
        silent = [site for site in self.alive() if site not in self.agrees and site != self.site]
        self.dead.update(silent)
        if silent:
            self.agrees.clear()
        return len(silent) > 0
