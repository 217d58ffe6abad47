"""Claims of Garcia-Molina and Kogan (1988), sections 4 and 5, about priority lists."""

from pathlib import Path

import pytest

from papers.kogan.figure_2_1 import FIGURE_2_1
from tocsin.core.files import read_document
from tocsin.core.generators import random_switched, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.core.topology_config import topology_from_document
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import check_lists, coordinator_tree, shortest_distance_first, tree_cost

EXAMPLE = Path(__file__).parents[3] / "examples" / "figure-2-1.toml"
SECTION_4 = {"h1": "", "h2": "h1", "h3": "h1 h2", "h4": "h3 h5 h2 h1", "h5": "h1 h3 h2"}
ASSIGNMENT_A = {"h1": "", "h2": "h1", "h3": "h1 h2", "h4": "h3 h1 h2", "h5": "h3 h4 h1 h2"}
ASSIGNMENT_B = {"h1": "", "h2": "h1 h4 h5", "h3": "h1 h2 h4 h5", "h4": "h1 h5", "h5": "h1"}


def numbered(lists: dict[str, str]) -> list[list[int]]:
    """h1 is 0, h2 is 1 …, as in the example file."""
    return [[int(name[1:]) - 1 for name in entries.split()] for entries in lists.values()]


def tree(lists: dict[str, str], partition: str) -> dict[str, str]:
    """Child to parent; a coordinator has no parent."""
    parents = coordinator_tree(numbered(lists), [f"h{host + 1}" in partition.split() for host in range(5)])
    return {f"h{host + 1}": f"h{parent + 1}" for host, parent in enumerate(parents) if parent >= 0}


@pytest.fixture(name="network")
def figure_2_1() -> Topology:
    return topology_from_document(read_document(EXAMPLE), "figure 2.1")


def test_the_network_of_the_experiments_is_that_of_the_example() -> None:
    assert read_document(EXAMPLE) == FIGURE_2_1


def test_section_5_1_h4_and_h5_are_four_apart_when_links_cost_one(network: Topology) -> None:
    for link in range(network.link_count()):
        network.link_cost[link] = 1.0
    assert HostDistances(network).matrix[3, 4] == 4.0


def test_section_5_1_sdf_gives_assignment_a(network: Topology) -> None:
    assert shortest_distance_first(network, HostDistances(network), 0).lists == numbered(ASSIGNMENT_A)


@pytest.mark.parametrize("lists", [SECTION_4, ASSIGNMENT_A, ASSIGNMENT_B])
def test_section_4_2_the_examples_are_legal(lists: dict[str, str]) -> None:
    verdict = check_lists(numbered(lists))
    assert verdict.acyclic
    assert verdict.jointly_complete


def test_figure_4_1_and_the_split_of_h4_and_h5() -> None:
    assert tree(SECTION_4, "h2 h3 h4 h5") == {"h5": "h3", "h4": "h3", "h3": "h2"}
    assert tree(SECTION_4, "h2 h3") == {"h3": "h2"}
    assert tree(SECTION_4, "h4 h5") == {"h4": "h5"}


def test_section_4_2_without_h5_on_the_list_of_h4_two_coordinators() -> None:
    lists = {**SECTION_4, "h4": "h3 h2 h1"}
    verdict = check_lists(numbered(lists))
    assert verdict.acyclic
    assert verdict.missing_pair == [3, 4]
    assert tree(lists, "h4 h5") == {}


def test_section_4_2_with_h4_on_the_list_of_h2_nobody_is_coordinator() -> None:
    lists = {**SECTION_4, "h2": "h1 h4"}
    verdict = check_lists(numbered(lists))
    assert verdict.jointly_complete
    assert verdict.cycle == [1, 3]
    assert tree(lists, "h2 h3 h4 h5") == {"h2": "h4", "h3": "h2", "h4": "h3", "h5": "h3"}


def test_section_5_assignment_a_costs_less_than_b(network: Topology) -> None:
    """Link l1 down: A gives figure 4.1, B figure 5.1, whose h3-h2 and h2-h4 both cross the expensive l6."""
    distances = HostDistances(network)
    cut = [False, True, True, True, True]
    assert tree(ASSIGNMENT_A, "h2 h3 h4 h5") == {"h5": "h3", "h4": "h3", "h3": "h2"}
    assert tree(ASSIGNMENT_B, "h2 h3 h4 h5") == {"h4": "h5", "h2": "h4", "h3": "h2"}
    assert tree_cost(coordinator_tree(numbered(ASSIGNMENT_A), cut), distances) == 8 + 3 + 3
    assert tree_cost(coordinator_tree(numbered(ASSIGNMENT_B), cut), distances) == 8 + 9 + 4
    assert distances.matrix[0, 1] < distances.matrix[0, 4]  # h2 probes the source more cheaply than h5


@pytest.mark.parametrize("seed", range(40))
def test_theorem_4_1_one_coordinator_in_every_partition_and_it_is_the_nearest(seed: int) -> None:
    """Any set of hosts without the source: one tree, its root the host nearest to the source (section 5.1)."""
    rng = Rng(seed)
    network = random_switched(3 + rng.below(25), 6, 9, rng)
    vary(network, rng, cost=(1.0, 9.0))
    distances = HostDistances(network)
    count = len(distances.hosts)
    source = rng.below(count)
    lists = shortest_distance_first(network, distances, source).lists
    for _ in range(50):
        partition = [host != source and rng.chance(0.5) for host in range(count)]
        parents = coordinator_tree(lists, partition)
        inside = [host for host in range(count) if partition[host]]
        roots = [host for host in inside if parents[host] == -1]
        assert len(roots) == (1 if inside else 0)
        for host in inside:
            seen = set()
            while parents[host] >= 0:
                assert host not in seen
                seen.add(host)
                host = parents[host]
            assert host == roots[0]
        if inside:
            nearest = min(distances.matrix[source, host] for host in inside)
            assert distances.matrix[source, roots[0]] == pytest.approx(nearest, rel=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_theorem_4_1_illegal_lists_fail_in_some_partition(seed: int) -> None:
    """Take one entry out of legal lists, or add one against the order: two hosts, or a cycle, go wrong."""
    rng = Rng(seed)
    count = 3 + rng.below(8)
    lists = [list(range(host)) for host in range(count)]  # host 0 is the source
    low = 1 + rng.below(count - 2)
    high = low + 1 + rng.below(count - low - 1)
    if seed % 2:
        lists[high].remove(low)
        verdict = check_lists(lists)
        assert verdict.missing_pair == [low, high]
        parents = coordinator_tree(lists, [host in (low, high) for host in range(count)])
        assert parents[low] == parents[high] == -1  # two coordinators in one partition
    else:
        lists[low].append(high)
        verdict = check_lists(lists)
        assert verdict.cycle == [low, high]
        parents = coordinator_tree(lists, [host in (low, high) for host in range(count)])
        assert (parents[low], parents[high]) == (high, low)  # nobody is coordinator
