"""Priority lists: whom a host asks, in which order, when it misses messages.

Garcia-Molina, Kogan: "An Implementation of Reliable Broadcast Using an Unreliable Multicast Facility" (1988).

    section 4.2  acyclic, jointly complete     check_lists, with witnesses
    figure 5.2   Shortest-Distance-First       shortest_distance_first
    section 5.1  cost of a coordinator tree    coordinator_tree, tree_cost, largest_family
    section 5.1  "penalties for a node with too many children", named there and left out: the overload guard

Hosts are counted 0 … n-1. Under a legal assignment "is on the list of" is a total order: each host lists
exactly those before it in that order, the source comes first and lists nobody. SDF takes the order of
distance from the source, ties by name, and sorts each list by distance from its owner, ties by that same
order.

The overload guard goes through the hosts from the nearest to the furthest and counts for each the children
it will have when everyone can be reached, and when all but the source can. To a distance it adds `penalty`
for each child above `children_max`. Only the order within lists changes, so acyclicity and completeness
stand.
"""

from typing import Any, Final

import numpy as np

from tocsin.core.errors import InputError
from tocsin.core.topology import Topology
from tocsin.planning.distances import HOSTS_MAX, HostDistances

TIE_DIGITS: Final = 1e-12  # distances that differ by less than this part of the largest are equal: 0.1 + 0.2 and 0.3
CYCLE_SEARCHES_MAX: Final = 200  # hosts from which a shortest cycle is looked for


class PriorityLists:
    """A list for every host, most wanted first."""

    def __init__(self, source: int, lists: list[list[int]]) -> None:
        self.source: int = source
        self.lists: list[list[int]] = lists  # by host; that of the source is empty


class ListsVerdict:
    """Whether an assignment is legal, and if not, why."""

    def __init__(self, cycle: list[int], missing_pair: list[int]) -> None:
        self.acyclic: bool = not cycle
        self.cycle: list[int] = cycle  # each has the next on its list, the last has the first; empty if acyclic
        self.jointly_complete: bool = not missing_pair
        self.missing_pair: list[int] = missing_pair  # two hosts, neither on the other's list; or empty


def shortest_distance_first(
    topology: Topology,
    distances: HostDistances,
    source: int,
    children_max: int = 0,
    penalty: float = 0.0,
) -> PriorityLists:
    """SDF for the host `source`; with `children_max` > 0 under the overload guard."""
    names = [topology.node_names[node] for node in distances.hosts]
    from_source = distances.matrix[source]
    for host in range(len(names)):
        if not np.isfinite(from_source[host]):
            raise InputError(
                f"priority lists need a path from the source to every host, found none from "
                f"`{names[source]}` to `{names[host]}`; add a link or remove the host"
            )
    largest = float(np.max(from_source))
    unit = largest * TIE_DIGITS if largest > 0.0 else 1.0  # compared distances are whole multiples of this
    ranks = _by_distance(from_source, unit, source, names)
    guard = _Guard(len(names), children_max, penalty / unit)
    lists: list[list[int]] = [[] for _ in names]
    ranked = np.array(ranks, dtype=np.int64)
    for rank in range(1, len(ranks)):
        host = ranks[rank]
        before = ranked[:rank]
        steps = np.rint(distances.matrix[host][before] / unit)
        order = guard.order(steps, before)
        lists[host] = [ranks[place] for place in order.tolist()]
        guard.count(lists[host], source)
    return PriorityLists(source, lists)


def _by_distance(from_source: Any, unit: float, source: int, names: list[str]) -> list[int]:
    """The hosts from the source outwards, ties by name."""
    keys: list[tuple[float, str, int]] = []
    steps = np.rint(from_source / unit).tolist()
    for host in range(len(names)):
        keys.append((-1.0 if host == source else steps[host], names[host], host))
    keys.sort()
    return [host for _, _, host in keys]


class _Guard:
    """The children that each host has so far, and what that adds to its distance from others."""

    def __init__(self, hosts: int, children_max: int, penalty: float) -> None:
        if children_max < 0 or penalty < 0.0:
            raise InputError(
                f"overload guard: expected numbers >= 0, found {children_max} children and penalty {penalty}"
            )
        self._children_max: int = children_max  # 0: no guard
        self._penalty: float = penalty  # per child too many, in units of the compared distances
        self._with_source: Any = np.zeros(hosts, dtype=np.int64)  # children when everyone can be reached …
        self._without_source: Any = np.zeros(hosts, dtype=np.int64)  # … and when the source cannot

    def order(self, steps: Any, candidates: Any) -> Any:
        """The candidates from the nearest to the furthest, as places in `candidates`; ties keep their order."""
        if self._children_max > 0:
            children = np.maximum(self._with_source[candidates], self._without_source[candidates])
            steps = steps + self._penalty * np.maximum(children + 1 - self._children_max, 0)
        return np.argsort(steps, kind="stable")

    def count(self, ordered: list[int], source: int) -> None:
        self._with_source[ordered[0]] += 1
        for host in ordered:
            if host != source:
                self._without_source[host] += 1
                return


def coordinator_tree(lists: list[list[int]], partition: list[bool]) -> list[int]:
    """Whom each host of a stable partition attaches to: the first on its list in it.

    -1 for a host that finds nobody and so is a coordinator; -2 for hosts outside the partition.
    """
    parents: list[int] = []
    for host in range(len(lists)):
        parent = -1 if partition[host] else -2
        if partition[host]:
            for candidate in lists[host]:
                if partition[candidate]:
                    parent = candidate
                    break
        parents.append(parent)
    return parents


def tree_cost(parents: list[int], distances: HostDistances) -> float:
    """The sum of distances between children and parents."""
    total = 0.0
    for host in range(len(parents)):
        if parents[host] >= 0:
            total += float(distances.matrix[host, parents[host]])
    return total


def largest_family(parents: list[int]) -> int:
    """The largest number of children of one host."""
    children = [0] * len(parents)
    for parent in parents:
        if parent >= 0:
            children[parent] += 1
    return max(children)


def mean_link_cost(topology: Topology) -> float:
    """The default penalty of the guard: a child too many weighs as much as one more link on the way."""
    if topology.link_count() == 0:
        return 0.0
    return sum(topology.link_cost) / topology.link_count()


def check_lists(lists: list[list[int]]) -> ListsVerdict:
    """Theorem 4.1's two conditions for any lists of hosts 0 … n-1."""
    count = len(lists)
    if count > HOSTS_MAX:
        raise InputError(f"lists: expected at most {HOSTS_MAX} hosts, found {count}")
    listed = np.zeros((count, count), dtype=np.bool_)  # [i, j]: j is on the list of i
    for host in range(count):
        listed[host, lists[host]] = True
    either = listed | listed.T
    np.fill_diagonal(either, True)
    missing: list[int] = []
    for host in range(count):
        if not either[host].all():
            missing = [host, int(np.argmin(either[host]))]
            break
    return ListsVerdict(_find_cycle(listed), missing)


def _find_cycle(listed: Any) -> list[int]:
    """A short cycle, or nothing: oneself on one's list, two on each other's, else by search."""
    itself = np.flatnonzero(np.diagonal(listed))
    if len(itself) > 0:
        return [int(itself[0])]
    mutual = listed & listed.T
    for host in range(len(listed)):
        if mutual[host].any():
            return [host, int(np.argmax(mutual[host]))]
    best: list[int] = []
    for host in _on_cycles(listed)[:CYCLE_SEARCHES_MAX]:
        found = _cycle_through(listed, host)
        if found and (not best or len(found) < len(best)):
            best = found
        if len(best) == 3:  # none is shorter
            break
    return best


def _on_cycles(listed: Any) -> list[int]:
    """The hosts left when those that list nobody left are taken away again and again: each reaches a cycle.

    Then the same in the other direction, so that each is also reached from one.
    """
    left = _peel(listed, np.ones(len(listed), dtype=np.bool_))
    left = _peel(listed.T, left)
    result: list[int] = np.flatnonzero(left).tolist()
    return result


def _peel(listed: Any, left: Any) -> Any:
    remaining = left.copy()
    open_entries = (listed & remaining).sum(axis=1)
    waiting: list[int] = np.flatnonzero(remaining & (open_entries == 0)).tolist()
    while waiting:
        host = waiting.pop()
        remaining[host] = False
        owners = np.flatnonzero(listed[:, host] & remaining)
        open_entries[owners] -= 1
        waiting.extend(owners[open_entries[owners] == 0].tolist())
    return remaining


def _cycle_through(listed: Any, start: int) -> list[int]:
    """A shortest cycle through the host, breadth first; empty if there is none."""
    parent: dict[int, int] = {}
    seen = np.zeros(len(listed), dtype=np.bool_)
    front = [start]
    while front:
        following: list[int] = []
        for host in front:
            if listed[host, start]:
                cycle = [host]
                while cycle[-1] != start:
                    cycle.append(parent[cycle[-1]])
                cycle.reverse()
                return cycle
            fresh = np.flatnonzero(listed[host] & ~seen)
            seen[fresh] = True
            for other in fresh.tolist():
                parent[other] = host
                following.append(other)
        front = following
    return []
