"""What a network model is: it takes a message at a time and decides when copies of it leave for their targets."""

from abc import ABC, abstractmethod
from typing import ClassVar

from mypy_extensions import mypyc_attr

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.networks.carrier import Carrier
from tocsin.sim.networks.links import Links


@mypyc_attr(allow_interpreted_subclasses=True)
class Network(ABC):
    """A model of the medium: when copies leave is its own, what then happens to them is its carrier's."""

    has_multicast: ClassVar[bool] = False  # whether one multicast is one message on this network

    def __init__(self, carrier: Carrier, links: Links | None) -> None:
        self.carrier = carrier
        self.links = links  # None: this network has no links that could fail or be counted

    @abstractmethod
    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        """One message to one site."""

    @abstractmethod
    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        """One message to several sites."""
