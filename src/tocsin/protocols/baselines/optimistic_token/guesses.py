"""Delivering before the order is known: messages are guessed to be ordered as they come, and taken back where not."""

from tocsin.core.machine import SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.optimistic_token.messages import Tentative
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.delivery import Delivery
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Appended, Item, Truncated


class Guesses(Delivery):
    """What is delivered here is always the known part of the order, followed by the guesses."""

    def __init__(self, sites: int, records: Records, log: Log, application: Application) -> None:
        self._records = records
        self._log = log
        self._application = application
        self.items: list[Item] = []  # delivered after all ordered items, in this order; durable
        self._counts: list[int] = [
            0
        ] * sites  # by origin: its messages among the guesses, which follow its ordered ones
        self._withdrawn = False  # within a step: the guesses are taken back and not yet delivered again

    # Guessing

    def guess_waiting(self, origin: SiteId) -> None:
        """Deliver at once what has come from an origin, in the order of its numbers."""
        waiting = self._log.submissions.waiting
        following = self._log.submissions.expected(origin, self._following(origin))
        item = waiting.get((origin, following))
        while item is not None:
            self._guess(item)
            following += 1
            item = waiting.get((origin, following))

    def _following(self, origin: SiteId) -> int:
        """The number after the last that is guessed or ordered."""
        if self._counts[origin] > 0:
            for item in reversed(self.items):
                if item.origin == origin:
                    return item.seqno + 1
        return self._log.order.next_seqnos[origin]

    def _guess(self, item: Item) -> None:
        self._add(item)
        self._records.persist(Tentative(item))
        if not self._withdrawn:
            self._application.deliver(item)

    def _add(self, item: Item) -> None:
        self.items.append(item)
        self._counts[item.origin] += 1

    # The order becomes known

    def append(self, item: Item) -> None:
        """An item has its place. If it was the first guess, the guess was right; else all guesses are taken back."""
        if not self._is_expected(item):
            self._take_back()
        self._log.append(item)
        self._drop(item)
        if self._withdrawn:
            self._application.deliver(item)

    def _is_expected(self, item: Item) -> bool:
        if item.group == NO_GROUP:
            return True  # nobody's message is delivered to nobody
        first = self.items[0] if self.items else None
        return first is not None and first.origin == item.origin and first.seqno == item.seqno

    def _drop(self, item: Item) -> None:
        """It is ordered: no guess any more."""
        if item.group == NO_GROUP:
            return
        for place in range(len(self.items)):
            guess = self.items[place]
            if guess.origin == item.origin and guess.seqno == item.seqno:
                del self.items[place]
                self._counts[item.origin] -= 1
                return

    def truncate(self, position: int) -> None:
        """A new token's order may differ from the old one's: what stood there is a guess again, in the same place."""
        self._guess_first(self._log.truncate(position))

    def _guess_first(self, taken: list[Item]) -> None:
        """Items that were at the end of the order, newest first, are the first guesses."""
        for item in taken:
            if item.group != NO_GROUP:
                self.items.insert(0, item)
                self._counts[item.origin] += 1
                self._log.submissions.put_back(item)

    def skip(self, next_seqnos: list[int]) -> None:
        """What was ordered and not settled is guessed to come next, with the guesses, if the numbers go on so."""
        self._take_back()
        uncommitted = self._log.uncommitted()
        for item in reversed(uncommitted):
            self._application.take_back(item)
        guesses = [item for item in uncommitted if item.group != NO_GROUP] + self.items
        self.items = []
        self._counts = [0] * len(next_seqnos)
        for item in guesses:
            if item.seqno == next_seqnos[item.origin] + self._counts[item.origin]:
                self._add(item)
                self._log.submissions.put_back(item)

    def commit(self, item: Item) -> None:
        """It was delivered long before."""

    def forget_term(self) -> None:
        """What waits for a place is still here, and guessed."""

    # Rolling back

    def _take_back(self) -> None:
        """Roll back all guesses, newest first."""
        if not self._withdrawn:
            self._withdrawn = True
            for item in reversed(self.items):
                self._application.take_back(item)

    def deliver_again(self) -> None:
        """At the end of a step: the guesses that are left follow the order as it is now."""
        if self._withdrawn:
            self._withdrawn = False
            for item in self.items:
                self._application.deliver(item)

    def revocable(self) -> list[Item]:
        return self._log.uncommitted() + self.items

    # Records

    def recall(self, record: Record) -> None:
        if isinstance(record, Tentative):
            self._add(record.item)
        elif isinstance(record, Truncated):
            self._guess_first(self._log.recall_truncated(record.position))
        else:
            if isinstance(record, Appended):
                self._drop(record.item)
            self._log.recall(record)

    def records(self) -> list[Record]:
        return self._log.records() + [Tentative(item) for item in self.items]
