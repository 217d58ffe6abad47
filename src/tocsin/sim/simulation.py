"""One run: a protocol at every site of a world, a workload, faults, and an end.

The run ends at its time limit, or earlier when the workload is done, no fault is still to come, and the group is quiet:
every site that is up has delivered what it is owed and no machine has anything outstanding.
"""

from typing import Final

from tocsin.core.machine import FIRST_INCARNATION, GroupId, Micros, Setup, SiteId
from tocsin.core.message import Options
from tocsin.core.rng import Rng
from tocsin.core.signals import look_for_signals
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Protocol
from tocsin.sim import faults
from tocsin.sim.faults import Fault
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.workload import Workload
from tocsin.sim.world import World

NO_DETECTOR: Final = -1
LOOK_AGAIN_US: Final = 10_000  # between two looks of a site that begins anew for others who know of it
BUSY_EVENTS: Final = 256  # events between two looks at whether all is quiet, while it cannot be


class _FaultHappens(Event):
    def __init__(self, simulation: "Simulation", fault: Fault) -> None:
        self.simulation = simulation
        self.fault = fault

    def fire(self, now: Micros) -> None:
        self.simulation.apply(now, self.fault)
        self.simulation.last_fault_at = now
        self.simulation.faults_left -= 1
        self.simulation.kernel.interrupted = self.simulation.faults_left == 0


class _LooksAgain(Event):
    """A site that is to begin anew looks again for others who know of it."""

    def __init__(self, simulation: "Simulation", site: SiteId) -> None:
        self.simulation = simulation
        self.site = site

    def fire(self, now: Micros) -> None:
        if self.site in self.simulation.looking:
            self.simulation.looking.remove(self.site)
            self.simulation.recover(now, self.site)


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
        self.last_fault_at: Micros = 0
        self.detect_us = NO_DETECTOR  # delay of the perfect detector
        self.absent: list[SiteId] = []  # sites that start later, by `join` or `add`
        self.looking: set[SiteId] = set()  # sites that will begin anew when they find others who know of them
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
        self.kernel.schedule(fault.at, _FaultHappens(self, fault))

    def start(self) -> None:
        """Bring up the founding members and start the workload."""
        for site in range(len(self.world.names)):
            if site not in self.absent:
                self._start_site(0, site)
                look_for_signals()
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
            host.disk.incarnation,
            host.disk.life + 1,
            host.disks.first_seqno,
        )
        host.start(now, self.protocol.make(setup, host.outbox))

    def _has_witnesses(self, site: SiteId) -> bool:
        """Whether so many others are up and connected that one of them has kept its disk, if a minority lost theirs."""
        assert self.world.network is not None
        conditions = self.world.network.carrier.conditions
        found = 0
        for host in self.world.sites:
            other = host.site
            if other != site and host.machine is not None and not host.paused:
                apart = conditions.divided and not (
                    conditions.connected(site, other) and conditions.connected(other, site)
                )
                found += 0 if apart else 1
        return found >= max(1, (len(self.world.sites) - 1) // 2)

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
        if self.looking or not self.world.all_quiet():
            return False
        # a member that was left out may have nothing to do and yet come back: it has the protocol's bound for that
        return self.kernel.now >= self.last_fault_at + self.protocol.liveness_us or self.world.all_together()

    # Faults

    def apply(self, now: Micros, fault: Fault) -> None:
        """Let a fault happen and count it; what makes no sense now (a crash of a site that is down) changes nothing."""
        what = fault.what
        if what in (faults.PARTITION, faults.CUT, faults.DEAD, faults.HEAL, faults.CALM):
            count = self._change_weather(fault)
        elif what == faults.FAIL or what == faults.REPAIR:
            count = self._change_links(fault)
        elif what == faults.CHANGE:
            count = 1 if self.change_group(now, fault.asked, fault.group, fault.sites) else 0
        elif what == faults.ADD or what == faults.REMOVE:
            count = self._change_voters(now, fault)
        elif what == faults.JUMP:
            count = self._jump(now, fault)
        else:
            count = 0
            for site in fault.sites:
                if self._happens_to(now, what, site):
                    count += 1
        if fault.counted_as:
            self.world.tally.count_fault(fault.counted_as, count)

    def _change_weather(self, fault: Fault) -> int:
        """How many things happened: links that were cut, else one."""
        assert self.world.network is not None
        conditions = self.world.network.carrier.conditions
        what = fault.what
        if what == faults.PARTITION:
            self.world.tally.partitions += 1
            conditions.partition(fault.parts)
        elif what == faults.HEAL:
            conditions.heal()
        elif what == faults.CALM:
            conditions.calm()
        else:
            self.world.tally.partitions += 1
            for source, target in fault.pairs:
                if what == faults.DEAD:
                    conditions.kill(source, target)
                else:
                    conditions.cut(source, target)
            return len(fault.pairs)
        return 1

    def _change_links(self, fault: Fault) -> int:
        """How many links failed or were repaired."""
        assert self.world.network is not None
        links = self.world.network.links
        if links is None:
            return 0
        for link in fault.links:
            if fault.what == faults.FAIL:
                links.fail(link)
            else:
                links.repair(link)
        return len(fault.links)

    def _happens_to(self, now: Micros, what: str, site: SiteId) -> bool:
        """Let a fault of one site happen; whether it did."""
        host = self.world.sites[site]
        if what == faults.CRASH or what == faults.TEAR:
            return self.crash(now, site, what == faults.TEAR)
        if what == faults.RECOVER or what == faults.JOIN:
            return self.recover(now, site)
        if what == faults.PAUSE:
            return self.pause(site)
        if what == faults.RESUME:
            return self.resume(now, site)
        if what == faults.LEAVE:
            is_up = host.machine is not None
            if is_up:
                self.world.on_leave(now, site)
            host.leave(now)
            return is_up
        if what == faults.SLOW or what == faults.QUICK:
            return self._slow(site, what == faults.SLOW)
        if what == faults.SAVE:
            host.save_disk()
        else:
            self._exchange_disk(now, what, site)
        return True

    def crash(self, now: Micros, site: SiteId, torn: bool = False) -> bool:
        host = self.world.sites[site]
        self.looking.discard(site)
        if host.machine is None:
            return False
        host.crash(now, torn)
        self.world.on_crash(now, site)
        if self.detect_us >= 0:
            self.kernel.schedule(now + self.detect_us, _Detected(self, site, False, host.life))
        return True

    def recover(self, now: Micros, site: SiteId) -> bool:
        """Start a site that is down; one that begins anew asks others first which numbers it may use."""
        host = self.world.sites[site]
        if host.machine is not None or site in self.looking:
            return False
        if host.disk.incarnation > FIRST_INCARNATION and host.disk.life == 0:
            if not self._has_witnesses(site):
                self.looking.add(site)
                self.kernel.schedule(now + LOOK_AGAIN_US, _LooksAgain(self, site))
                return True
            self.world.on_renewed(site, host.disk.incarnation)
        if host.life > 0:
            self.world.on_recover(now, site)
        self._start_site(now, site)
        if self.detect_us >= 0:
            self.kernel.schedule(now + self.detect_us, _Detected(self, site, True, host.life))
        return True

    def _exchange_disk(self, now: Micros, what: str, site: SiteId) -> None:
        """The site is down, or goes down, and its disk is an empty, a damaged or an older one."""
        self.crash(now, site)
        host = self.world.sites[site]
        before = host.disk
        if what == faults.RESTORE:
            host.restore_disk()
        else:
            assert what == faults.WIPE or what == faults.DAMAGE, what
            host.empty_disk(what == faults.DAMAGE)
        self.world.on_disk_exchanged(site, before, host.disk)

    def pause(self, site: SiteId) -> bool:
        host = self.world.sites[site]
        if host.machine is None or host.paused:
            return False
        host.paused = True
        self.world.tally.pauses += 1
        return True

    def resume(self, now: Micros, site: SiteId) -> bool:
        host = self.world.sites[site]
        if not host.paused:
            return False
        host.resume(now)
        return True

    def _slow(self, site: SiteId, slow: bool) -> bool:
        """Let a site receive a tenth of what is sent to it, or all again; whether that is new."""
        assert self.world.network is not None
        those = self.world.network.carrier.conditions.slow
        if (site in those) == slow:
            return False
        if slow:
            those.add(site)
        else:
            those.remove(site)
        return True

    def _jump(self, now: Micros, fault: Fault) -> int:
        """Let clocks jump; how many did. None goes back while its site is up: they are monotonic."""
        count = 0
        for site in fault.sites:
            host = self.world.sites[site]
            if fault.by_us > 0 or host.machine is None:
                host.jump_clock(now, fault.by_us)
                count += 1
        return count

    def _who_is_asked(self, asked: SiteId) -> SiteId:
        """The site that is asked, or the first that is up, if it is up; else FIRST_UP."""
        if asked == faults.FIRST_UP:
            for host in self.world.sites:
                if host.machine is not None:
                    return host.site
        elif self.world.sites[asked].machine is not None:
            return asked
        return faults.FIRST_UP

    def _change_voters(self, now: Micros, fault: Fault) -> int:
        """Ask for voters to be added, or removed; how many were asked for. A site that is added is started."""
        add = fault.what == faults.ADD
        count = 0
        for site in fault.sites:
            asked = self._who_is_asked(fault.asked)
            if asked != faults.FIRST_UP:
                if add:
                    self.recover(now, site)
                self.world.sites[asked].change_voters(now, site, add)
                count += 1
        return count

    def change_group(self, now: Micros, asked: SiteId, group: GroupId, members: list[SiteId]) -> bool:
        """Ask a site, or the first that is up, for new members (none: the group is disbanded); whether there was one to
        ask. Broadcasts from now on are owed to the new members."""
        asked = self._who_is_asked(asked)
        if asked == faults.FIRST_UP:
            return False
        while len(self.world.groups) <= group:
            self.world.groups.append([])
        self.world.groups[group] = sorted(members)
        self.world.sites[asked].change_group(now, group, sorted(members))
        return True

    def tell_peers(self, now: Micros, site: SiteId, up: bool) -> None:
        for host in self.world.sites:
            if host.site != site:
                host.on_peer(now, site, up)

    def tell_newcomer(self, now: Micros, site: SiteId) -> None:
        """A site that has come back asks the perfect detector who is down."""
        for host in self.world.sites:
            if host.machine is None:
                self.world.sites[site].on_peer(now, host.site, False)
