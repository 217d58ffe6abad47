"""mesh: every site reaches every other; a site sends one message after another.

Sending occupies the sender for `process_us` per message; a message arrives `delay_us` after its sending began. So
`process_us` is the P of Garcia-Molina and Spauster and the E of Schneider et al., and `delay_us` is P + L and D. A
multicast is as many messages as it has targets.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.conditions import Conditions
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class Mesh(Network):
    def __init__(
        self,
        kernel: Kernel,
        world: Surroundings,
        sites: list[Site],
        conditions: Conditions,
        process_us: int,
    ) -> None:
        super().__init__(kernel, world, sites, conditions)
        self._process_us = process_us
        self._free_at: list[Micros] = [0] * len(sites)  # by site: when its sender is idle again

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        sent_at = now
        if self._process_us > 0:
            sent_at = max(now, self._free_at[source])
            self._free_at[source] = sent_at + self._process_us
        conditions = self.conditions
        self._carry(now, sent_at + conditions.delay.draw(conditions.rng), source, target, message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        for target in targets:
            self.send(now, source, target, message, size)
