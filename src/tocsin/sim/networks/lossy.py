"""lossy: processes joined by the links of a topology, each link with its loss, each process with crashed steps.

The model of Garbinato, Pedone and Schmidt: a message passes over one link only, and gets through when neither the
sender's step, nor the link, nor the receiver's step fails. A multicast is as many messages as it has targets.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.core.topology import Topology
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier
from tocsin.sim.networks.links import Links


class Lossy(Network):
    def __init__(self, carrier: Carrier, topology: Topology) -> None:
        links = Links(topology)
        super().__init__(carrier, links)
        self._links = links
        self._nodes = topology.node_count()
        self._between: dict[int, int] = {}  # source * nodes + target: their link
        for link in range(topology.link_count()):
            first = topology.link_first[link]
            second = topology.link_second[link]
            self._between[first * self._nodes + second] = link
            self._between[second * self._nodes + first] = link

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        carrier = self.carrier
        links = self._links
        link = self._between.get(source * self._nodes + target, -1)
        if link < 0 or not links.works(link):
            carrier.world.on_drop(now, source, target, message, size, "link")
            return
        links.count(link)
        topology = links.topology
        rng = carrier.conditions.rng
        if rng.chance(topology.crash[source]) or rng.chance(topology.crash[target]):
            carrier.world.on_drop(now, source, target, message, size, "step")
        elif rng.chance(topology.link_loss[link]):
            carrier.world.on_drop(now, source, target, message, size, "loss")
        else:
            arrives_at = now + carrier.conditions.delay.draw(rng)
            carrier.carry(now, arrives_at, source, target, message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        for target in targets:
            self.send(now, source, target, message, size)
