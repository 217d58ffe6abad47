"""Priority lists at run time: the same as the planner's, by number on a mesh, illegal ones refused with the witness."""

from pathlib import Path

import pytest

from tocsin.cli.main import main
from tocsin.core.errors import InputError
from tocsin.core.generators_config import generate, generated_from_document
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import check_lists, shortest_distance_first
from tocsin.protocols.coordinator_tree.lists import Given, Lists

PAPER: Given = {  # section 4.2, for the source h1
    "h1": {"h2": ("h1",), "h3": ("h1", "h2"), "h4": ("h3", "h5", "h2", "h1"), "h5": ("h1", "h3", "h2")}
}


def five_hosts() -> Topology:
    topology = Topology()
    switch = topology.add_node("s", is_switch=True)
    for number in range(1, 6):
        topology.add_link(topology.add_node(f"h{number}"), switch)
    return topology


def lists_of(site: int, given: Given, unsafe: bool = False) -> Lists:
    return Lists(site, 5, five_hosts(), given, unsafe)


@pytest.mark.parametrize("seed", range(40))
def test_a_site_makes_the_list_that_the_planner_makes_for_it(seed: int) -> None:
    rng = Rng(seed)
    shape = {"shape": "random_switched", "hosts": rng.between(2, 15), "switches": 6, "trunks": 5 + rng.below(4)}
    topology = generate(generated_from_document(shape, "test"), rng)
    for link in range(topology.link_count()):
        topology.link_cost[link] = float(rng.between(0, 4)) / 10  # with many ties, and sums that round
    planned = HostDistances(topology)
    for source in range(shape["hosts"]):  # type: ignore[call-overload]
        expected = shortest_distance_first(topology, planned, source).lists
        made = [Lists(site, len(expected), topology, {}, False).of(source) for site in range(len(expected))]
        assert made == expected


def test_without_a_topology_the_source_comes_first_then_lower_numbers() -> None:
    made = [Lists(site, 12, None, {}, False).of(5) for site in range(12)]
    assert made[5] == []
    assert made[0] == [5]
    assert made[3] == [5, 0, 1, 2]
    assert made[11] == [5, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    verdict = check_lists(made)
    assert verdict.acyclic and verdict.jointly_complete


def test_given_lists_are_taken_as_they_are_for_their_source_only() -> None:
    assert lists_of(3, PAPER).of(0) == [2, 4, 1, 0]
    assert lists_of(0, PAPER).of(0) == []
    assert lists_of(0, PAPER).of(1) == [1]  # Shortest-Distance-First for every other source


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"h4": ("h3", "h2", "h1")}, "not jointly complete: neither of `h4` and `h5` is on the other's list"),
        ({"h2": ("h1", "h4")}, "not acyclic: h2 -> h4 -> h2 (each has the next on its list)"),
        ({"h1": ("h2",)}, "the list of the source must be empty"),
        ({"h2": ("h1", "h9")}, "expected hosts, found `h9`"),
        ({"h9": ()}, "expected hosts, found `h9`"),
    ],
)
def test_bad_lists_are_refused_with_the_witness(change: dict[str, tuple[str, ...]], said: str) -> None:
    given = {"h1": {**PAPER["h1"], **change}}
    with pytest.raises(InputError) as refused:
        lists_of(1, given)
    assert said in str(refused.value)


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(InputError, match="expected hosts as sources, found `h7`"):
        lists_of(0, {"h7": {}})


def test_unsafe_lists_run_as_they_are() -> None:
    given = {"h1": {**PAPER["h1"], "h2": ("h1", "h4")}}
    assert lists_of(1, given, unsafe=True).of(0) == [0, 3]


@pytest.mark.parametrize(("unsafe", "code"), [("false", 2), ("true", 0)])
def test_a_run_with_illegal_lists_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unsafe: str, code: int
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(
        'protocol = "coordinator_tree"\nsites = 3\nduration_us = 1_000_000\n'
        "[workload]\nmessages = 1\nevery_us = 1\n"
        f"[options]\nunsafe_lists = {unsafe}\n"
        '[options.lists.0]\n1 = ["0"]\n2 = ["0"]\n'
    )
    assert main(["simulate", str(path), "--json"]) == code
    said = capsys.readouterr().err
    if code == 2:
        assert said.count("\n") == 1
        assert "neither of `1` and `2` is on the other's list" in said
