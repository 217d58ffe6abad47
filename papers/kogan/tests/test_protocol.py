"""Garcia-Molina, Kogan 1988: the examples of sections 4 and 5 and of Appendix I, run."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.coordinator_tree.runs import FIGURE_2_1, Run, scenario
from tocsin.core.config import decode_config
from tocsin.core.effects import Effect, Multicast, Send
from tocsin.core.errors import InputError
from tocsin.core.message import Message
from tocsin.core.rangeset import rangeset_of
from tocsin.core.topology_config import topology_from_document
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import tree_cost
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.coordinator_tree.lists import Lists
from tocsin.protocols.coordinator_tree.messages import RANGES_MAX, Data, Desc, Holding, Wanted
from tocsin.protocols.coordinator_tree.messages import Request as AskedFor
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

HOSTS = ["h2", "h3", "h4", "h5"]
SECTION_4_2 = {"h2": ["h1"], "h3": ["h1", "h2"], "h4": ["h3", "h5", "h2", "h1"], "h5": ["h1", "h3", "h2"]}
ASSIGNMENT_A = {"h2": ["h1"], "h3": ["h1", "h2"], "h4": ["h3", "h1", "h2"], "h5": ["h3", "h4", "h1", "h2"]}
ASSIGNMENT_B = {"h2": ["h1", "h4", "h5"], "h3": ["h1", "h2", "h4", "h5"], "h4": ["h1", "h5"], "h5": ["h1"]}
FIGURE_4_1 = {"h4": "h3", "h5": "h3", "h3": "h2"}
FIGURE_5_1 = {"h3": "h2", "h2": "h4", "h4": "h5"}
SOURCE_ALONE = [["h1"], HOSTS]


def figure(
    folder: Path, lists: dict[str, list[str]], faults: list[dict[str, Any]], seed: int = 0, **options: Any
) -> Run:
    """The network of Figure 2.1 with h1 as the source, the lists kept in the order given."""
    return Run(
        scenario(
            folder,
            FIGURE_2_1,
            duration_us=60_000_000,
            options={"lists": {"h1": lists}, "measure_periods": 0, **options},
            workload={"messages": 1, "every_us": 1, "senders": ["h1"]},
            network={"model": "switched", "delay_us": 200},
            faults=faults,
        ),
        seed,
    )


def test_figure_4_1_and_the_change_when_h4_and_h5_split_off(tmp_path: Path) -> None:
    run = figure(
        tmp_path,
        SECTION_4_2,
        [
            {"at_us": 1_000_000, "partition": SOURCE_ALONE},
            {"at_us": 5_000_000, "partition": [["h1"], ["h2", "h3"], ["h4", "h5"]]},
            {"at_us": 9_000_000, "partition": SOURCE_ALONE},
            {"at_us": 13_000_000, "heal": True},
        ],
    )
    run.until(4_900_000)
    assert run.parents(HOSTS, "h1") == FIGURE_4_1
    assert run.coordinators(HOSTS, "h1") == {"h2"}
    assert run.probers(HOSTS, "h1") == ["h2"]
    run.until(8_900_000)  # h4 attaches to h5, the next on its list, and h5 becomes the coordinator of the new partition
    assert run.parents(HOSTS, "h1") == {"h3": "h2", "h4": "h5"}
    assert run.probers(HOSTS, "h1") == ["h2", "h5"]
    assert run.coordinators(["h4", "h5"], "h1") == {"h5"}
    run.until(12_900_000)  # the two partitions fuse: one coordinator again
    assert run.probers(HOSTS, "h1") == ["h2"]
    assert run.coordinators(HOSTS, "h1") == {"h2"}
    run.until(15_000_000)  # everybody hears the source: no tree is left
    assert run.coordinators(HOSTS, "h1") == {"nobody"}


@pytest.mark.parametrize(
    ("lists", "tree", "coordinator", "crossings", "cost"),
    [(ASSIGNMENT_A, FIGURE_4_1, "h2", 1, 14.0), (ASSIGNMENT_B, FIGURE_5_1, "h5", 2, 21.0)],
)
def test_assignments_a_and_b_when_l1_goes_down(
    tmp_path: Path,
    lists: dict[str, list[str]],
    tree: dict[str, str],
    coordinator: str,
    crossings: int,
    cost: float,
) -> None:
    run = figure(tmp_path, lists, [{"at_us": 1_000_000, "fail": ["l1"]}]).until(5_000_000)
    assert run.parents(HOSTS, "h1") == tree
    assert run.coordinators(HOSTS, "h1") == {coordinator}
    near = {"h1", "h2"}  # this side of the expensive link l6
    assert sum((child in near) != (parent in near) for child, parent in tree.items()) == crossings
    numbers = [run.names.index(tree[host]) if host in tree else -1 for host in run.names]
    distances = HostDistances(topology_from_document(FIGURE_2_1, "figure"))
    assert tree_cost(numbers, distances) == cost


def test_shortest_distance_first_gives_assignment_a() -> None:
    topology = topology_from_document(FIGURE_2_1, "figure")
    names = [topology.node_names[node] for node in topology.hosts()]
    made = {names[site]: [names[h] for h in Lists(site, 5, topology, {}, False).of(0)] for site in range(1, 5)}
    assert made == ASSIGNMENT_A


# Section 4.2: the two ways in which lists fail


def test_lists_that_are_not_jointly_complete_leave_two_coordinators(tmp_path: Path) -> None:
    lists = {**SECTION_4_2, "h4": ["h3", "h2", "h1"]}
    split = [{"at_us": 1_000_000, "partition": [["h1"], ["h2", "h3"], ["h4", "h5"]]}]
    with pytest.raises(InputError, match="neither of `h4` and `h5` is on the other's list"):
        figure(tmp_path, lists, split)
    run = figure(tmp_path, lists, split, unsafe_lists=True)
    for second in range(3, 30):  # and so it stays
        run.until(second * 1_000_000)
        assert run.probers(["h4", "h5"], "h1") == ["h4", "h5"]
        assert run.coordinators(["h4", "h5"], "h1") == {"h4", "h5"}


def test_lists_that_are_not_acyclic_leave_nobody_probing(tmp_path: Path) -> None:
    """Each takes another for the coordinator and nobody probes. (Ours notices, and starts again.)"""
    lists = {**SECTION_4_2, "h2": ["h1", "h4"]}
    with pytest.raises(InputError, match="not acyclic: h2 -> h4 -> h2"):
        figure(tmp_path, lists, [])
    cycles, nobody_probes = _watch_for_cycles(tmp_path, lists)
    assert cycles > 0
    assert nobody_probes > 0
    assert _watch_for_cycles(tmp_path, SECTION_4_2) == (0, 0)


def _watch_for_cycles(folder: Path, lists: dict[str, list[str]]) -> tuple[int, int]:
    """Moments with a cycle of coordinators while a tree forms, and those of them at which nobody probes."""
    cycles = 0
    nobody_probes = 0
    cut = [{"at_us": 1_000_000, "partition": SOURCE_ALONE}]
    for seed in range(10):
        run = figure(folder, lists, cut, seed, unsafe_lists=True)
        for step in range(150):
            run.until(1_300_000 + step * 4_000)
            pointers = {host: run.seat(host, "h1").coordinator for host in HOSTS}
            follows = {host: run.names[site] for host, site in pointers.items() if site >= 0}
            if any(_on_a_cycle(host, follows) for host in HOSTS):
                cycles += 1
                nobody_probes += not run.probers(HOSTS, "h1")
    return cycles, nobody_probes


def _on_a_cycle(start: str, follows: dict[str, str]) -> bool:
    here = follows.get(start, start)
    seen = {start}
    while here not in seen:
        seen.add(here)
        here = follows.get(here, here)
    return here == start and follows.get(start, start) != start


# Appendix I: the example of fill()


def test_the_fill_of_appendix_i() -> None:
    """i has 1, 2, 3, 5, 6; k has 1, 3, 5; j has 1, 2, 4: messages 2 and 6 go to k, and 3, 5, 6 to j."""
    options = decode_config({"measure_periods": 0}, PROTOCOL.options, "test")
    everybody = [0, 1, 2, 3]
    source, i, j, k = everybody
    site = ManualSite(i, PROTOCOL, options, 4, everybody, [everybody], None, 0)
    site.apply(Input(manual_site.START, 0))
    for number in (1, 2, 3, 5, 6):
        _receive(site, source, Data(0, source, number, number, b"%d" % number))
    told = Desc((_holding(j, [1, 2, 4]), _holding(k, [1, 3, 5])), 0)
    asked = _receive(site, j, told)
    wanted = Wanted(0, source, rangeset_of([4]).to_wire())
    assert [effect.message for effect in asked if isinstance(effect, Send)] == [AskedFor((wanted,))]  # up the tree
    happening = Input(manual_site.TIMER, 2_000)
    happening.timer = "FILL"
    sent = {}
    for effect in site.apply(happening):
        if isinstance(effect, Send) and isinstance(effect.message, Data):
            sent[effect.message.number] = [effect.target]
        elif isinstance(effect, Multicast) and isinstance(effect.message, Data):
            sent[effect.message.number] = effect.targets
    assert sent == {2: [k], 3: [j], 5: [j], 6: [j, k]}  # one multicast for message 6


def _holding(site: int, numbers: list[int]) -> Holding:
    return Holding(0, 0, site, True, rangeset_of(numbers).to_wire(RANGES_MAX))


def _receive(site: ManualSite, source: int, message: Message) -> list[Effect]:
    happening = Input(manual_site.RECEIVE, 0)
    happening.peer = source
    happening.message = message
    return site.apply(happening)
