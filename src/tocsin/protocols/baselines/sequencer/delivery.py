"""When items of the order reach the application: as soon as they have a place, or when they are committed.

`optimistic_token` has a third way: before they have a place.
"""

from abc import ABC, abstractmethod

from tocsin.core.message import Record
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Item


class Delivery(ABC):
    """Changes the log, and tells the application what follows from the change."""

    @abstractmethod
    def append(self, item: Item) -> None:
        """An item gets the next place."""

    @abstractmethod
    def truncate(self, position: int) -> None:
        """What stands from here on is not in this term's order."""

    @abstractmethod
    def skip(self, next_seqnos: list[int]) -> None:
        """The order goes on elsewhere, with these numbers of the origins: nothing that is not settled stays."""

    @abstractmethod
    def commit(self, item: Item) -> None:
        """An item's place is its place for ever."""

    @abstractmethod
    def forget_term(self) -> None:
        """A new term begins: its orderer will be sent again what has no place."""

    @abstractmethod
    def revocable(self) -> list[Item]:
        """What is delivered here and may be taken back."""

    @abstractmethod
    def recall(self, record: Record) -> None:
        """After a restart: what a record says of the log and of deliveries."""

    @abstractmethod
    def records(self) -> list[Record]:
        """What a checkpoint keeps of the log and of deliveries."""


class WhenOrdered(Delivery):
    """Deliver what has a place; take it back if the next orderer never heard of it."""

    def __init__(self, log: Log, application: Application) -> None:
        self._log = log
        self._application = application

    def append(self, item: Item) -> None:
        self._log.append(item)
        self._application.deliver(item)

    def truncate(self, position: int) -> None:
        for item in self._log.truncate(position):
            self._application.take_back(item)

    def skip(self, next_seqnos: list[int]) -> None:
        for item in reversed(self._log.uncommitted()):
            self._application.take_back(item)

    def commit(self, item: Item) -> None:
        """It was delivered when it got its place."""

    def forget_term(self) -> None:
        self._log.submissions.clear()

    def revocable(self) -> list[Item]:
        return self._log.uncommitted()

    def recall(self, record: Record) -> None:
        self._log.recall(record)

    def records(self) -> list[Record]:
        return self._log.records()


class WhenCommitted(Delivery):
    """Deliver what stays for ever."""

    def __init__(self, log: Log, application: Application) -> None:
        self._log = log
        self._application = application

    def append(self, item: Item) -> None:
        self._log.append(item)

    def truncate(self, position: int) -> None:
        self._log.truncate(position)

    def skip(self, next_seqnos: list[int]) -> None:
        """Nothing else was delivered."""

    def commit(self, item: Item) -> None:
        self._application.deliver(item)

    def forget_term(self) -> None:
        self._log.submissions.clear()

    def revocable(self) -> list[Item]:
        return []

    def recall(self, record: Record) -> None:
        self._log.recall(record)

    def records(self) -> list[Record]:
        return self._log.records()
