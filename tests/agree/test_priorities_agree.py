"""Distances and checks of priority lists against dumb twins."""

import itertools

import pytest

from tocsin.core.generators import random_connected, random_switched, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import check_lists, shortest_distance_first


def floyd_warshall(topology: Topology) -> list[list[int]]:
    """Distances between all nodes for whole costs, exactly."""
    count = topology.node_count()
    distance = [[0 if first == second else 10**9 for second in range(count)] for first in range(count)]
    for link in range(topology.link_count()):
        first, second = topology.link_first[link], topology.link_second[link]
        cost = min(int(topology.link_cost[link]), distance[first][second])
        distance[first][second] = distance[second][first] = cost
    for middle, first, second in itertools.product(range(count), repeat=3):
        through = distance[first][middle] + distance[middle][second]
        distance[first][second] = min(distance[first][second], through)
    return distance


def shortest_distance_first_as_printed(topology: Topology, source: int) -> dict[int, list[int]]:
    """Figure 5.2 over node numbers: two queues, with the ties of the issue."""
    distance = floyd_warshall(topology)
    names = topology.node_names
    hosts = topology.hosts()
    far_first = sorted(hosts, key=lambda host: (distance[source][host], host != source, names[host]), reverse=True)
    left = set(hosts)
    lists = {}
    for host in far_first:
        left.remove(host)
        lists[host] = sorted(
            left, key=lambda other: (distance[host][other], distance[source][other], other != source, names[other])
        )
    return lists


@pytest.mark.parametrize("seed", range(25))
def test_shortest_distance_first_is_figure_5_2(seed: int) -> None:
    rng = Rng(seed)
    topology = random_switched(2 + rng.below(14), 4, 5, rng) if seed % 2 else random_connected(13, 22, rng)
    vary(topology, rng, cost=(0.0, 6.0))
    for link in range(topology.link_count()):
        topology.link_cost[link] = float(int(topology.link_cost[link]))  # whole and small: many ties
    distances = HostDistances(topology)
    hosts = distances.hosts
    source = rng.below(len(hosts))
    found = shortest_distance_first(topology, distances, source).lists
    expected = shortest_distance_first_as_printed(topology, hosts[source])
    assert {hosts[host]: [hosts[other] for other in entries] for host, entries in enumerate(found)} == expected


def has_cycle(lists: list[list[int]]) -> bool:
    """Whether any host reaches itself, by transitive closure."""
    reach = [set(entries) for entries in lists]
    for _ in lists:
        reach = [found.union(*(reach[other] for other in found)) for found in reach]
    return any(host in found for host, found in enumerate(reach))


@pytest.mark.parametrize("block", range(6))
def test_verdicts_agree_with_the_definitions(block: int) -> None:
    seen = set()
    for seed in range(100 * block, 100 * block + 100):
        rng = Rng(seed)
        count = 1 + rng.below(9)
        order = list(range(count))
        rng.shuffle(order)
        chance = (0.0, 0.05, 0.3)[seed % 3]  # legal lists, nearly legal ones, and rubbish
        lists = [
            [
                other
                for other in range(count)
                if (order[other] < order[host] and not rng.chance(chance))
                or (order[other] > order[host] and rng.chance(chance / 2))
            ]
            for host in range(count)
        ]
        verdict = check_lists(lists)
        pairs = itertools.combinations(range(count), 2)
        complete = all(second in lists[first] or first in lists[second] for first, second in pairs)
        assert verdict.acyclic == (not has_cycle(lists))
        assert verdict.jointly_complete == complete
        for host, following in zip(verdict.cycle, verdict.cycle[1:] + verdict.cycle[:1], strict=True):
            assert following in lists[host]
        if verdict.missing_pair:
            first, second = verdict.missing_pair
            assert first != second
            assert first not in lists[second]
            assert second not in lists[first]
        seen.add((verdict.acyclic, verdict.jointly_complete))
    assert len(seen) == 4
