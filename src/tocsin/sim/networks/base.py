"""What a network model is: it takes a message at a time and makes it arrive, or not, at its targets."""

from abc import ABC, abstractmethod
from typing import ClassVar

from mypy_extensions import mypyc_attr

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.conditions import Conditions
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class Arrival(Event):
    """A copy reaches its target, unless a partition came between meanwhile."""

    def __init__(self, network: "Network", source: SiteId, target: SiteId, message: Message, size: int) -> None:
        self.network = network
        self.source = source
        self.target = target
        self.message = message
        self.size = size

    def fire(self, now: Micros) -> None:
        network = self.network
        if network.conditions.divided and not network.conditions.connected(self.source, self.target):
            network.world.on_drop(now, self.source, self.target, self.message, self.size, "cut")
        else:
            network.sites[self.target].on_arrival(now, self.source, self.message, self.size)


@mypyc_attr(allow_interpreted_subclasses=True)
class Network(ABC):
    """A model of the medium. `send` and `multicast` decide when copies leave; `_carry` is common to all."""

    has_multicast: ClassVar[bool] = False  # whether one multicast is one message on this network

    def __init__(self, kernel: Kernel, world: Surroundings, sites: list[Site], conditions: Conditions) -> None:
        self.kernel = kernel
        self.world = world
        self.sites = sites
        self.conditions = conditions
        self.duplicated = 0  # copies that arrived a second time
        self.held_up = 0  # copies that were delayed on purpose, so that others overtook them

    @abstractmethod
    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        """One message to one site."""

    @abstractmethod
    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        """One message to several sites."""

    def fail_link(self, link: int) -> None:  # noqa: B027  (only networks with links have something to fail)
        """A link stops carrying messages."""

    def repair_link(self, link: int) -> None:  # noqa: B027
        """A link works again."""

    def link_traffic(self) -> dict[str, int]:
        """Messages over each link, by its name; empty where there are no links."""
        return {}

    def _carry(
        self, now: Micros, arrives_at: Micros, source: SiteId, target: SiteId, message: Message, size: int
    ) -> None:
        """Let a copy arrive, subject to the weather."""
        conditions = self.conditions
        if conditions.divided and not conditions.connected(source, target):
            self.world.on_drop(now, source, target, message, size, "cut")
        elif conditions.loss > 0.0 and conditions.rng.chance(conditions.loss):
            self.world.on_drop(now, source, target, message, size, "loss")
        else:
            if conditions.reorder > 0.0:
                held_up_us = conditions.hold_up_us()
                if held_up_us > 0:
                    self.held_up += 1
                    arrives_at += held_up_us
            self.kernel.schedule(arrives_at, Arrival(self, source, target, message, size))
            if conditions.duplicate > 0.0 and conditions.rng.chance(conditions.duplicate):
                self.duplicated += 1
                again_at = arrives_at + conditions.delay.draw(conditions.rng)
                self.kernel.schedule(again_at, Arrival(self, source, target, message, size))
