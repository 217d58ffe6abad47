"""Maximum reliability trees and the fewest copies: small cases one can check by hand, and the edges."""

import math

import pytest

from tocsin.core.errors import InputError
from tocsin.core.generators import grid, random_connected, ring, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.reliability import (
    ReliabilityTree,
    log_any_arrives,
    log_reach,
    maximum_reliability_tree,
    minimal_copies,
    optimize,
)


def triangle(losses: tuple[float, float, float]) -> Topology:
    """a-b, b-c and a-c with the given losses."""
    topology = Topology()
    for name in "abc":
        topology.add_node(name)
    for (first, second), loss in zip(((0, 1), (1, 2), (0, 2)), losses, strict=True):
        topology.add_link(first, second, loss=loss)
    return topology


def test_the_tree_takes_the_better_links() -> None:
    tree = maximum_reliability_tree(triangle((0.1, 0.1, 0.3)), 0)
    assert tree.parent == [-1, 0, 1]
    assert tree.order == [0, 1, 2]
    assert tree.depth == [0, 1, 2]
    assert tree.children() == [[1], [2], []]
    assert tree.success[1:] == [0.9, 0.9]
    assert tree.link == [-1, 0, 1]


def test_crashes_of_both_ends_count() -> None:
    topology = triangle((0.1, 0.0, 0.5))
    topology.crash[0] = 0.5
    topology.crash[1] = 0.2
    tree = maximum_reliability_tree(topology, 0)
    assert tree.parent == [-1, 0, 1]
    assert math.isclose(tree.success[1], 0.5 * 0.9 * 0.8)
    assert math.isclose(tree.success[2], 0.8)


def test_the_better_of_twin_links_is_taken() -> None:
    topology = triangle((0.5, 0.0, 0.5))
    topology.add_link(1, 0, loss=0.25)
    assert maximum_reliability_tree(topology, 0).link == [-1, 3, 1]


def test_equal_links_give_a_shallow_tree() -> None:
    assert max(maximum_reliability_tree(ring(101, loss=0.1), 7).depth) == 50
    assert max(maximum_reliability_tree(grid(10, 10, loss=0.1), 0).depth) == 18


def test_every_node_comes_after_its_parent() -> None:
    topology = random_connected(200, 600, Rng(4))
    vary(topology, Rng(5), loss=(0.0, 0.5), crash=(0.0, 0.1))
    tree = maximum_reliability_tree(topology, 17)
    place = {node: index for index, node in enumerate(tree.order)}
    assert tree.order[0] == 17
    assert sorted(tree.order) == list(range(200))
    for node in range(200):
        if node != 17:
            assert place[tree.parent[node]] < place[node]
            assert topology.other_end(tree.link[node], node) == tree.parent[node]


def test_one_node_needs_no_message() -> None:
    topology = Topology()
    topology.add_node("alone")
    plan = optimize(maximum_reliability_tree(topology, 0), 0.9999)
    assert (plan.copies, plan.messages, plan.reach) == ([0], 0, 1.0)


def test_perfect_links_need_one_copy_even_for_certainty() -> None:
    plan = optimize(maximum_reliability_tree(ring(6), 2), 1.0)
    assert plan.copies == [1, 1, 0, 1, 1, 1]
    assert (plan.messages, plan.reach) == (5, 1.0)


def test_worse_links_get_more_copies() -> None:
    plan = optimize(maximum_reliability_tree(triangle((0.01, 0.3, 0.9)), 0), 0.999)
    assert plan.copies == [0, 2, 6]
    assert plan.messages == 8
    assert math.isclose(plan.reach, (1 - 0.01**2) * (1 - 0.3**6))
    assert (1 - 0.01**2) * (1 - 0.3**5) < 0.999
    assert (1 - 0.01**1) * (1 - 0.3**7) < 0.999


@pytest.mark.parametrize(
    ("loss", "reach", "copies"), [(0.1, 0.99, 2), (0.01, 0.9999, 2), (0.1, 0.999, 3), (0.5, 0.5, 1)]
)
def test_a_target_met_exactly_is_met(loss: float, reach: float, copies: int) -> None:
    assert minimal_copies([1 - loss], reach) == [copies]


def test_any_arrives_keeps_its_digits() -> None:
    assert log_any_arrives(1.0, 1) == 0.0
    assert math.isclose(log_any_arrives(0.5, 1), math.log(0.5))
    assert math.isclose(log_any_arrives(0.9, 3), math.log(0.999))
    assert math.isclose(log_any_arrives(1e-30, 1), math.log(1e-30))
    assert math.isclose(log_any_arrives(0.9, 300), -1e-300, rel_tol=1e-9)


def test_reach_does_not_underflow() -> None:
    """Two thousand links of success 0.5 with one copy: 2^-2000 is no double, its logarithm is."""
    tree = ReliabilityTree(0, 2001)
    tree.order = list(range(2001))
    tree.success = [1.0] + [0.5] * 2000
    assert math.isclose(log_reach(tree, [0] + [1] * 2000), -2000 * math.log(2))
    plan = optimize(tree, 0.9999)
    assert plan.copies[1:].count(24) + plan.copies[1:].count(25) == 2000
    assert plan.reach >= 0.9999


def test_targets_nearer_to_one_than_single_links_can_show() -> None:
    """1 - 1e-13 over a thousand links: each term is 1 in double precision, their sum still counts."""
    copies = minimal_copies([0.9] * 1000, 1 - 1e-13)
    assert set(copies) == {16}
    assert set(minimal_copies([0.9] * 10, 0.9999999999999999)) == {17}


def test_hopeless_links_are_refused_with_the_budget() -> None:
    with pytest.raises(InputError, match=r"reach: 0.9999 needs more than the budget of 1000 messages, which reach"):
        minimal_copies([0.9, 1e-30], 0.9999, 1000)
    with pytest.raises(InputError, match="3 links need a copy each, above the budget of 2"):
        minimal_copies([1.0] * 3, 0.5, 2)
    assert sum(minimal_copies([0.9, 0.5], 0.9999, 19)) == 19
    with pytest.raises(InputError, match="budget of 18"):
        minimal_copies([0.9, 0.5], 0.9999, 18)


@pytest.mark.parametrize("reach", [0.0, -1.0, 1.5, float("nan")])
def test_a_reach_is_a_probability(reach: float) -> None:
    with pytest.raises(InputError, match=r"expected a probability in \(0, 1\]"):
        minimal_copies([0.5], reach)


def test_certainty_is_refused_over_lossy_links() -> None:
    with pytest.raises(InputError, match="1 cannot be promised"):
        minimal_copies([1.0, 0.5], 1.0)


def test_disconnected_topologies_and_switches_are_refused() -> None:
    topology = triangle((0.0, 0.0, 0.0))
    topology.add_node("alone")
    with pytest.raises(InputError, match=r"needs a connected topology, found 2 parts: .*`a` and `alone`"):
        maximum_reliability_tree(topology, 0)
    topology = triangle((0.0, 0.0, 0.0))
    topology.add_link(topology.add_node("s", is_switch=True), 0)
    with pytest.raises(InputError, match="made of hosts, found the switch `s`"):
        maximum_reliability_tree(topology, 0)
