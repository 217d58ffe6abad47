"""Who broadcasts what, and when: Poisson, periodic, in bursts, or a closed loop."""

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.rng import Rng
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.world import OwnDeliveries, World


class Workload(OwnDeliveries):
    """Broadcasts of a run: `messages` in all, shared by the senders as their turns come."""

    def __init__(self, world: World, kernel: Kernel, senders: list[SiteId], messages: int, rng: Rng) -> None:
        self.senders = senders
        self.remaining = messages  # not yet handed to a site
        self.mean_us = 0.0  # Poisson: mean time between a sender's broadcasts; 0 = not Poisson
        self.every_us = 0  # periodic: time between a sender's turns; 0 = not periodic
        self.burst = 1  # broadcasts per turn
        self.outstanding = 0  # closed loop: own messages not yet delivered, per sender; 0 = open
        self.start_us = 0
        self.still_from_us = 0  # nobody broadcasts from here …
        self.still_to_us = 0  # … to there
        self.size_min = 100
        self.size_max = 100
        self.groups: list[GroupId] = [0]  # drawn uniformly
        self.inside = False  # only among those that the sender is in
        self._world = world
        self._kernel = kernel
        self._rng = rng
        self._sender_rng: dict[SiteId, Rng] = {site: rng.fork(f"sender/{site}") for site in senders}
        self._number = 0  # of the next broadcast; its payload starts with it

    def start(self) -> None:
        for site in self.senders:
            if self.outstanding > 0:
                for _ in range(self.outstanding):
                    self._schedule(self.start_us, site)
            else:
                self._schedule(self.start_us + self._first_wait_us(site), site)

    def on_own_delivery(self, now: Micros, site: SiteId) -> None:
        """Closed loop: a delivered message makes room for the next."""
        if self.outstanding > 0 and self.remaining > 0:
            self._schedule(now, site)

    def on_turn(self, now: Micros, site: SiteId) -> None:
        """A sender's turn: broadcast, and wait for the next turn."""
        rng = self._sender_rng[site]
        for _ in range(self.burst):
            if self.remaining <= 0:
                return
            host = self._world.sites[site]
            if host.machine is not None and not (self.inside and not self._groups_of(site)):
                self.remaining -= 1
                if self.remaining == 0:
                    self._kernel.interrupted = True  # from here on the run may end at any event
                groups = self._groups_of(site) if self.inside else self.groups
                group = groups[rng.below(len(groups))] if len(groups) > 1 else groups[0]
                host.broadcast(now, group, self._payload(rng))
        if self.outstanding == 0:
            self._schedule(now + self._wait_us(site), site)
        elif self._world.sites[site].machine is None:
            self._schedule(now + 1_000_000, site)  # look again in a second

    def _groups_of(self, site: SiteId) -> list[GroupId]:
        return [group for group in self.groups if site in self._world.groups[group]]

    def _schedule(self, at: Micros, site: SiteId) -> None:
        """A sender's next turn; one that would fall into the still time comes at its end."""
        if self.still_from_us <= at < self.still_to_us:
            at = self.still_to_us
        self._kernel.schedule(at, _Turn(self, site))

    def _first_wait_us(self, site: SiteId) -> int:
        return self._wait_us(site) if self.mean_us > 0.0 else 0

    def _wait_us(self, site: SiteId) -> int:
        if self.mean_us > 0.0:
            return int(self._sender_rng[site].exponential(self.mean_us))
        return self.every_us

    def _payload(self, rng: Rng) -> bytes:
        """The broadcast's number, filled up with zero bytes to a drawn size (cut where the size is smaller)."""
        text = str(self._number).encode()
        self._number += 1
        size = self.size_min
        if self.size_max > size:
            size = rng.between(size, self.size_max)
        return text[:size] + bytes(max(0, size - len(text)))


class _Turn(Event):
    def __init__(self, workload: Workload, site: SiteId) -> None:
        self.workload = workload
        self.site = site

    def fire(self, now: Micros) -> None:
        self.workload.on_turn(now, self.site)
