"""Where a process stands: its neighbours, and the map of a network whose probabilities are given."""

from tocsin.core.machine import SiteId
from tocsin.core.topology import Topology
from tocsin.protocols.reliability_tree.plans import NetworkMap


def is_map_of(topology: Topology | None, sites: int) -> bool:
    """Whether the nodes of the topology are the sites; with switches between them (or without a topology) everybody
    reaches everybody."""
    return topology is not None and topology.node_count() == sites


def neighbours_of(site: SiteId, sites: int, topology: Topology | None) -> list[SiteId]:
    """The sites that a link joins to this one, sorted."""
    if topology is not None and is_map_of(topology, sites):
        return sorted(set(topology.neighbours(site)))
    return [other for other in range(sites) if other != site]


def given_map(sites: int, topology: Topology | None, loss: float) -> NetworkMap:
    """The network as it is: the optimal algorithm's knowledge. Of twin links the better counts."""
    known = NetworkMap(sites)
    if topology is not None and is_map_of(topology, sites):
        known.crash = topology.crash.tolist()
        for link in range(topology.link_count()):
            known.add_link(topology.link_first[link], topology.link_second[link], topology.link_loss[link])
    else:
        for first in range(sites):
            for second in range(first + 1, sites):
                known.add_link(first, second, loss)
    return known


def count_members(groups: list[list[SiteId]]) -> int:
    """How many sites are in any group."""
    if len(groups) == 1:
        return len(groups[0])
    return len({member for members in groups for member in members})
