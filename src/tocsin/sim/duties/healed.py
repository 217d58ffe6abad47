"""Whether a run has healed: what is in the way of what a protocol owes (see `ending.py`)."""

from tocsin.core.machine import SiteId
from tocsin.sim.conditions import Conditions
from tocsin.sim.simulation import Simulation


def hindrance(simulation: Simulation) -> str:
    """What makes a run slow, so that no bound holds; "" if nothing does. Once all is quiet it matters no more."""
    network = simulation.world.network
    assert network is not None
    weather = network.carrier.conditions
    if weather.loss > 0.0 or weather.reorder > 0.0 or weather.duplicate > 0.0 or weather.slow:
        return "the network still loses, repeats or reorders messages"
    if any(host.receive_us > 0 for host in simulation.world.sites):
        return "sites take time for each message, and nothing bounds their backlog"
    return ""


def obstacle(simulation: Simulation) -> str:
    """Why the run has not healed; "" if it has."""
    network = simulation.world.network
    assert network is not None
    assume = simulation.protocol.assumptions
    if simulation.faults_left > 0:
        return "faults are still to come"
    weather = network.carrier.conditions
    links = network.links
    if links is not None and not all(links.works(link) for link in range(links.topology.link_count())):
        return "links have failed and were not repaired"
    up = [host.site for host in simulation.world.sites if host.machine is not None]
    if any(host.paused for host in simulation.world.sites):
        return "a process is still paused"
    if weather.divided and not _reach(weather, up, assume.dead_links):
        return "not everyone who is up reaches everyone who is up"
    return _absence(simulation, up)


def _absence(simulation: Simulation, up: list[SiteId]) -> str:
    """Who is down, and the protocol waits for it; "" if it waits for nobody."""
    assume = simulation.protocol.assumptions
    world = simulation.world
    sites = len(world.sites)
    for group in range(len(world.groups)):
        members = world.groups[group]
        if members and not any(site in up and not world.sites[site].left for site in members):
            return f"no member of {world.group_names[group]} is there"
    down = [host.site for host in world.sites if host.machine is None and host.life > 0]
    if not up:
        return "nobody is up"
    if not down or (assume.crashes != "none" and not assume.crashes_recover):
        return ""
    if assume.minority_stays_down and 2 * len(down) < sites:
        return ""
    return "sites are down that the protocol waits for"


def _reach(weather: Conditions, up: list[SiteId], through_others: bool) -> bool:
    """Whether everyone reaches everyone, directly or through others."""
    if not through_others:
        return all(weather.connected(source, target) for source in up for target in up)
    return _all_reached(weather, up, True) and _all_reached(weather, up, False)


def _all_reached(weather: Conditions, up: list[SiteId], forward: bool) -> bool:
    """Whether the first reaches all others (backward: all others reach it)."""
    reached = set(up[:1])
    waiting = list(up[:1])
    while waiting:
        here = waiting.pop()
        for there in up:
            passes = weather.connected(here, there) if forward else weather.connected(there, here)
            if passes and there not in reached:
                reached.add(there)
                waiting.append(there)
    return len(reached) == len(up)
