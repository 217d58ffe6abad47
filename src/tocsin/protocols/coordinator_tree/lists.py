"""The priority lists of one site (sections 4.2 and 5.1): given, or Shortest-Distance-First, or by site number.

Lists must be acyclic and jointly complete; given lists that are not are refused, with the hosts that show it.
"""

import heapq

from tocsin.core.errors import InputError
from tocsin.core.machine import SiteId
from tocsin.core.topology import Topology

Given = dict[str, dict[str, tuple[str, ...]]]  # by source and host: hosts; names of the topology, or site numbers


class Lists:
    """PL(i) of one site i for every source; made when first asked for."""

    def __init__(self, site: SiteId, sites: int, topology: Topology | None, given: Given, unsafe: bool) -> None:
        self._site = site
        self._sites = sites
        self._topology = topology
        self._own: dict[SiteId, list[SiteId]] = {}  # by source
        names = _site_names(sites, topology)
        for source in sorted(given):
            lists = _read_lists(source, given[source], names)
            if not unsafe:
                refuse_illegal(source, lists, names)
            self._own[names.index(source)] = lists[site]

    def of(self, source: SiteId) -> list[SiteId]:
        """PL(i) for a source, every site taking part."""
        known = self._own.get(source)
        if known is None:
            known = self._shortest_distance_first(source)
            self._own[source] = known
        return known

    def _shortest_distance_first(self, source: SiteId) -> list[SiteId]:
        """Hosts nearer to the source than this one, the nearest to this one first.

        Ties: nearest to the source, then number. Without a topology every distance is the same: the source comes
        first, then the others by number.
        """
        from_source = [1.0] * self._sites
        from_here = [1.0] * self._sites
        if self._topology is not None:
            from_source = distances(self._topology, source)
            from_here = distances(self._topology, self._site)
        from_source[source] = -1.0  # before everybody, also where links cost nothing
        place = (from_source[self._site], self._site)
        keyed: list[tuple[float, float, SiteId]] = []
        for host in range(self._sites):
            if (from_source[host], host) < place:
                keyed.append((from_here[host], from_source[host], host))
        keyed.sort()
        return [host for _, _, host in keyed]


def distances(topology: Topology, site: SiteId) -> list[float]:
    """The sum of link costs on the cheapest path from a site to every site; infinite where there is no path."""
    hosts = topology.hosts()
    far = [float("inf")] * topology.node_count()
    heap: list[tuple[float, int]] = [(0.0, hosts[site])]
    while heap:
        distance, node = heapq.heappop(heap)
        if distance >= far[node]:
            continue
        far[node] = distance
        for link in topology.links_at(node):
            cost: float = topology.link_cost[link]
            heapq.heappush(heap, (distance + cost, topology.other_end(link, node)))
    return [far[node] for node in hosts]


def _site_names(sites: int, topology: Topology | None) -> list[str]:
    if topology is None:
        return [str(site) for site in range(sites)]
    return [topology.node_names[node] for node in topology.hosts()]


def _read_lists(source: str, given: dict[str, tuple[str, ...]], names: list[str]) -> list[list[SiteId]]:
    """By site: its list. A host not named has an empty one."""
    if source not in names:
        raise InputError(f"options: `lists`: expected hosts as sources, found `{source}`")
    lists: list[list[SiteId]] = [[] for _ in names]
    for host in sorted(given):
        for other in (host, *given[host]):
            if other not in names:
                raise InputError(f"options: `lists.{source}.{host}`: expected hosts, found `{other}`")
        lists[names.index(host)] = [names.index(other) for other in given[host]]
    return lists


def refuse_illegal(source: str, lists: list[list[SiteId]], names: list[str]) -> None:
    """Raise an InputError that names a pair that is not complete, or a cycle."""
    cure = "mend the lists, or run them with `unsafe_lists = true`"
    if lists[names.index(source)]:
        raise InputError(f"options: `lists.{source}.{source}`: the list of the source must be empty; {cure}")
    for site in range(len(names)):
        for other in range(site):
            if site not in lists[other] and other not in lists[site]:
                raise InputError(
                    f"options: `lists.{source}`: not jointly complete: neither of `{names[other]}` and `{names[site]}` "
                    f"is on the other's list; {cure}"
                )
    cycle = find_cycle(lists)
    if cycle:
        path = " -> ".join([names[site] for site in [*cycle, cycle[0]]])
        raise InputError(f"options: `lists.{source}`: not acyclic: {path} (each has the next on its list); {cure}")


def find_cycle(lists: list[list[SiteId]]) -> list[SiteId]:
    """A cycle of hosts, each with the next on its list; empty if there is none."""
    remaining = dict.fromkeys(range(len(lists)), True)  # hosts not known to be free of cycles
    progress = True
    while progress:
        progress = False
        for site in list(remaining):
            if not [other for other in lists[site] if other in remaining]:
                del remaining[site]
                progress = True
    if not remaining:
        return []
    path: list[SiteId] = []
    site = min(remaining)
    while site not in path:
        path.append(site)
        onward = [other for other in lists[site] if other in remaining]
        site = onward[0]
    return path[path.index(site) :]
