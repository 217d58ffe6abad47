"""mesh: every site reaches every other; a site sends one message after another.

Sending occupies the sender for `process_us` per message; a message arrives `delay_us` after its sending began. So
`process_us` is the P of Garcia-Molina and Spauster and the E of Schneider et al., and `delay_us` is P + L and D. A
multicast is as many messages as it has targets.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier


class Mesh(Network):
    def __init__(self, carrier: Carrier, sites: int, process_us: int) -> None:
        super().__init__(carrier, None)
        self._process_us = process_us
        self._free_at: list[Micros] = [0] * sites  # by site: when its sender is idle again

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        sent_at = now
        if self._process_us > 0:
            sent_at = max(now, self._free_at[source])
            self._free_at[source] = sent_at + self._process_us
        carrier = self.carrier
        conditions = carrier.conditions
        carrier.carry(now, sent_at + conditions.delay.draw(conditions.rng), source, target, message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        for target in targets:
            self.send(now, source, target, message, size)
