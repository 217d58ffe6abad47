"""Claims of Garbinato, Pedone and Schmidt (2004) about trees and copies."""

import math

import pytest

from tocsin.core.generators import random_connected, random_regular, vary
from tocsin.core.rng import Rng
from tocsin.planning.reliability import (
    ReliabilityTree,
    log_reach,
    maximum_reliability_tree,
    minimal_copies,
    optimize,
)


def test_figure_1_adaptive_needs_87_percent_of_the_messages() -> None:
    """Two paths, the second ten times worse: choosing at random costs 1 - (sqrt(10) L)^k against 1 - L^k."""
    loss = 0.0001
    reach = 1 - 1e-40  # many messages, so that whole numbers hardly matter; in logarithms, since 1 - 1e-40 is 1.0
    assert reach == 1.0
    adaptive = -40 * math.log(10) / math.log(loss)
    typical = -40 * math.log(10) / math.log(math.sqrt(10) * loss)
    assert round(adaptive / typical, 2) in (0.87, 0.88)
    better, worse = minimal_copies([1 - loss], 1 - 1e-15), minimal_copies([1 - math.sqrt(10) * loss], 1 - 1e-15)
    assert (better, worse) == ([4], [5])


def recursive_reach(tree: ReliabilityTree, copies: list[int], node: int) -> float:
    """Equation 1."""
    result = 1.0
    for child in tree.children()[node]:
        result *= (1 - (1 - tree.success[child]) ** copies[child]) * recursive_reach(tree, copies, child)
    return result


@pytest.mark.parametrize("seed", range(5))
def test_section_3_2_both_forms_of_reach_agree(seed: int) -> None:
    topology = random_connected(30, 60, Rng(seed))
    vary(topology, Rng(seed), loss=(0.0, 0.3), crash=(0.0, 0.05))
    tree = maximum_reliability_tree(topology, 3)
    plan = optimize(tree, 0.99)
    assert math.isclose(recursive_reach(tree, plan.copies, 3), plan.reach)
    assert math.isclose(math.exp(log_reach(tree, plan.copies)), plan.reach)


def test_section_3_1_a_tree_of_n_minus_1_links_whatever_the_sender() -> None:
    """All senders find links of the same quality; so all need the same number of messages."""
    topology = random_regular(100, 6, Rng(1))
    vary(topology, Rng(2), loss=(0.0, 0.1), crash=(0.0, 0.05))
    plans = []
    for source in range(0, 100, 7):
        tree = maximum_reliability_tree(topology, source)
        assert len({tree.link[node] for node in range(100) if node != source}) == 99
        plans.append(optimize(tree, 0.9999).messages)
    assert len(set(plans)) == 1


@pytest.mark.parametrize("connectivity", [2, 4, 8, 16, 20])
@pytest.mark.parametrize("loss", [0.01, 0.03, 0.05])
def test_section_5_settings_reach_what_they_promise(connectivity: int, loss: float) -> None:
    """100 processes, K = 0.9999: with equal links every link needs m or m + 1 copies, whatever the connectivity."""
    tree = maximum_reliability_tree(random_regular(100, connectivity, Rng(connectivity), loss=loss), 0)
    plan = optimize(tree, 0.9999)
    smallest = min(plan.copies[1:])
    assert set(plan.copies[1:]) <= {smallest, smallest + 1}
    assert 0.9999 <= plan.reach < 1
    without = plan.copies[:]
    without[plan.copies.index(max(plan.copies))] -= 1
    assert math.exp(log_reach(tree, without)) < 0.9999
