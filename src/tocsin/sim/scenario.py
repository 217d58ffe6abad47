"""From a scenario to a run: names become numbers, and what spans several keys is checked."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config, suggestion
from tocsin.core.errors import InputError
from tocsin.core.files import read_document
from tocsin.core.generators_config import GeneratedTopology, generate, generated_from_document
from tocsin.core.message import Options
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology, refuse_bad_name
from tocsin.core.topology_config import topology_from_document
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import find_protocol
from tocsin.sim import faults as fault_kinds
from tocsin.sim.clock import Clock
from tocsin.sim.conditions import Conditions, Constant, Delay, Exponential, LongTail, Uniform
from tocsin.sim.faults import Fault
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier
from tocsin.sim.networks.lan import Lan
from tocsin.sim.networks.lossy import Lossy
from tocsin.sim.networks.mesh import Mesh
from tocsin.sim.networks.switched import Switched
from tocsin.sim.scenario_config import DelayConfig, FaultConfig, NetworkConfig, ScenarioConfig, WorkloadConfig
from tocsin.sim.simulation import Simulation
from tocsin.sim.workload import Workload
from tocsin.sim.world import TraceSink, World

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Scenario:
    """A checked scenario: every name is known, every combination makes sense."""

    def __init__(self, config: ScenarioConfig, source: str, folder: Path, protocol: Protocol | None = None) -> None:
        self.config = config
        self.source = source  # for errors
        self.protocol = protocol if protocol is not None else find_protocol(config.protocol, source)
        self.options: Options = decode_config(dict(config.options), self.protocol.options, f"{source}: `options`")
        self.topology: Topology | None = None
        self._generated: GeneratedTopology | None = None  # made anew from the run's seed
        self._folder = folder
        self._read_topology()
        self.names = self._site_names()
        self._number = {name: site for site, name in enumerate(self.names)}
        self.group_names, self.groups = self._read_groups()
        self.faults = [fault for entry in config.faults for fault in self._faults(entry)]
        self.absent = self._read_absent()  # sites that start later
        self._check()

    # Names

    def _read_topology(self) -> None:
        given = self.config.topology
        if isinstance(given, str):
            path = self._folder / given
            self.topology = topology_from_document(read_document(path), str(path))
        elif given is not None:
            self._generated = generated_from_document(given, f"{self.source}: `topology`")
            try:
                self.topology = generate(self._generated, Rng(0))
            except InputError as error:
                raise InputError(f"{self.source}: `topology`: {error}") from None

    def _site_names(self) -> list[str]:
        sites = self.config.sites
        if self.topology is not None:
            if sites is not None:
                raise InputError(f"{self.source}: `sites`: expected either `sites` or `topology`, found both")
            return [self.topology.node_names[node] for node in self.topology.hosts()]
        if sites is None:
            raise InputError(f"{self.source}: `sites`: expected a number, a list of names, or a `topology`")
        if isinstance(sites, int):
            return list(LETTERS[:sites]) if sites <= len(LETTERS) else [f"s{number}" for number in range(sites)]
        for name in sites:
            try:
                refuse_bad_name(name)
            except InputError as error:
                raise InputError(f"{self.source}: `sites`: {error}") from None
        if len(set(sites)) != len(sites):
            raise InputError(f"{self.source}: `sites`: expected unique names, found one twice")
        return list(sites)

    def _sites(self, names: list[str], key: str) -> list[int]:
        found: list[int] = []
        for name in names:
            site = self._number.get(name)
            if site is None:
                raise InputError(f"{self.source}: `{key}`: unknown site `{name}`{suggestion(name, self.names[:200])}")
            if site in found:
                raise InputError(f"{self.source}: `{key}`: expected each site once, found `{name}` twice")
            found.append(site)
        return found

    def _read_groups(self) -> tuple[list[str], list[list[int]]]:
        config = self.config.groups
        if config is None:
            return ["all"], [list(range(len(self.names)))]
        if not config:
            raise InputError(f"{self.source}: `groups`: expected at least one group, found none")
        groups: list[list[int]] = []
        for name, members in config.items():
            key = f"groups.{name}"
            if isinstance(members, str):
                if members != "*":
                    raise InputError(f'{self.source}: `{key}`: expected a list of sites or "*", found `{members}`')
                groups.append(list(range(len(self.names))))
            elif not members:
                raise InputError(f"{self.source}: `{key}`: expected at least one site, found none")
            else:
                groups.append(sorted(self._sites(members, key)))
        return list(config), groups

    def _group(self, name: str, key: str) -> int:
        if name not in self.group_names:
            raise InputError(f"{self.source}: `{key}`: unknown group `{name}`{suggestion(name, self.group_names)}")
        return self.group_names.index(name)

    # Faults

    def _faults(self, entry: FaultConfig) -> list[Fault]:
        """The faults of one `[[faults]]`: exactly one thing happens in it."""
        index = self.config.faults.index(entry)
        said = entry.things()
        if len(said) != 1:
            found = ", ".join(said) if said else "nothing"
            raise InputError(f"{self.source}: `faults[{index}]`: expected one thing to happen, found {found}")
        key = f"faults[{index}].{said[0]}"
        value = getattr(entry, said[0])
        if entry.by is not None and said[0] not in ("change", "add", "remove"):
            raise InputError(f"{self.source}: `faults[{index}].by`: expected it beside `change`, found `{said[0]}`")
        asked = fault_kinds.FIRST_UP if entry.by is None else self._sites([entry.by], f"faults[{index}].by")[0]
        match said[0]:
            case "partition":
                fault = Fault(entry.at_us, fault_kinds.PARTITION)
                fault.parts = [self._sites(part, key) for part in value]
                named = [site for part in fault.parts for site in part]
                if len(set(named)) != len(named):
                    raise InputError(f"{self.source}: `{key}`: expected each site on one side, found one on two")
                return [fault]
            case "cut" | "dead":
                fault = Fault(entry.at_us, said[0])
                for pair in value:
                    source, target = self._sites(pair, key)
                    fault.pairs.append((source, target))
                return [fault]
            case "heal" | "calm":
                return [Fault(entry.at_us, said[0])]
            case "restart":
                sites = list(range(len(self.names))) if value == "*" else self._sites(value, key)
                both = [Fault(entry.at_us, fault_kinds.CRASH), Fault(entry.at_us, fault_kinds.RECOVER)]
                for fault in both:
                    fault.sites = list(sites)
                both[0].counted_as = ""
                both[1].counted_as = fault_kinds.RESTART
                return both
            case "fail" | "repair":
                fault = Fault(entry.at_us, said[0])
                fault.links = [self._link(name, key) for name in value]
                return [fault]
            case "change":
                changes = [self._change(entry.at_us, group, members, key) for group, members in value.items()]
                for fault in changes:
                    fault.asked = asked
                return changes
            case "add" | "remove":
                self._refuse_fixed_voters(key)
                fault = Fault(entry.at_us, said[0])
                fault.sites = self._sites(value, key)
                fault.asked = asked
                return [fault]
            case "jump":
                return [self._jump(entry.at_us, site, by_us, key) for site, by_us in value.items()]
            case _:
                fault = Fault(entry.at_us, said[0])
                fault.sites = self._sites(value, key)
                return [fault]

    def _link(self, name: str, key: str) -> int:
        if self.topology is None:
            raise InputError(f"{self.source}: `{key}`: expected a `topology` with links, found none")
        try:
            return self.topology.link(name)
        except InputError as error:
            raise InputError(f"{self.source}: `{key}`: {error}") from None

    def _change(self, at_us: int, group: str, members: list[str], key: str) -> Fault:
        if not self.protocol.assumptions.group_changes:
            raise InputError(f"{self.source}: `{key}`: `{self.protocol.name}` has fixed groups")
        fault = Fault(at_us, fault_kinds.CHANGE)
        if group not in self.group_names:
            self.group_names.append(group)
        fault.group = self.group_names.index(group)
        fault.sites = self._sites(members, f"{key}.{group}")
        return fault

    def _refuse_fixed_voters(self, key: str) -> None:
        if not self.protocol.assumptions.voter_changes:
            raise InputError(
                f"{self.source}: `{key}`: outside the assumptions of `{self.protocol.name}`: its voters are fixed"
            )

    def _jump(self, at_us: int, site: str, by_us: int, key: str) -> Fault:
        fault = Fault(at_us, fault_kinds.JUMP)
        fault.sites = self._sites([site], key)
        fault.by_us = by_us
        return fault

    def _read_absent(self) -> list[int]:
        """The sites that start later: those that join, and where voters change, those that are no founders."""
        absent = {site for fault in self.faults if fault.what == fault_kinds.JOIN for site in fault.sites}
        added = {site for fault in self.faults if fault.what == fault_kinds.ADD for site in fault.sites}
        if self.config.founders is None:
            return sorted(absent | added)
        self._refuse_fixed_voters("founders")
        founders = self._sites(self.config.founders, "founders")
        later = [site for site in range(len(self.names)) if site not in founders]
        for site in founders:
            if site in absent:
                raise InputError(
                    f"{self.source}: `founders`: expected who joins later not to be one, found `{self.names[site]}`"
                )
        return later

    # What spans several keys

    def _check(self) -> None:
        config = self.config
        network = config.network
        if network.model in ("switched", "lossy") and self.topology is None:
            raise InputError(f"{self.source}: `network.model`: `{network.model}` needs a `topology`, found none")
        if network.model == "lossy" and self.topology is not None and len(self.names) != self.topology.node_count():
            raise InputError(f"{self.source}: `network.model`: `lossy` has no switches; take `switched`")
        delay = network.delay_us
        if isinstance(delay, list) and delay[0] > delay[1]:
            raise InputError(f"{self.source}: `network.delay_us`: expected [least, most], found {delay}")
        if isinstance(network.receive_us, dict):
            self._sites(list(network.receive_us), "network.receive_us")
        self._sites(list(config.clocks), "clocks")
        self._check_restores()
        self._check_workload(config.workload)
        if len(self.names) < self.protocol.assumptions.sites_min:
            raise InputError(
                f"{self.source}: `sites`: `{self.protocol.name}` needs at least "
                f"{self.protocol.assumptions.sites_min}, found {len(self.names)}"
            )

    def _check_restores(self) -> None:
        """Only what was saved before can be restored."""
        saved: set[int] = set()
        for fault in sorted(self.faults, key=lambda fault: fault.at):  # those of one instant happen as they are listed
            if fault.what == fault_kinds.SAVE:
                saved.update(fault.sites)
            elif fault.what == fault_kinds.RESTORE:
                for site in fault.sites:
                    if site not in saved:
                        raise InputError(
                            f"{self.source}: `faults`: expected a `save` of `{self.names[site]}` before its `restore` "
                            f"at {fault.at} us, found none"
                        )

    def _check_workload(self, workload: WorkloadConfig) -> None:
        ways = [way for way in ("rate_per_site", "every_us", "outstanding") if getattr(workload, way) is not None]
        if len(ways) > 1 or (not ways and workload.messages > 0):
            raise InputError(
                f"{self.source}: `workload`: expected one of rate_per_site, every_us, outstanding, "
                f"found {' and '.join(ways) if ways else 'none'}"
            )
        still = workload.still_us
        if still is not None and still[0] > still[1]:
            raise InputError(f"{self.source}: `workload.still_us`: expected [from, to], found {still}")
        size = workload.size
        if isinstance(size, list) and size[0] > size[1]:
            raise InputError(f"{self.source}: `workload.size`: expected [least, most], found {size}")
        if workload.senders is not None:
            self._sites(workload.senders, "workload.senders")
        for group in workload.groups or []:
            self._group(group, "workload.groups")

    def promised(self) -> tuple[str, ...]:
        """What every run of it must keep."""
        is_one_group = len(self.groups) == 1 and len(self.groups[0]) == len(self.names)
        return self.protocol.promised(1 if is_one_group else max(2, len(self.groups)))

    # Building

    def build(self, seed: int, trace: TraceSink | None, codec_on_the_way: bool = False) -> Simulation:
        """A run of this scenario, ready to start."""
        rng = Rng(seed)
        kernel = Kernel()
        topology = generate(self._generated, rng.fork("topology")) if self._generated is not None else self.topology
        world = World(kernel, self.names, self.group_names, [list(members) for members in self.groups])
        world.record(trace)
        if any(fault.what == fault_kinds.CHANGE for fault in self.faults):
            world.expect_changes()
        if trace is not None or codec_on_the_way:
            world.codec = self.protocol.codec()
        world.add_sites(rng)
        simulation = Simulation(self.protocol, self.options, world, kernel, rng, topology)
        simulation.set_network(self._network(world, kernel, rng.fork("network"), topology))
        self._configure_sites(world)
        if self.config.network.detect_us is not None:
            simulation.detect_us = self.config.network.detect_us
        simulation.workload = self._workload(world, kernel, rng.fork("workload"))
        simulation.absent = list(self.absent)
        for fault in self.faults:
            simulation.add_fault(fault)
        return simulation

    def _network(self, world: World, kernel: Kernel, rng: Rng, topology: Topology | None) -> Network:
        config = self.config.network
        conditions = Conditions(len(self.names), delay_from_config(config), rng)
        conditions.loss = config.loss
        conditions.duplicate = config.duplicate
        conditions.reorder = config.reorder
        conditions.reorder_us = config.reorder_us
        carrier = Carrier(kernel, world, world.sites, conditions)
        if config.model == "mesh":
            return Mesh(carrier, len(self.names), config.process_us)
        if config.model == "lan":
            return Lan(carrier, config.medium_us)
        assert topology is not None
        if config.model == "switched":
            return Switched(carrier, topology)
        return Lossy(carrier, topology)

    def _configure_sites(self, world: World) -> None:
        config = self.config.network
        own_clocks = bool(self.config.clocks) or any(fault.what == fault_kinds.JUMP for fault in self.faults)
        for site, name in zip(world.sites, self.names, strict=True):
            site.sync_us = self.config.disk.sync_us
            site.receive_buffer = config.receive_buffer
            given = config.receive_us
            site.receive_us = given.get(name, 0) if isinstance(given, dict) else given
            if own_clocks:
                site.clock = Clock(self.config.clocks.get(name, 0))

    def _workload(self, world: World, kernel: Kernel, rng: Rng) -> Workload:
        config = self.config.workload
        senders = list(range(len(self.names)))
        if config.senders is not None:
            senders = sorted(self._sites(config.senders, "workload.senders"))
        workload = Workload(world, kernel, senders, config.messages, rng)
        workload.mean_us = 1e6 / config.rate_per_site if config.rate_per_site is not None else 0.0
        workload.every_us = config.every_us or 0
        workload.outstanding = config.outstanding or 0
        workload.burst = config.burst
        workload.inside = config.inside
        workload.start_us = config.start_us
        if config.still_us is not None:
            workload.still_from_us, workload.still_to_us = config.still_us
        size = config.size
        workload.size_min, workload.size_max = (size, size) if isinstance(size, int) else (size[0], size[1])
        if config.groups is not None:
            workload.groups = [self._group(group, "workload.groups") for group in config.groups]
        else:
            workload.groups = list(range(len(self.groups)))
        world.on_own_delivery = workload
        return workload


def delay_from_config(config: NetworkConfig) -> Delay:
    given = config.delay_us
    if isinstance(given, int):
        return Constant(given)
    if isinstance(given, DelayConfig):
        return Exponential(given.low_us, given.mean_us) if given.shape == "exponential" else LongTail(given.low_us)
    return Uniform(given[0], given[1])


def scenario_from_document(document: dict[str, Any], source: str, folder: Path) -> Scenario:
    """The scenario that a document describes; `source` names the file in errors."""
    return Scenario(decode_config(document, ScenarioConfig, source), source, folder)


def load_scenario(path: Path) -> Scenario:
    return scenario_from_document(read_document(path), str(path), path.parent)
