"""The order as it is kept here: on stable storage, with what of it is committed and what is sure in this term."""

from tocsin.core.machine import SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Appended, Committed, Item, Truncated
from tocsin.protocols.baselines.sequencer.order import Order
from tocsin.protocols.baselines.sequencer.submissions import Submissions


class Log:
    """Changes of the order are durable in the step that makes them. What the application sees is `Delivery`'s."""

    def __init__(self, sites: int, groups: int, window: int, retain: int, records: Records) -> None:
        self._records = records
        self._retain = retain
        self.order = Order(sites, groups)  # durable
        self.submissions = Submissions(window)  # what has no place yet
        self.committed = 0  # items below this position stay for ever; durable
        self.matched = 0  # below this position the order here is the order of this term; >= committed
        self.stable = 0  # every site is known to have the order below this position; nobody will ask for it

    def end(self) -> int:
        return self.order.end()

    def append(self, item: Item) -> None:
        """An item gets the next place."""
        self.submissions.drop(item)
        renewed = not self.order.is_next(item)
        self.order.append(item)
        if renewed:
            self.submissions.drop_ordered(self.order)
        self._records.persist(Appended(item))

    def truncate(self, position: int) -> list[Item]:
        """What stands from here on is not in this term's order: what is taken off, newest first."""
        if self.order.end() <= position:
            return []
        self._records.persist(Truncated(position))
        return self._take_off(position)

    def _take_off(self, position: int) -> list[Item]:
        taken: list[Item] = []
        while self.order.end() > position:
            taken.append(self.order.pop())
        return taken

    # What is sure

    def match_next(self) -> None:
        """The next item here is the one of this term's order."""
        self.matched += 1

    def match_below(self, position: int) -> None:
        """The order here is this term's order below this position."""
        self.matched = max(self.matched, position)

    def match_all(self) -> None:
        """The order here is this term's order."""
        self.matched = self.order.end()

    def forget_term(self) -> None:
        """What was known of the last term's order is not known of the next one's, but what was committed."""
        self.matched = self.committed

    def commit(self, position: int) -> None:
        """Items below this position stay for ever."""
        self.committed = position
        self._records.persist(Committed(position))

    def note_stable(self, position: int) -> None:
        """Every site has the order below this position."""
        self.stable = max(self.stable, position)

    def forget(self) -> None:
        """Items that stay for ever and that nobody needs are dropped; so are old ones that somebody lacks for long."""
        self.order.forget_below(max(min(self.stable, self.committed), self.committed - self._retain))

    def uncommitted(self) -> list[Item]:
        return self.order.since(self.committed)

    def committed_seqno(self, origin: SiteId) -> int:
        """Messages of an origin with smaller numbers are committed."""
        seqno = self.order.next_seqnos[origin]
        for item in self.uncommitted():
            if item.group != NO_GROUP and item.origin == origin:
                return min(seqno, item.seqno)
        return seqno

    # After a restart

    def resume(self, base: int, base_term: int, seqnos: list[int], counts: list[int], committed: int) -> None:
        """From a checkpoint, or from another site that has forgotten what is lacking here."""
        self.order.resume(base, base_term, seqnos, counts)
        self.committed = committed
        self.matched = committed

    def recall(self, record: Record) -> None:
        if isinstance(record, Appended):
            self.order.append(record.item)
        elif isinstance(record, Truncated):
            self.recall_truncated(record.position)
        elif isinstance(record, Committed):
            self.committed = record.position

    def recall_truncated(self, position: int) -> list[Item]:
        """What an earlier life took off, newest first."""
        return self._take_off(position)

    def records(self) -> list[Record]:
        """What a checkpoint keeps, besides the base."""
        return [Appended(item) for item in self.order.items]
