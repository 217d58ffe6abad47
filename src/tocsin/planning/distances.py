"""Communication distances between all hosts: sums of link costs along shortest paths (Garcia-Molina, Kogan, 5.1).

Dijkstra's algorithm is rustworkx's. A host that hangs on one link is left out of the graph and its link
added afterwards: in a switched network that leaves the switches, and one search serves all hosts behind one
of them.
"""

from typing import Any, Final

import numpy as np
import rustworkx as rx

from tocsin.core.errors import InputError
from tocsin.core.topology import Topology

HOSTS_MAX: Final = 10_000  # the matrix of their distances takes 800 MB
ALL_PAIRS_NODES_MAX: Final = 5_000  # searched at once, on all cores, at 40 bytes a pair; above, one after another


class HostDistances:
    """The distance from every host to every other; hosts are counted 0 … n-1 in the order of the topology."""

    def __init__(self, topology: Topology, all_pairs_nodes_max: int = ALL_PAIRS_NODES_MAX) -> None:
        self.hosts: list[int] = topology.hosts()  # the node number of each host
        if not self.hosts:
            raise InputError("nodes: expected at least one host, found only switches")
        if len(self.hosts) > HOSTS_MAX:
            raise InputError(f"nodes: expected at most {HOSTS_MAX} hosts, found {len(self.hosts)}")
        self.matrix: Any = _matrix(
            topology, self.hosts, all_pairs_nodes_max
        )  # [n, n] of float64; infinite where there is no path


def _matrix(topology: Topology, hosts: list[int], all_pairs_nodes_max: int) -> Any:
    attached: list[int] = []  # the node by which each host enters the graph, itself or its switch …
    access: list[float] = []  # … and what that costs
    for host in hosts:
        links = topology.links_at(host)
        entrance = topology.other_end(links[0], host) if len(links) == 1 else host
        hangs = len(links) == 1 and (topology.is_switch(entrance) or topology.degree(entrance) > 1)
        attached.append(entrance if hangs else host)
        access.append(topology.link_cost[links[0]] if hangs else 0.0)
    inside = _graph_nodes(topology, hosts, attached)
    place = {inside[index]: index for index in range(len(inside))}
    graph = rx.PyGraph()
    graph.add_nodes_from(inside)
    edges: list[tuple[int, int, float]] = []
    for link in range(topology.link_count()):
        first = place.get(topology.link_first[link], -1)
        second = place.get(topology.link_second[link], -1)
        if first >= 0 and second >= 0:
            edges.append((first, second, topology.link_cost[link]))
    graph.add_edges_from(edges)
    entrances = [place[node] for node in attached]
    between = _entrance_distances(graph, entrances, graph.num_nodes() <= all_pairs_nodes_max)
    return _add_access(between, entrances, access)


def _graph_nodes(topology: Topology, hosts: list[int], attached: list[int]) -> list[int]:
    """Every node but the hosts that enter by another node."""
    outside = {hosts[index] for index in range(len(hosts)) if attached[index] != hosts[index]}
    return [node for node in range(topology.node_count()) if node not in outside]


def _entrance_distances(graph: Any, entrances: list[int], all_at_once: bool) -> dict[int, Any]:
    """For each entrance the distances from it to the entrances of all hosts."""
    columns = np.array(entrances, dtype=np.int64)
    nodes = graph.num_nodes()
    every = rx.all_pairs_dijkstra_path_lengths(graph, float) if all_at_once else None
    result: dict[int, Any] = {}
    for entrance in entrances:
        if entrance in result:
            continue
        found = every[entrance] if every is not None else rx.dijkstra_shortest_path_lengths(graph, entrance, float)
        row = np.full(nodes, np.inf)
        count = len(found)
        targets = np.fromiter(found.keys(), dtype=np.int64, count=count)
        row[targets] = np.fromiter(found.values(), dtype=np.float64, count=count)
        row[entrance] = 0.0
        result[entrance] = row[columns]
    return result


def _add_access(between: dict[int, Any], entrances: list[int], access: list[float]) -> Any:
    """From distances between entrances to distances between hosts."""
    count = len(entrances)
    costs = np.array(access, dtype=np.float64)
    matrix = np.empty((count, count), dtype=np.float64)
    for index in range(count):
        matrix[index] = between[entrances[index]] + costs + access[index]
        matrix[index, index] = 0.0
    return matrix
