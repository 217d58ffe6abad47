"""A network that counts what some of its links carry, and who sent what; it may lose what an experiment wants lost."""

from collections.abc import Callable
from typing import ClassVar

from tocsin.core.message import Message
from tocsin.sim.networks.base import Network
from tocsin.sim.simulation import Simulation


class CountingNetwork(Network):
    """Around another network of links."""

    has_multicast: ClassVar[bool] = True

    def __init__(self, inner: Network, links: list[int]) -> None:
        super().__init__(inner.carrier, inner.links)
        self.inner = inner
        self.counted = links  # whose copies are counted
        self.copies: list[dict[str, int]] = [{} for _ in links]  # over each of them, by kind
        self.sent: dict[tuple[int, str], int] = {}  # by sender and kind; a multicast is one
        self.loses: Callable[[int, int, Message], bool] | None = None  # (source, target, message)

    def send(self, now: int, source: int, target: int, message: Message, size: int) -> None:
        self.multicast(now, source, [target], message, size)

    def multicast(self, now: int, source: int, targets: list[int], message: Message, size: int) -> None:
        key = source, message.kind
        self.sent[key] = self.sent.get(key, 0) + 1
        loses = self.loses
        if loses is not None:
            targets = [target for target in targets if not loses(source, target, message)]
        traffic = self.links.traffic if self.links is not None else []
        before = [traffic[link] for link in self.counted]
        self.inner.multicast(now, source, targets, message, size)
        for place, link in enumerate(self.counted):
            carried = traffic[link] - before[place]
            if carried:
                copies = self.copies[place]
                copies[message.kind] = copies.get(message.kind, 0) + carried

    def sent_kind(self, kind: str) -> int:
        return sum(count for (_, sent), count in self.sent.items() if sent == kind)


def counted(simulation: Simulation, links: list[int]) -> CountingNetwork:
    """Put the counting network around that of a simulation which has not started."""
    inner = simulation.world.network
    assert inner is not None
    network = CountingNetwork(inner, links)
    simulation.world.network = network
    return network
