"""Topology: names, adjacency, labels of links, connectivity; and the files that describe it."""

from typing import Any

import pytest

from tocsin.core.errors import InputError
from tocsin.core.generators import grid, random_connected, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import NAME_LENGTH_MAX, Topology, need_connected
from tocsin.core.topology_config import groups_from_document, topology_from_document, topology_to_document


def small() -> Topology:
    """a - b twice, b - c, and d alone; c is a switch."""
    topology = Topology()
    for name in "abcd":
        topology.add_node(name, is_switch=name == "c")
    topology.add_link(0, 1, name="main")
    topology.add_link(1, 2, cost=2.5, loss=0.25)
    topology.add_link(1, 0)
    return topology


def test_adjacency_lists_both_ends_in_order() -> None:
    topology = small()
    assert topology.neighbours(1) == [0, 2, 0]
    assert topology.links_at(1) == [0, 1, 2]
    assert [topology.degree(node) for node in range(4)] == [2, 3, 1, 0]
    assert [topology.other_end(link, 1) for link in topology.links_at(1)] == [0, 2, 0]
    assert topology.other_end(2, 0) == 1


def test_adjacency_follows_later_changes() -> None:
    topology = small()
    assert topology.neighbours(3) == []
    topology.add_link(3, 2)
    assert topology.neighbours(3) == [2]
    assert topology.neighbours(topology.add_node("e")) == []


def test_hosts_and_switches() -> None:
    topology = small()
    assert topology.hosts() == [0, 1, 3]
    assert topology.is_switch(2)
    assert topology.node("d") == 3
    with pytest.raises(InputError, match="expected a node of the topology, found `x`"):
        topology.node("x")


def test_every_link_has_one_label() -> None:
    topology = small()
    assert topology.link_labels() == ["main", "b-c", "b-a"]
    topology.add_link(1, 0)
    topology.add_link(3, 2, name="b-a#2")
    topology.add_link(3, 1, name="spare")
    assert topology.link_labels() == ["main", "b-c", "b-a", "b-a#3", "b-a#2", "spare"]
    assert [topology.link(label) for label in topology.link_labels()] == list(range(6))
    with pytest.raises(InputError, match="expected a link of the topology, found `l9`"):
        topology.link("l9")


def test_components_and_connectivity() -> None:
    topology = small()
    assert topology.components() == [[0, 1, 2], [3]]
    assert not topology.is_connected()
    with pytest.raises(InputError, match=r"a tree needs a connected topology, found 2 parts: .* `a` and `d`"):
        need_connected(topology, "a tree")
    topology.add_link(3, 0)
    assert topology.is_connected()
    need_connected(topology, "a tree")
    assert Topology().is_connected()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", False, 0.0), "expected 1 to"),
        (("x" * (NAME_LENGTH_MAX + 1), False, 0.0), "expected 1 to"),
        (("x\ny", False, 0.0), "printable"),
        (("a", False, 0.0), "found `a` twice"),
        (("x", False, 1.0), r"crash of `x`: expected a probability in \[0, 1\), found 1.0"),
        (("x", False, -0.1), "found -0.1"),
        (("x", False, float("nan")), "found nan"),
    ],
)
def test_bad_nodes_are_refused(arguments: tuple[str, bool, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small().add_node(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0), "two different nodes, found `a` twice"),
        ((0, 9), "two known nodes"),
        ((-1, 0), "two known nodes"),
        ((0, 1, -1.0), "cost: expected a number from 0"),
        ((0, 1, float("inf")), "found inf"),
        ((0, 1, float("nan")), "found nan"),
        ((0, 1, 1.0, 1.0), "loss: expected a probability"),
        ((0, 1, 1.0, float("nan")), "found nan"),
        ((0, 1, 1.0, 0.0, "main"), "found link `main` twice"),
        ((0, 1, 1.0, 0.0, "\x07"), "printable"),
    ],
)
def test_bad_links_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    topology = small()
    with pytest.raises(InputError, match=message):
        topology.add_link(*arguments)
    assert topology.link_count() == 3


def test_document_round_trip() -> None:
    topology = random_connected(20, 40, Rng(1))
    vary(topology, Rng(2), cost=(0.0, 9.0), loss=(0.0, 0.5), crash=(0.0, 0.5))
    document = topology_to_document(topology)
    again = topology_from_document(document, "file")
    assert topology_to_document(again) == document
    assert again.link_cost == topology.link_cost
    assert again.crash == topology.crash


def test_document_defaults() -> None:
    topology = topology_from_document(
        {"nodes": [{"name": "a"}, {"name": "b", "kind": "switch"}], "links": [{"ends": ["b", "a"]}]}, "file"
    )
    assert (topology.link_cost[0], topology.link_loss[0], topology.crash[0]) == (1.0, 0.0, 0.0)
    assert [topology.is_switch(node) for node in (0, 1)] == [False, True]
    assert topology.link_labels() == ["b-a"]


NODES: list[dict[str, Any]] = [{"name": "alpha"}, {"name": "beta"}]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "missing required field `nodes`"),
        ({"nodes": []}, "`nodes`: expected at least one node"),
        ({"nodes": NODES, "link": []}, r"unknown key `link` \(did you mean `links`\?\)"),
        ({"nodes": [{"name": "a", "colour": 1}]}, "unknown key `nodes"),
        ({"nodes": [{"name": 7}]}, "`nodes"),
        ({"nodes": [{"name": "a", "kind": "router"}]}, "`nodes"),
        ({"nodes": [{"name": "a", "crash": "often"}]}, "`nodes"),
        ({"nodes": [{"name": "a", "crash": float("nan")}]}, r"`nodes\[0\].crash`: expected a finite number"),
        ({"nodes": [{"name": "a"}, {"name": "a"}]}, r"`nodes\[1\]`: name: expected unique names, found `a`"),
        ({"nodes": NODES, "links": [{}]}, "missing required field `ends`"),
        ({"nodes": NODES, "links": [{"ends": ["alpha"]}]}, "`links"),
        ({"nodes": NODES, "links": [{"ends": ["alpha", "beta", "alpha"]}]}, "`links"),
        (
            {"nodes": NODES, "links": [{"ends": ["alpha", "bta"]}]},
            r"`links\[0\]`: ends: expected known nodes, found `bta` \(did you mean `beta`\?\)",
        ),
        (
            {"nodes": NODES, "links": [{"ends": ["alpha", "alpha"]}]},
            "two different nodes, found `alpha` twice",
        ),
        ({"nodes": NODES, "links": [{"ends": ["alpha", "beta"], "cost": -1}]}, r"cost: .* found -1"),
        ({"nodes": NODES, "links": [{"ends": ["alpha", "beta"], "cost": 1e300}]}, "cost: expected"),
        ({"nodes": NODES, "links": [{"ends": ["alpha", "beta"], "loss": 1}]}, r"loss: .* \[0, 1\), found 1"),
    ],
)
def test_bad_topology_documents_name_file_and_key(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        topology_from_document(document, "net.toml")
    assert str(caught.value).startswith("net.toml: ")
    assert "\n" not in str(caught.value)


def test_groups_document() -> None:
    groups = {"alpha": ["a", "b"], "beta": ["b"]}
    assert groups_from_document({"groups": groups}, "file") == groups


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "missing required field `groups`"),
        ({"groups": {}}, "expected at least one group"),
        ({"groups": {"": ["a"]}}, "expected 1 to"),
        ({"groups": {"g": []}}, r"`groups.g`: expected at least one site"),
        ({"groups": {"g": ["a", ""]}}, r"`groups.g`: name: expected 1 to"),
        ({"groups": {"g": ["a", "b", "a"]}}, r"`groups.g`: expected each site once, found `a` twice"),
        ({"groups": {"g": "a"}}, "expected `array`"),
        ({"groups": {"g": [1]}}, "expected `str`"),
        ({"groups": ["a"]}, "expected `object`"),
        ({"groups": {"g": ["a"]}, "sites": []}, "unknown key `sites`"),
    ],
)
def test_bad_group_documents_name_file_and_key(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        groups_from_document(document, "groups.toml")
    assert str(caught.value).startswith("groups.toml: ")


def test_numbers_are_packed() -> None:
    """Numbers take 4 or 8 bytes each: a link with its two places in the adjacency takes less than 48."""
    topology = grid(250, 200)
    topology.neighbours(0)
    arrays = [
        topology.link_first,
        topology.link_second,
        topology._offsets,
        topology._neighbours,
        topology._links_at,
    ]
    floats = [topology.link_cost, topology.link_loss, topology.crash]
    size = sum(len(numbers) * numbers.itemsize for numbers in arrays)
    size += sum(len(numbers) * numbers.itemsize for numbers in floats)
    assert topology.link_count() == 99_550
    assert size / topology.link_count() < 48
