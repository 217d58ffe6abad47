"""lan: one medium, one message on it at a time; a multicast is one message, lost independently at each receiver.

A message occupies the medium for `medium_us` (the T of the broadcast-network models) and reaches each receiver
`delay_us` after it left the medium, drawn per receiver: the propagation delay of Chang and Hwang.
"""

from typing import ClassVar

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.conditions import Conditions
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class Lan(Network):
    has_multicast: ClassVar[bool] = True

    def __init__(
        self, kernel: Kernel, world: Surroundings, sites: list[Site], conditions: Conditions, medium_us: int
    ) -> None:
        super().__init__(kernel, world, sites, conditions)
        self._medium_us = medium_us
        self._free_at: Micros = 0  # when the medium is idle again

    def _occupy(self, now: Micros) -> Micros:
        """Take the medium for one message; when the message has left it."""
        self._free_at = max(now, self._free_at) + self._medium_us
        return self._free_at

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        left_at = self._occupy(now)
        arrives_at = left_at + self.conditions.delay.draw(self.conditions.rng)
        self._carry(now, arrives_at, source, target, message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        left_at = self._occupy(now)
        for target in targets:
            arrives_at = left_at + self.conditions.delay.draw(self.conditions.rng)
            self._carry(now, arrives_at, source, target, message, size)
