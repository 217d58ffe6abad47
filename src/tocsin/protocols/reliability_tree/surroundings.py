"""Where a process stands: its neighbours, and the map of the network, as it is given or believed to be."""

from tocsin.core.machine import SiteId
from tocsin.core.topology import Topology
from tocsin.protocols.reliability_tree.beliefs import are_alike, deviation, most_believed
from tocsin.protocols.reliability_tree.direct import Direct
from tocsin.protocols.reliability_tree.knowledge import Knowledge
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


def believed_map(
    site: SiteId, sites: int, knowledge: Knowledge, neighbours: list[Direct], caution: float
) -> NetworkMap:
    """The network as a process believes it to be. Two ways of a link that look alike are taken for one link of equal
    loss, as the paper's are: twice the evidence. Where they do not, each counts by itself."""
    known = NetworkMap(sites)
    processes, up, down = knowledge.processes()
    for place in range(len(processes)):
        known.down[processes[place]] = most_believed(up[place], down[place])
    beside = {direct.site for direct in neighbours if direct.way_to()[0] > 0}
    ways: dict[tuple[SiteId, SiteId], tuple[int, int]] = {}  # from whom, to whom: successes, failures
    senders, receivers, successes, failures = knowledge.links()
    for place in range(len(senders)):
        sender, receiver = senders[place], receivers[place]
        if not (sender == site and receiver in beside) and not (receiver == site and sender in beside):
            ways[(sender, receiver)] = (successes[place], failures[place])
    for direct in neighbours:  # of our own links nobody has newer word than both ends
        if direct.site in beside:
            ways[(site, direct.site)] = direct.way_to()
        if direct.works():  # else the way to it counts as what was seen of this one, which is not counted twice
            ways[(direct.site, site)] = (direct.evidence.successes, direct.failures())
    for (sender, receiver), (good, bad) in ways.items():
        back = ways.get((receiver, sender))
        if back is not None and are_alike(good, bad, back[0], back[1]):
            good, bad = good + back[0], bad + back[1]
        known.add_way(sender, receiver, most_believed(good, bad) + caution * deviation(good, bad))
    return known


def members_of(groups: list[list[SiteId]]) -> list[SiteId]:
    """The sites that are in any group, sorted."""
    return groups[0] if len(groups) == 1 else sorted({member for members in groups for member in members})
