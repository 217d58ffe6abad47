"""lossy: processes joined by the links of a topology, each link with its loss, each process with crashed steps.

The model of Garbinato, Pedone and Schmidt: a message passes over one link only, and gets through when neither the
sender's step, nor the link, nor the receiver's step fails. A multicast is as many messages as it has targets.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.core.topology import Topology
from tocsin.sim.conditions import Conditions
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class Lossy(Network):
    def __init__(
        self,
        kernel: Kernel,
        world: Surroundings,
        sites: list[Site],
        conditions: Conditions,
        topology: Topology,
    ) -> None:
        super().__init__(kernel, world, sites, conditions)
        self._topology = topology
        self._works: list[bool] = [True] * topology.link_count()
        self._traffic: list[int] = [0] * topology.link_count()
        self._between: dict[int, int] = {}  # source * sites + target: their link
        for link in range(topology.link_count()):
            first = topology.link_first[link]
            second = topology.link_second[link]
            self._between[first * len(sites) + second] = link
            self._between[second * len(sites) + first] = link

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        link = self._between.get(source * len(self.sites) + target, -1)
        if link < 0 or not self._works[link]:
            self.world.on_drop(now, source, target, message, size, "link")
            return
        self._traffic[link] += 1
        topology = self._topology
        rng = self.conditions.rng
        if rng.chance(topology.crash[source]) or rng.chance(topology.crash[target]):
            self.world.on_drop(now, source, target, message, size, "step")
        elif rng.chance(topology.link_loss[link]):
            self.world.on_drop(now, source, target, message, size, "loss")
        else:
            arrives_at = now + self.conditions.delay.draw(rng)
            self._carry(now, arrives_at, source, target, message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        for target in targets:
            self.send(now, source, target, message, size)

    def fail_link(self, link: int) -> None:
        self._works[link] = False

    def repair_link(self, link: int) -> None:
        self._works[link] = True

    def link_traffic(self) -> dict[str, int]:
        labels = self._topology.link_labels()
        return {labels[link]: self._traffic[link] for link in range(len(labels))}
