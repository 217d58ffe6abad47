"""lan: one medium, one message on it at a time; a multicast is one message, lost independently at each receiver.

A message occupies the medium for `medium_us` (the T of the broadcast-network models) and reaches each receiver
`delay_us` after it left the medium, drawn per receiver: the propagation delay of Chang and Hwang.
"""

from typing import ClassVar

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier


class Lan(Network):
    has_multicast: ClassVar[bool] = True

    def __init__(self, carrier: Carrier, medium_us: int) -> None:
        super().__init__(carrier, None)
        self._medium_us = medium_us
        self._free_at: Micros = 0  # when the medium is idle again

    def _occupy(self, now: Micros) -> Micros:
        """Take the medium for one message; when the message has left it."""
        self._free_at = max(now, self._free_at) + self._medium_us
        return self._free_at

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        self.multicast(now, source, [target], message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        left_at = self._occupy(now)
        conditions = self.carrier.conditions
        for target in targets:
            arrives_at = left_at + conditions.delay.draw(conditions.rng)
            self.carrier.carry(now, arrives_at, source, target, message, size)
