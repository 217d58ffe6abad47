"""One run: a protocol at every site of a world, a workload, faults, and an end.

The run ends at its time limit, or earlier when the workload is done, no fault is still to come, and the group is quiet:
every site that is up has delivered what it is owed and no machine has anything outstanding.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Setup, SiteId
from tocsin.core.message import Options
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Protocol
from tocsin.sim import faults
from tocsin.sim.faults import Fault
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.workload import Workload
from tocsin.sim.world import World

NO_DETECTOR: Final = -1
BUSY_EVENTS: Final = 256  # events between two looks at whether all is quiet, while it cannot be


class _FaultHappens(Event):
    def __init__(self, simulation: "Simulation", fault: Fault) -> None:
        self.simulation = simulation
        self.fault = fault

    def fire(self, now: Micros) -> None:
        self.simulation.apply(now, self.fault)
        self.simulation.faults_left -= 1
        self.simulation.kernel.interrupted = self.simulation.faults_left == 0


class _Detected(Event):
    """The perfect detector tells everybody of a crash or a recovery, unless it is history by now."""

    def __init__(self, simulation: "Simulation", site: SiteId, up: bool, life: int) -> None:
        self.simulation = simulation
        self.site = site
        self.up = up
        self.life = life

    def fire(self, now: Micros) -> None:
        if self.simulation.world.sites[self.site].life == self.life:
            self.simulation.tell_peers(now, self.site, self.up)
            if self.up:
                self.simulation.tell_newcomer(now, self.site)


class Simulation:
    """Builds the sites, applies faults, and runs in slices so that a person can watch and interrupt."""

    def __init__(
        self,
        protocol: Protocol,
        options: Options,
        world: World,
        kernel: Kernel,
        rng: Rng,
        topology: Topology | None,
    ) -> None:
        self.protocol = protocol
        self.world = world
        self.kernel = kernel
        self.workload: Workload | None = None
        self.faults_left = 0  # scheduled and not yet happened
        self.detect_us = NO_DETECTOR  # delay of the perfect detector
        self.absent: list[SiteId] = []  # sites that start later, by `join`
        self.stop_when_quiet = True
        self._options = options
        self._rng = rng
        self._topology = topology
        self._founders: list[SiteId] = []  # one list for all machines: there may be a hundred thousand
        self._groups = list(world.groups)  # as they were founded; a changed group is another list, never this one

    # Building

    def set_network(self, network: Network) -> None:
        self.world.network = network

    def add_fault(self, fault: Fault) -> None:
        self.faults_left += 1
        if fault.what == faults.JOIN:
            self.absent.extend(fault.sites)
        self.kernel.schedule(fault.at, _FaultHappens(self, fault))

    def start(self) -> None:
        """Bring up the founding members and start the workload."""
        for site in range(len(self.world.names)):
            if site not in self.absent:
                self._start_site(0, site)
        if self.workload is not None:
            self.workload.start()

    def _start_site(self, now: Micros, site: SiteId) -> None:
        host = self.world.sites[site]
        if not self._founders:
            self._founders = [other for other in range(len(self.world.names)) if other not in self.absent]
        setup = Setup(
            site,
            len(self.world.names),
            self._founders,
            self._groups,  # of changes a site that comes back hears from its disk, and from others
            self._options,
            self._rng.fork(f"site/{site}/{host.life}"),
            host.disk,
            self._topology,
        )
        host.start(now, self.protocol.make(setup, host.outbox))

    # Running

    def run(self, until: Micros, events_max: int) -> bool:
        """Run a slice; whether there is more to do before `until`."""
        kernel = self.kernel
        budget = events_max
        while budget > 0:
            step = min(budget, self._slice())
            more = kernel.run(until, step)
            budget -= step
            if not more:
                return False
            if self.stop_when_quiet and self._finished():
                return False
        return True

    def _slice(self) -> int:
        """Events until the next look at quietness: rarely while work is left, then as often as the look is cheap."""
        if self.faults_left > 0 or (self.workload is not None and self.workload.remaining > 0):
            return BUSY_EVENTS
        return max(1, len(self.world.sites) // 4)

    def _finished(self) -> bool:
        if self.faults_left > 0 or (self.workload is not None and self.workload.remaining > 0):
            return False
        return self.world.all_quiet()

    # Faults

    def apply(self, now: Micros, fault: Fault) -> None:
        """Let a fault happen; what makes no sense now (a crash of a site that is down) changes nothing."""
        what = fault.what
        network = self.world.network
        assert network is not None
        if what == faults.CRASH:
            for site in fault.sites:
                self.crash(now, site)
        elif what == faults.RECOVER or what == faults.JOIN:
            for site in fault.sites:
                self.recover(now, site)
        elif what == faults.PARTITION:
            self.world.tally.partitions += 1
            network.carrier.conditions.partition(fault.parts)
        elif what == faults.CUT:
            self.world.tally.partitions += 1
            for source, target in fault.pairs:
                network.carrier.conditions.cut(source, target)
        elif what == faults.HEAL:
            network.carrier.conditions.heal()
        elif what == faults.CALM:
            network.carrier.conditions.calm()
        elif what == faults.FAIL:
            if network.links is not None:
                for link in fault.links:
                    network.links.fail(link)
        elif what == faults.REPAIR:
            if network.links is not None:
                for link in fault.links:
                    network.links.repair(link)
        elif what == faults.PAUSE:
            for site in fault.sites:
                self.pause(site)
        elif what == faults.RESUME:
            for site in fault.sites:
                self.resume(now, site)
        elif what == faults.LEAVE:
            for site in fault.sites:
                self.world.sites[site].leave(now)
        elif what == faults.CHANGE:
            self.change_group(now, fault.asked, fault.group, fault.sites)

    def crash(self, now: Micros, site: SiteId) -> None:
        host = self.world.sites[site]
        if host.machine is None:
            return
        host.crash(now)
        self.world.on_crash(now, site)
        if self.detect_us >= 0:
            self.kernel.schedule(now + self.detect_us, _Detected(self, site, False, host.life))

    def recover(self, now: Micros, site: SiteId) -> None:
        host = self.world.sites[site]
        if host.machine is not None:
            return
        if host.life > 0:
            self.world.on_recover(now, site)
        self._start_site(now, site)
        if self.detect_us >= 0:
            self.kernel.schedule(now + self.detect_us, _Detected(self, site, True, host.life))

    def pause(self, site: SiteId) -> None:
        host = self.world.sites[site]
        if host.machine is not None and not host.paused:
            host.paused = True
            self.world.tally.pauses += 1

    def resume(self, now: Micros, site: SiteId) -> None:
        host = self.world.sites[site]
        if host.paused:
            host.resume(now)

    def change_group(self, now: Micros, asked: SiteId, group: GroupId, members: list[SiteId]) -> None:
        """Ask a site, or the first that is up, for new members; broadcasts from now on are owed to the new members."""
        if self.world.sites[asked].machine is None:
            up = [host.site for host in self.world.sites if host.machine is not None]
            if not up:
                return
            asked = up[0]
        while len(self.world.groups) <= group:
            self.world.groups.append([])
        self.world.groups[group] = sorted(members)
        self.world.sites[asked].change_group(now, group, sorted(members))

    def tell_peers(self, now: Micros, site: SiteId, up: bool) -> None:
        for host in self.world.sites:
            if host.site != site:
                host.on_peer(now, site, up)

    def tell_newcomer(self, now: Micros, site: SiteId) -> None:
        """A site that has come back asks the perfect detector who is down."""
        for host in self.world.sites:
            if host.machine is None:
                self.world.sites[site].on_peer(now, host.site, False)
