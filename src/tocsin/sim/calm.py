"""What a simulated run knows about its own end: since when nothing has gone wrong, and who is down or cut off for good.
`settled` is judged by it (docs/guarantees.md, section 7)."""

from typing import Final

from tocsin.protocols.protocol import Assumptions
from tocsin.sim.networks.base import Network
from tocsin.sim.scenario import Scenario
from tocsin.sim.simulation import Simulation
from tocsin.traces.calm import Calm

SITES_MAX: Final = 500  # of a divided network whose connections are looked at: each with each


def calm_at_end(scenario: Scenario, simulation: Simulation) -> Calm | None:
    """None if the group need not settle: the network goes on losing messages and not all is quiet, or more sites are
    away for good than the protocol stands."""
    now = simulation.kernel.now
    is_quiet = _is_quiet(simulation)
    away = _away(simulation)
    if away is None or not _is_assumed(len(away), len(scenario.names), scenario.protocol.assumptions):
        return None
    since_us = max((fault.at for fault in scenario.faults if fault.at <= now), default=0)
    if _has_weather(simulation):
        if not is_quiet:
            return None
        since_us = now
    bound_us = scenario.protocol.liveness_us
    due_us = None if is_quiet else max(now, scenario.config.duration_us) - bound_us
    down = frozenset(scenario.names[site] for site in away)
    return Calm(since_us, bound_us, down, due_us, scenario.protocol.parts_alone)


def _is_quiet(simulation: Simulation) -> bool:
    workload = simulation.workload
    is_done = simulation.faults_left == 0 and (workload is None or workload.remaining == 0)
    return is_done and simulation.world.all_quiet()


def _is_assumed(away: int, sites: int, assume: Assumptions) -> bool:
    if assume.crashes == "none" or (assume.crashes_recover and not assume.minority_stays_down):
        return away == 0
    if assume.crashes == "minority" or assume.crashes_recover:
        return 2 * away < sites
    return True


def _has_weather(simulation: Simulation) -> bool:
    """Whether messages are lost, doubled or held up at random to the end."""
    network = simulation.world.network
    assert network is not None
    conditions = network.carrier.conditions
    if conditions.loss > 0.0 or conditions.duplicate > 0.0 or conditions.reorder > 0.0 or conditions.slow:
        return True
    topology = network.links.topology if network.links is not None else None
    return topology is not None and (any(topology.link_loss) or any(topology.crash))


def _away(simulation: Simulation) -> set[int] | None:
    """Who is down, stopped, or cut off from most: a site is connected to those that it reaches, directly or through
    others, and that reach it. None: too many to look at."""
    network = simulation.world.network
    assert network is not None
    sites = simulation.world.sites
    live = [host.site for host in sites if host.machine is not None and not host.paused]
    away = {host.site for host in sites if host.machine is None or host.paused}
    if not network.carrier.conditions.divided and (network.links is None or network.links.changes == 0):
        return away
    if len(sites) > SITES_MAX:
        return None
    ahead = {site: _direct(network, site, live) for site in live}
    behind: dict[int, list[int]] = {site: [] for site in live}
    for site, targets in ahead.items():
        for target in targets:
            behind[target].append(site)
    largest: set[int] = set()
    seen: set[int] = set()
    for site in live:
        if site not in seen:
            together = _reached(ahead, site) & _reached(behind, site)
            seen |= together
            largest = together if len(together) > len(largest) else largest
    if len(largest) < len(live) and 2 * len(largest) <= len(sites):
        largest = set()  # nobody may go on
    return away | (set(live) - largest)


def _direct(network: Network, site: int, live: list[int]) -> list[int]:
    """Those of some sites to whom messages of one pass."""
    connected = network.carrier.conditions.connected
    nodes = _nodes_at(network, site)
    hosts = network.links.topology.hosts() if network.links is not None else []
    return [other for other in live if connected(site, other) and (not nodes or hosts[other] in nodes)]


def _nodes_at(network: Network, site: int) -> set[int]:
    """The nodes that a site reaches over links that work, past switches but not past other sites; none where there are
    no links."""
    links = network.links
    if links is None:
        return set()
    topology = links.topology
    start = topology.hosts()[site]
    found = {start}
    edge = [start]
    while edge:
        node = edge.pop()
        if node != start and not topology.is_switch(node):
            continue
        for link in topology.links_at(node):
            other = topology.other_end(link, node)
            if links.works(link) and other not in found:
                found.add(other)
                edge.append(other)
    return found


def _reached(ahead: dict[int, list[int]], start: int) -> set[int]:
    found = {start}
    edge = [start]
    while edge:
        for other in ahead[edge.pop()]:
            if other not in found:
                found.add(other)
                edge.append(other)
    return found
