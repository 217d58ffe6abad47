"""Reliability planning against dumb twins: every spanning tree, every vector of copies, the paper's plain loop."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.core.generators import random_connected, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.reliability import log_reach, maximum_reliability_tree, minimal_copies, optimize

SUCCESS = st.integers(1, 100).map(lambda hundredths: hundredths / 100)
REACHES = st.sampled_from([0.3, 0.9, 0.95, 0.999, 0.9999])


def product_reach(success: list[float], copies: tuple[int, ...]) -> float:
    """Equation 2 as printed."""
    return math.prod(1 - (1 - chance) ** count for chance, count in zip(success, copies, strict=True))


def greedy_as_printed(success: list[float], reach: float) -> list[int]:
    """Algorithm 2, recomputing everything in every step."""
    copies = [1] * len(success)
    while product_reach(success, tuple(copies)) < reach:
        gains = [
            product_reach(success, tuple(count + (place == chosen) for place, count in enumerate(copies)))
            for chosen in range(len(copies))
        ]
        copies[max(range(len(copies)), key=lambda place: (gains[place], -place))] += 1
    return copies


def vectors(length: int, total: int) -> list[tuple[int, ...]]:
    """Every vector of positive integers of that length and sum."""
    return [
        tuple(b - a for a, b in itertools.pairwise((0, *cuts, total)))
        for cuts in itertools.combinations(range(1, total), length - 1)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(30, 100).map(lambda hundredths: hundredths / 100), min_size=1, max_size=4), REACHES)
def test_copies_are_minimal_by_exhaustive_search(success: list[float], reach: float) -> None:
    copies = minimal_copies(success, reach)
    assert product_reach(success, tuple(copies)) >= reach * (1 - 1e-15)
    if sum(copies) > len(copies):
        for fewer in vectors(len(success), sum(copies) - 1):
            assert product_reach(success, fewer) < reach


@settings(max_examples=200, deadline=None)
@given(st.lists(SUCCESS, min_size=1, max_size=12), REACHES)
def test_copies_are_those_of_the_plain_loop(success: list[float], reach: float) -> None:
    assert sum(minimal_copies(success, reach)) == sum(greedy_as_printed(success, reach))


def test_copies_of_distinct_links_are_exactly_those_of_the_plain_loop() -> None:
    for seed in range(40):
        rng = Rng(seed)
        success = [1.0 - 0.6 * rng.random() for _ in range(1 + rng.below(30))]
        assert minimal_copies(success, 0.999) == greedy_as_printed(success, 0.999)


def spanning_trees(topology: Topology) -> list[tuple[int, ...]]:
    """Every set of n - 1 links that joins all nodes."""
    nodes = topology.node_count()
    found = []
    for links in itertools.combinations(range(topology.link_count()), nodes - 1):
        part = list(range(nodes))
        for link in links:
            old, new = part[topology.link_first[link]], part[topology.link_second[link]]
            part = [new if value == old else value for value in part]
        if len(set(part)) == 1:
            found.append(links)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_no_spanning_tree_needs_fewer_messages(seed: int) -> None:
    rng = Rng(seed)
    topology = random_connected(5, 5 + rng.below(4), rng)
    vary(topology, rng, loss=(0.0, 0.5), crash=(0.0, 0.2))
    tree = maximum_reliability_tree(topology, rng.below(5))
    plan = optimize(tree, 0.99)
    for links in spanning_trees(topology):
        success = [
            (1 - topology.crash[topology.link_first[link]])
            * (1 - topology.link_loss[link])
            * (1 - topology.crash[topology.link_second[link]])
            for link in links
        ]
        assert sum(minimal_copies(success, 0.99)) >= plan.messages
        assert product_reach(success, (1,) * len(success)) <= math.exp(log_reach(tree, [1] * 5)) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_tree_is_a_maximum_spanning_tree_by_kruskal(seed: int) -> None:
    """Sort the links, take each that joins two parts: the multiset of successes must be the same."""
    topology = random_connected(120, 400, Rng(seed))
    vary(topology, Rng(seed + 100), loss=(0.0, 0.5), crash=(0.0, 0.2))
    alive = [1 - crash for crash in topology.crash]
    success = [
        alive[topology.link_first[link]] * alive[topology.link_second[link]] * (1 - topology.link_loss[link])
        for link in range(400)
    ]
    part = list(range(120))
    taken = []
    for link in sorted(range(400), key=lambda link: -success[link]):
        old, new = part[topology.link_first[link]], part[topology.link_second[link]]
        if old != new:
            part = [new if value == old else value for value in part]
            taken.append(success[link])
    tree = maximum_reliability_tree(topology, seed)
    assert sorted(taken) == sorted(tree.success[node] for node in range(120) if node != seed)
