"""Generated topologies: the shape asked for, connected, simple, and the same for the same seed."""

from collections.abc import Callable
from typing import Any

import pytest

from tocsin.core.errors import InputError
from tocsin.core.generators import (
    grid,
    random_connected,
    random_regular,
    random_switched,
    random_tree,
    ring,
    switched_tree,
    vary,
)
from tocsin.core.generators_config import SHAPES, generate, generated_from_document
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.core.topology_config import topology_to_document

MAKERS: dict[str, Callable[[int], Topology]] = {
    "ring": lambda seed: ring(7 + seed),
    "grid": lambda seed: grid(3 + seed, 4),
    "random_regular": lambda seed: random_regular(20, 3 + seed % 17, Rng(seed)),
    "random_tree": lambda seed: random_tree(1 + seed, Rng(seed)),
    "random_connected": lambda seed: random_connected(12, 11 + 2 * seed, Rng(seed)),
    "switched_tree": lambda seed: switched_tree(10, 1 + seed, Rng(seed)),
    "random_switched": lambda seed: random_switched(10, 8, 7 + seed % 20, Rng(seed)),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", range(25))
def test_generated_topologies_are_connected_simple_and_repeatable(name: str, seed: int) -> None:
    topology = MAKERS[name](seed)
    pairs = [
        frozenset((topology.link_first[link], topology.link_second[link])) for link in range(topology.link_count())
    ]
    assert topology.is_connected()
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)
    assert topology_to_document(MAKERS[name](seed)) == topology_to_document(topology)


def degrees(topology: Topology) -> list[int]:
    return [topology.degree(node) for node in range(topology.node_count())]


@pytest.mark.parametrize(("nodes", "degree"), [(100, 2), (100, 3), (100, 20), (9, 4), (8, 5), (7, 6), (6, 3), (4, 3)])
def test_random_regular_gives_every_node_its_neighbours(nodes: int, degree: int) -> None:
    for seed in range(20):
        assert degrees(random_regular(nodes, degree, Rng(seed))) == [degree] * nodes


def test_shapes() -> None:
    assert degrees(ring(5)) == [2] * 5
    assert sorted(degrees(grid(3, 4))) == [2] * 4 + [3] * 6 + [4] * 2
    assert grid(1, 1).link_count() == 0
    tree = random_tree(500, Rng(1))
    assert tree.link_count() == 499
    assert random_connected(10, 45, Rng(1)).link_count() == 45
    switched = switched_tree(30, 6, Rng(1))
    assert len(switched.hosts()) == 30
    assert all(degrees(switched)[host] == 1 for host in switched.hosts())
    assert all(switched.is_switch(switched.neighbours(host)[0]) for host in switched.hosts())
    assert random_switched(3, 5, 10, Rng(1)).link_count() == 13


def test_seeds_matter() -> None:
    for name in ("random_regular", "random_connected", "random_tree"):
        documents = [topology_to_document(MAKERS[name](8)), topology_to_document(MAKERS[name](9))]
        assert documents[0]["links"] != documents[1]["links"]


def test_random_trees_are_shallow() -> None:
    """Depth near e * ln(n), as the docstring says: about 19 for a thousand nodes, far from the root's 31."""
    depth = [0] * 1000
    tree = random_tree(1000, Rng(7))
    for link in range(999):
        depth[tree.link_second[link]] = depth[tree.link_first[link]] + 1
    assert 10 <= max(depth) <= 28


def test_uniform_and_varied_qualities() -> None:
    topology = ring(50, cost=2.0, loss=0.125, crash=0.25)
    assert set(topology.link_cost) == {2.0}
    assert set(topology.link_loss) == {0.125}
    assert set(topology.crash) == {0.25}
    vary(topology, Rng(3), cost=(1.0, 5.0), loss=(0.0, 0.1))
    assert 1.0 <= min(topology.link_cost) < 2.0 < 4.0 < max(topology.link_cost) < 5.0
    assert 0.0 <= min(topology.link_loss) < max(topology.link_loss) < 0.1
    assert set(topology.crash) == {0.0}
    with pytest.raises(InputError, match="two probabilities"):
        vary(topology, Rng(3), loss=(0.5, 1.0))
    with pytest.raises(InputError, match="cost: expected"):
        vary(topology, Rng(3), cost=(2.0, 1.0))


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        (lambda: ring(2), "nodes: expected an integer from 3"),
        (lambda: grid(0, 3), "rows: expected an integer from 1"),
        (lambda: random_regular(5, 3, Rng(1)), "nodes . degree to be even"),
        (lambda: random_regular(5, 5, Rng(1)), "degree: expected an integer from 2 to 4"),
        (lambda: random_regular(10**7, 6, Rng(1)), "links: expected"),
        (lambda: random_tree(0, Rng(1)), "nodes: expected"),
        (lambda: random_connected(5, 3, Rng(1)), "links: expected an integer from 4 to 10"),
        (lambda: random_connected(5, 11, Rng(1)), "links: expected an integer from 4 to 10"),
        (lambda: switched_tree(0, 2, Rng(1)), "hosts: expected"),
        (lambda: switched_tree(2, 0, Rng(1)), "switches: expected"),
        (lambda: random_switched(2, 3, 1, Rng(1)), "trunks: expected"),
    ],
)
def test_impossible_shapes_are_refused(maker: Callable[[], Topology], message: str) -> None:
    with pytest.raises(InputError, match=message):
        maker()


SIZES: dict[str, dict[str, int]] = {
    "ring": {"nodes": 5},
    "grid": {"rows": 2, "columns": 3},
    "random_regular": {"nodes": 8, "degree": 3},
    "random_tree": {"nodes": 6},
    "random_connected": {"nodes": 6, "links": 8},
    "switched_tree": {"hosts": 4, "switches": 2},
    "random_switched": {"hosts": 4, "switches": 3, "trunks": 3},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_can_be_written_in_a_file(shape: str) -> None:
    document: dict[str, Any] = {"shape": shape, **SIZES[shape], "loss": 0.25}
    topology = generate(generated_from_document(document, "file"), Rng(5))
    assert topology.is_connected()
    assert set(topology.link_loss) == {0.25}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"nodes": 5}, "`shape`: expected one of ring, .* found None"),
        ({"shape": "star", "nodes": 5}, "`shape`: expected one of ring, .* found 'star'"),
        ({"shape": "grid", "rows": 2}, "missing required field `columns`"),
        ({"shape": "grid", "rows": 2, "column": 3}, r"unknown key `column` \(did you mean `columns`\?\)"),
        ({"shape": "ring", "nodes": "five"}, "`nodes`: expected `int`"),
    ],
)
def test_bad_descriptions_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generated_from_document(document, "file")
