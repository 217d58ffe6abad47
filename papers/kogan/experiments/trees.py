"""Garcia-Molina and Kogan, sections 4.2 and 5.1: priority lists of random networks and the trees that they give."""

from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.generators import random_switched, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import coordinator_tree, shortest_distance_first, tree_cost
from tocsin.spark.sweep.experiment import Experiment

BEST_HOSTS_MAX = 14  # the best assignment is looked for among all subsets of hosts
SOURCE = 0
RANDOM_LISTS = 20  # random legal assignments of one network
PARTITIONS = 40  # of one network


class Trees(Experiment, frozen=True):
    """Section 5.1: trees of Shortest-Distance-First beside those of random legal lists, of the best, and beside
    the cheapest trees of all. Partitions are hosts behind one failed link, or any hosts without the source."""

    hosts: Annotated[int, Meta(ge=4, le=1_000)]
    partitions: Literal["links", "any"]

    def cost(self) -> float:
        return 2.0**self.hosts if self.hosts <= BEST_HOSTS_MAX else self.hosts**2

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        switches = max(3, self.hosts // 2)
        extra = 0 if self.partitions == "links" else switches  # in a tree every link parts the network
        trunks = min(switches - 1 + extra, switches * (switches - 1) // 2)
        topology = random_switched(self.hosts, switches, trunks, rng)
        vary(topology, rng, cost=(1.0, 9.0))
        distances = HostDistances(topology)
        if self.partitions == "links":
            partitions = list(behind_links(topology, distances).values())
        else:
            partitions = _any_hosts(self.hosts, rng)
        sdf = shortest_distance_first(topology, distances, SOURCE).lists
        others = [random_lists(self.hosts, rng) for _ in range(RANDOM_LISTS)]
        result = self._of_lists("sdf", [sdf], partitions, distances)
        result.update(self._of_lists("random", others, partitions, distances))
        result["cost.spanning"] = _mean([_spanning(distances, partition) for partition in partitions])
        result["random_over_sdf"] = result["cost.random"] / result["cost.sdf"]
        result["sdf_over_spanning"] = result["cost.sdf"] / result["cost.spanning"]
        if self.hosts <= BEST_HOSTS_MAX:
            result["cost.best"] = best_cost(distances, partitions)
            result["sdf_over_best"] = result["cost.sdf"] / result["cost.best"]
            result["random_over_best"] = result["cost.random"] / result["cost.best"]
            result["suboptimal"] = float(result["sdf_over_best"] > 1 + 1e-9)
        return {**result, **_spoiled(sdf, rng)}

    def _of_lists(
        self, name: str, found: list[list[list[int]]], partitions: list[list[bool]], distances: HostDistances
    ) -> dict[str, float]:
        costs: list[float] = []
        roots: list[float] = []
        nearest: list[float] = []
        for lists in found:
            for partition in partitions:
                parents = coordinator_tree(lists, partition)
                costs.append(tree_cost(parents, distances))
                coordinators = [host for host, parent in enumerate(parents) if parent == -1]
                roots.append(len(coordinators))
                least = min(float(distances.matrix[SOURCE, host]) for host in range(self.hosts) if partition[host])
                nearest.append(float(distances.matrix[SOURCE, coordinators[0]] <= least * (1 + 1e-9)))
        return {
            f"cost.{name}": _mean(costs),
            f"coordinators.{name}": _mean(roots),
            f"coordinators.{name}.most": max(roots),
            f"nearest.{name}": _mean(nearest),
        }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _any_hosts(hosts: int, rng: Rng) -> list[list[bool]]:
    """Random sets of at least two hosts without the source."""
    found: list[list[bool]] = []
    while len(found) < PARTITIONS:
        partition = [host != SOURCE and rng.chance(0.5) for host in range(hosts)]
        if sum(partition) >= 2:
            found.append(partition)
    return found


def behind_links(topology: Topology, distances: HostDistances) -> dict[int, list[bool]]:
    """For every link that parts at least two hosts from the source: those hosts."""
    found: dict[int, list[bool]] = {}
    for cut in range(topology.link_count()):
        reached = {distances.hosts[SOURCE]}
        waiting = [distances.hosts[SOURCE]]
        while waiting:
            node = waiting.pop()
            for link in topology.links_at(node):
                other = topology.other_end(link, node)
                if link != cut and other not in reached:
                    reached.add(other)
                    waiting.append(other)
        partition = [host not in reached for host in distances.hosts]
        if sum(partition) >= 2:
            found[cut] = partition
    return found  # at least that of the source's own link


def random_lists(hosts: int, rng: Rng) -> list[list[int]]:
    """Section 4.2's "obvious algorithm": any order that ends with the source, any order within lists."""
    order = list(range(1, hosts))
    rng.shuffle(order)
    order.insert(0, SOURCE)
    lists: list[list[int]] = [[] for _ in order]
    for place, host in enumerate(order):
        lists[host] = order[:place]
        rng.shuffle(lists[host])
    return lists


def _spanning(distances: HostDistances, partition: list[bool]) -> float:
    """The cheapest tree that joins the hosts of a partition (Prim): no lists can give less."""
    outside = [host for host, is_in in enumerate(partition) if is_in]
    near = {host: float("inf") for host in outside}
    near[outside[0]] = 0.0
    total = 0.0
    while near:
        host = min(near, key=lambda other: (near[other], other))
        total += near.pop(host)
        for other in near:
            near[other] = min(near[other], float(distances.matrix[host, other]))
    return total


def best_cost(distances: HostDistances, partitions: list[list[bool]]) -> float:
    """The least mean cost of any legal assignment over these partitions.

    A legal assignment is an order of the hosts and lists of those before in any order. Whatever the order, a list from
    the nearest to the furthest gives each host the nearest parent that it can have in every partition. So the best is
    that of the best order, found by adding hosts one by one to every set that may come before (Held, Karp).
    """
    hosts = range(1, len(distances.hosts))
    size = len(hosts)
    masks = [sum(1 << (host - 1) for host in hosts if partition[host]) for partition in partitions]
    added = [_added(distances, host, size, masks) for host in hosts]
    best = [0.0] * (1 << size)
    for chosen in range(1, 1 << size):
        least = float("inf")
        for place in range(size):
            bit = 1 << place
            if chosen & bit:
                least = min(least, best[chosen ^ bit] + added[place][chosen ^ bit])
        best[chosen] = least
    return best[-1] / len(partitions)


def _added(distances: HostDistances, host: int, size: int, masks: list[int]) -> list[float]:
    """What a host adds to the cost of all partitions, by the set of hosts before it."""
    nearest = [0.0] * (1 << size)  # to any of a set; to nobody: the host is coordinator
    for chosen in range(1, 1 << size):
        rest = chosen & (chosen - 1)
        distance = float(distances.matrix[host, (chosen ^ rest).bit_length()])
        nearest[chosen] = min(distance, nearest[rest]) if rest else distance
    of_host = [mask for mask in masks if mask & (1 << (host - 1))]
    return [sum(nearest[chosen & mask] for mask in of_host) for chosen in range(1 << size)]


def _spoiled(lists: list[list[int]], rng: Rng) -> dict[str, float]:
    """Theorem 4.1's other half: coordinators when a pair is on no list, and when two hosts list each other."""
    order = sorted(range(len(lists)), key=lambda host: len(lists[host]))
    places = rng.sample(len(order) - 1, 2)
    low, high = (order[1 + place] for place in places)
    assert low in lists[high] and all(len(lists[a]) < len(lists[b]) for a, b in pairwise(order))
    both = [host in (low, high) for host in range(len(lists))]
    missing = [[other for other in entries if (host, other) != (high, low)] for host, entries in enumerate(lists)]
    cyclic = [[*entries, high] if host == low else entries for host, entries in enumerate(lists)]
    return {
        "coordinators.incomplete": float(coordinator_tree(missing, both).count(-1)),
        "coordinators.cyclic": float(coordinator_tree(cyclic, both).count(-1)),
    }
