"""The last stretch of every network: a copy that has left its sender meets the weather, and arrives or does not."""

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim.conditions import Conditions
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class Carrier:
    """Takes copies to their targets, subject to loss, duplication, reordering and partitions."""

    def __init__(self, kernel: Kernel, world: Surroundings, sites: list[Site], conditions: Conditions) -> None:
        self._kernel = kernel
        self._sites = sites
        self.world = world  # who is told of a copy that does not arrive
        self.conditions = conditions  # the weather; faults change it
        self.duplicated = 0  # copies that arrived a second time
        self.held_up = 0  # copies that were delayed on purpose, so that others overtook them
        self.has_renewed = False  # whether some site has begun anew …
        self._renewed: dict[SiteId, int] = {}  # … and their present incarnations

    def carry(
        self, now: Micros, arrives_at: Micros, source: SiteId, target: SiteId, message: Message, size: int
    ) -> None:
        """Let a copy arrive at that time, or later, or twice, or not at all."""
        conditions = self.conditions
        if conditions.divided and not conditions.connected(source, target):
            self.world.on_drop(now, source, target, message, size, "cut")
        elif conditions.loss > 0.0 and conditions.rng.chance(conditions.loss):
            self.world.on_drop(now, source, target, message, size, "loss")
        elif conditions.slow and conditions.is_missed(target):
            self.world.on_drop(now, source, target, message, size, "slow")
        else:
            if conditions.reorder > 0.0:
                held_up_us = conditions.hold_up_us()
                if held_up_us > 0:
                    self.held_up += 1
                    arrives_at += held_up_us
            self._kernel.schedule(arrives_at, self._arrival(source, target, message, size))
            if conditions.duplicate > 0.0 and conditions.rng.chance(conditions.duplicate):
                self.duplicated += 1
                again_at = arrives_at + conditions.delay.draw(conditions.rng)
                self._kernel.schedule(again_at, self._arrival(source, target, message, size))

    def drop_of(self, source: SiteId, incarnation: int) -> None:
        """A site has begun anew: what its earlier incarnations have sent does not arrive any more."""
        self._renewed[source] = incarnation
        self.has_renewed = True

    def _arrival(self, source: SiteId, target: SiteId, message: Message, size: int) -> Event:
        arrival = Arrival(self, source, target, message, size)
        if self.has_renewed and source in self._renewed:
            return ArrivalOfRenewed(arrival, self._renewed[source])
        return arrival

    def arrive(self, now: Micros, copy: "Arrival", incarnation: int) -> None:
        """A copy of a site that has begun anew, or (0) of one that had not when it was sent, is at its target."""
        if self._renewed.get(copy.source, 0) == incarnation:
            self.hand_over(now, copy.source, copy.target, copy.message, copy.size)
        else:
            self.world.on_drop(now, copy.source, copy.target, copy.message, copy.size, "renewed")

    def hand_over(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        """A copy is at its target now, unless a partition came between meanwhile."""
        if self.conditions.divided and not self.conditions.connected(source, target):
            self.world.on_drop(now, source, target, message, size, "cut")
        else:
            self._sites[target].on_arrival(now, source, message, size)


class Arrival(Event):
    """A copy under way."""

    def __init__(self, carrier: Carrier, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        self.carrier = carrier
        self.source = source
        self.target = target
        self.message = message
        self.size = size

    def fire(self, now: Micros) -> None:
        if self.carrier.has_renewed:
            self.carrier.arrive(now, self, 0)
        else:
            self.carrier.hand_over(now, self.source, self.target, self.message, self.size)


class ArrivalOfRenewed(Event):
    """A copy under way, of a site that has begun anew."""

    def __init__(self, arrival: Arrival, incarnation: int) -> None:
        self.arrival = arrival
        self.incarnation = incarnation

    def fire(self, now: Micros) -> None:
        self.arrival.carrier.arrive(now, self.arrival, self.incarnation)
