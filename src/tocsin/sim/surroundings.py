"""What a site needs from the world around it: a network, and somebody who takes notes."""

from abc import ABC, abstractmethod

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.message import Message


class Surroundings(ABC):
    """The world, as its sites see it."""

    traces_messages: bool  # whether somebody wants to know of every message
    renewed: dict[SiteId, int]  # sites that have begun anew, and their present incarnations

    @abstractmethod
    def transmit(self, now: Micros, source: SiteId, target: SiteId, message: Message) -> None: ...

    @abstractmethod
    def transmit_many(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message) -> int:
        """How many messages it took: one where the network has a multicast."""

    @abstractmethod
    def on_receive(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        """Called only where messages are traced."""

    @abstractmethod
    def on_drop(
        self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int, reason: str
    ) -> None: ...

    @abstractmethod
    def on_broadcast(self, now: Micros, site: SiteId, group: GroupId, seqno: int, size: int) -> None: ...

    @abstractmethod
    def on_deliver(
        self,
        now: Micros,
        site: SiteId,
        group: GroupId,
        origin: SiteId,
        seqno: int,
        size: int,
        position: int,
        view: int,
    ) -> None: ...

    @abstractmethod
    def on_rollback(
        self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, seqno: int, position: int
    ) -> None: ...

    @abstractmethod
    def on_missed(self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, first: int, count: int) -> None: ...

    @abstractmethod
    def on_view(self, now: Micros, site: SiteId, view: int, members: list[SiteId], primary: bool) -> None: ...

    @abstractmethod
    def on_leave(self, now: Micros, site: SiteId) -> None: ...

    @abstractmethod
    def on_group(self, now: Micros, site: SiteId, group: GroupId, view: int, members: list[SiteId]) -> None: ...

    @abstractmethod
    def on_disk_saved(self, site: SiteId) -> None: ...
