"""Priority lists: Shortest-Distance-First, its ties, the overload guard, and the checks with their witnesses."""

import math

import pytest

from tocsin.core.errors import InputError
from tocsin.core.generators import grid, random_connected, random_switched, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import (
    check_lists,
    coordinator_tree,
    largest_family,
    mean_link_cost,
    shortest_distance_first,
    tree_cost,
)


def star(*costs: float) -> Topology:
    """A switch with a host per cost; the host named `a` first."""
    topology = Topology()
    switch = topology.add_node("s", is_switch=True)
    for index, cost in enumerate(costs):
        topology.add_link(topology.add_node("abcdefgh"[index]), switch, cost)
    return topology


def named_lists(topology: Topology, source: str) -> dict[str, str]:
    distances = HostDistances(topology)
    names = [topology.node_names[node] for node in distances.hosts]
    result = shortest_distance_first(topology, distances, names.index(source))
    return {names[host]: "".join(names[other] for other in entries) for host, entries in enumerate(result.lists)}


def test_distances_add_up_and_hosts_behind_one_switch_share_a_search() -> None:
    distances = HostDistances(star(1.0, 2.0, 4.0))
    assert distances.matrix.tolist() == [[0.0, 3.0, 5.0], [3.0, 0.0, 6.0], [5.0, 6.0, 0.0]]


def test_hosts_joined_to_each_other_only() -> None:
    topology = Topology()
    topology.add_link(topology.add_node("a"), topology.add_node("b"), 2.5)
    assert HostDistances(topology).matrix.tolist() == [[0.0, 2.5], [2.5, 0.0]]
    topology.add_node("c")
    assert HostDistances(topology).matrix[0].tolist() == [0.0, 2.5, math.inf]


def test_one_search_at_a_time_gives_the_same_distances() -> None:
    topology = random_switched(40, 20, 50, Rng(3))
    vary(topology, Rng(4), cost=(0.0, 5.0))
    assert HostDistances(topology, 0).matrix.tolist() == HostDistances(topology).matrix.tolist()


def test_near_hosts_first_and_the_far_list_the_near() -> None:
    assert named_lists(star(1.0, 2.0, 3.0), "a") == {"a": "", "b": "a", "c": "ab"}
    assert named_lists(star(1.0, 2.0, 3.0), "b") == {"a": "b", "b": "", "c": "ab"}


def test_ties_go_to_the_host_nearest_to_the_source_then_by_name() -> None:
    line = Topology()  # a - c - b, with d beside b, all one apart
    for name in ("a", "c", "b", "d"):
        line.add_node(name)
    for first, second in ((0, 1), (1, 2), (2, 3), (1, 3)):
        line.add_link(first, second)
    # b and d are both two from a: b before d by name. d has c and b at one: c is nearer to the source
    assert named_lists(line, "a") == {"a": "", "c": "a", "b": "ca", "d": "cba"}


def test_rounding_errors_do_not_break_ties() -> None:
    """0.1 + 0.2 and 0.3 are the same distance, so that b, nearer to the source, comes before c on the list of d."""
    topology = Topology()
    for name in "abcdx":
        topology.add_node(name, is_switch=name == "x")
    for first, second, cost in (("a", "b", 1.0), ("b", "c", 0.05), ("c", "d", 0.3), ("b", "x", 0.1), ("x", "d", 0.2)):
        topology.add_link(topology.node(first), topology.node(second), cost)
    assert 0.1 + 0.2 > 0.3
    assert named_lists(topology, "a") == {"a": "", "b": "a", "c": "ba", "d": "bca"}


def test_free_links_and_a_source_that_is_not_alone_at_its_place() -> None:
    assert named_lists(star(0.0, 0.0, 0.0), "c") == {"c": "", "a": "c", "b": "ca"}
    topology = star(0.0, 0.0, 0.0)
    guarded = shortest_distance_first(topology, HostDistances(topology), 0, 1, 1.0)
    assert guarded.lists == [[], [0], [1, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_lists_are_legal_and_sorted(seed: int) -> None:
    rng = Rng(seed)
    topology = random_switched(3 + rng.below(20), 5, 8, rng) if seed % 2 else random_connected(12, 20, rng)
    vary(topology, rng, cost=(0.0, 3.0))
    distances = HostDistances(topology)
    count = len(distances.hosts)
    source = rng.below(count)
    for children_max in (0, 1, 3):
        result = shortest_distance_first(topology, distances, source, children_max, mean_link_cost(topology))
        verdict = check_lists(result.lists)
        assert verdict.acyclic
        assert verdict.jointly_complete
        assert result.lists[source] == []
        assert sorted(len(entries) for entries in result.lists) == list(range(count))
        if children_max == 0:
            for host, entries in enumerate(result.lists):
                lengths = [distances.matrix[host, other] for other in entries]
                assert lengths == sorted(lengths)


def test_the_overload_guard_trades_cost_for_children() -> None:
    """200 hosts on 40 switches: fewer children per host, at a higher cost of the tree; both shown here."""
    topology = random_switched(200, 40, 80, Rng(1))
    vary(topology, Rng(2), cost=(1.0, 10.0))
    distances = HostDistances(topology)
    found = []
    for children_max in (0, 8, 4, 2):
        lists = shortest_distance_first(topology, distances, 0, children_max, mean_link_cost(topology)).lists
        parents = coordinator_tree(lists, [True] * 200)
        found.append((largest_family(parents), round(tree_cost(parents, distances))))
    assert [children for children, _ in found] == sorted((children for children, _ in found), reverse=True)
    assert [cost for _, cost in found] == sorted(cost for _, cost in found)
    assert found[0][0] >= 10
    assert found[2][0] <= 5
    assert found[2][1] < 1.2 * found[0][1]


def test_the_guard_counts_the_tree_without_the_source_too() -> None:
    """Everyone's first is the source; cut off from it, all would fall to b."""
    topology = grid(1, 2)
    for _ in range(6):
        topology.add_link(topology.add_node(f"x{topology.node_count()}"), 0, 1.0)
    topology.link_cost[0] = 0.5
    distances = HostDistances(topology)
    cut = [False] + [True] * 7
    plain = coordinator_tree(shortest_distance_first(topology, distances, 0).lists, cut)
    guarded = coordinator_tree(shortest_distance_first(topology, distances, 0, 2, 1.0).lists, cut)
    assert largest_family(plain) == 6
    assert largest_family(guarded) <= 3


def test_unreachable_hosts_are_refused() -> None:
    topology = star(1.0, 1.0)
    topology.add_node("lost")
    with pytest.raises(InputError, match="need a path from the source to every host, found none from `a` to `lost`"):
        shortest_distance_first(topology, HostDistances(topology), 0)


def test_a_network_without_hosts_and_negative_guards_are_refused() -> None:
    topology = Topology()
    topology.add_node("s", is_switch=True)
    with pytest.raises(InputError, match="at least one host"):
        HostDistances(topology)
    with pytest.raises(InputError, match="overload guard"):
        shortest_distance_first(star(1.0), HostDistances(star(1.0)), 0, -1)


@pytest.mark.parametrize(
    ("lists", "cycle", "pair"),
    [
        ([[], [0], [0, 1]], [], []),
        ([[], [0], [0]], [], [1, 2]),
        ([[], [1], [0, 1]], [1], [0, 1]),
        ([[1], [0], [0, 1]], [0, 1], []),
        ([[2], [0], [1]], [0, 2, 1], []),
        ([[1], [2], [3], [0]], [0, 1, 2, 3], [0, 2]),
        ([[1, 4], [2], [3], [0], [3]], [0, 4, 3], [0, 2]),
        ([[]], [], []),
        ([], [], []),
        ([[], []], [], [0, 1]),
    ],
)
def test_verdicts_and_witnesses(lists: list[list[int]], cycle: list[int], pair: list[int]) -> None:
    verdict = check_lists(lists)
    assert (verdict.cycle, verdict.missing_pair) == (cycle, pair)
    assert (verdict.acyclic, verdict.jointly_complete) == (not cycle, not pair)
