"""The priority lists of one site (sections 4.2 and 5.1): given, or Shortest-Distance-First, or by site number.

Lists must be acyclic and jointly complete; given lists that are not are refused, with the hosts that show it.
`tocsin.planning.priorities` makes the lists of all hosts; a site needs only its own, for which two searches are enough.
Both give the same lists; a test compares them.
"""

import heapq
from typing import Final

from tocsin.core.errors import InputError
from tocsin.core.machine import SiteId
from tocsin.core.topology import Topology
from tocsin.planning.priorities import TIE_DIGITS, check_lists

INFINITE: Final = float("inf")

Given = dict[str, dict[str, tuple[str, ...]]]  # by source and host: hosts; names of the topology, or site numbers


class Lists:
    """PL(i) of one site i for every source; made when first asked for."""

    def __init__(self, site: SiteId, sites: int, topology: Topology | None, given: Given, unsafe: bool) -> None:
        self._site = site
        self._sites = sites
        self._topology = topology
        self._own: dict[SiteId, list[SiteId]] = {}  # by source
        self._from_here: list[float] = []  # from this site to every site; made when first needed
        self._names = _site_names(sites, topology)
        self._ties = self._names if topology is not None else [""] * sites  # numbers decide where there are no names
        for source in sorted(given):
            lists = _read_lists(source, given[source], self._names)
            if not unsafe:
                refuse_illegal(source, lists, self._names)
            self._own[self._names.index(source)] = lists[site]

    def of(self, source: SiteId) -> list[SiteId]:
        """PL(i) for a source, every site taking part."""
        known = self._own.get(source)
        if known is None:
            known = self._shortest_distance_first(source)
            self._own[source] = known
        return known

    def _shortest_distance_first(self, source: SiteId) -> list[SiteId]:
        """Hosts nearer to the source than this one, the nearest to this one first.

        Ties: nearest to the source, then name. Without a topology every distance is the same: the source comes
        first, then the others by number.
        """
        if not self._from_here:
            self._from_here = self._distances(self._site)
        from_source = self._distances(source)
        largest = max([distance for distance in from_source if distance < INFINITE])
        unit = largest * TIE_DIGITS if largest > 0.0 else 1.0
        ranked: list[tuple[float, str, SiteId]] = []
        for host in range(self._sites):
            ranked.append((-1.0 if host == source else rounded(from_source[host], unit), self._ties[host], host))
        ranked.sort()
        keyed: list[tuple[float, int, SiteId]] = []
        for rank in range(len(ranked)):
            host = ranked[rank][2]
            if host == self._site:
                break
            keyed.append((rounded(self._from_here[host], unit), rank, host))
        keyed.sort()
        return [host for _, _, host in keyed]

    def _distances(self, site: SiteId) -> list[float]:
        return [1.0] * self._sites if self._topology is None else distances(self._topology, site)


def rounded(distance: float, unit: float) -> float:
    """In whole units, so that sums that differ by rounding only are ties."""
    return distance if distance == INFINITE else float(round(distance / unit))


def distances(topology: Topology, site: SiteId) -> list[float]:
    """The sum of link costs on the cheapest path from a site to every site; infinite where there is no path."""
    hosts = topology.hosts()
    far = [INFINITE] * topology.node_count()
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
    verdict = check_lists(lists)
    if not verdict.jointly_complete:
        first = names[verdict.missing_pair[0]]
        second = names[verdict.missing_pair[1]]
        raise InputError(
            f"options: `lists.{source}`: not jointly complete: neither of `{first}` and `{second}` is on the other's "
            f"list; {cure}"
        )
    if not verdict.acyclic:
        path = " -> ".join([names[site] for site in [*verdict.cycle, verdict.cycle[0]]])
        raise InputError(f"options: `lists.{source}`: not acyclic: {path} (each has the next on its list); {cure}")
