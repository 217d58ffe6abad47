"""Theorem 4.1 both ways: one coordinator per stable partition exactly when lists are acyclic and jointly complete."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.coordinator_tree.runs import Run
from tocsin.core.rng import Rng
from tocsin.planning.priorities import check_lists
from tocsin.sim.scenario import Scenario, scenario_from_document

MOMENT_US = 100_000
STABLE_US = 6_000_000  # long enough for trees of eight hosts: lists of seven, probed at 50 ms, twice, and time-outs
SHORT = 40
MANY = 3_000


def draw_lists(rng: Rng, hosts: int) -> list[list[int]]:
    """Legal lists: a random order with the source, host 0, first; each lists all before it, shuffled."""
    order = list(range(1, hosts))
    rng.shuffle(order)
    order = [0, *order]
    lists: list[list[int]] = [[] for _ in range(hosts)]
    for place, host in enumerate(order):
        before = order[:place]
        rng.shuffle(before)
        lists[host] = before
    return lists


def draw_scenario(rng: Rng, hosts: int, lists: list[list[int]] | None, **options: Any) -> Scenario:
    """A random switched network; without lists given, the hosts make Shortest-Distance-First ones."""
    document: dict[str, Any] = {
        "protocol": "coordinator_tree",
        "duration_us": 60_000_000,
        "workload": {"messages": 1, "every_us": 1, "senders": ["h1"]},
        "options": options,
    }
    if lists is not None:
        named = {f"h{host + 1}": [f"h{other + 1}" for other in lists[host]] for host in range(hosts)}
        document["options"]["lists"] = {"h1": named}
    switches = rng.between(2, 6)
    trunks = min(switches * (switches - 1) // 2, switches - 1 + rng.below(3))
    document["topology"] = {"shape": "random_switched", "hosts": hosts, "switches": switches, "trunks": trunks}
    document["network"] = {"model": "switched", "delay_us": [100, 1_500], "loss": rng.below(3) * 0.05}
    scenario = scenario_from_document(document, "theorem", Path())
    scenario._generated = None  # the topology of the scenario, whose links the test knows, not one of the run's seed
    return scenario


def parts_of(run: Run, failed: list[int]) -> list[list[str]]:
    """The hosts of each connected part of the network without the failed links."""
    topology = run.scenario.topology
    assert topology is not None
    part = list(range(topology.node_count()))
    changed = True
    while changed:
        changed = False
        for link in range(topology.link_count()):
            first, second = topology.link_first[link], topology.link_second[link]
            if link not in failed and part[first] != part[second]:
                part[first] = part[second] = min(part[first], part[second])
                changed = True
    found: dict[int, list[str]] = {}
    for node in topology.hosts():
        found.setdefault(part[node], []).append(topology.node_names[node])
    return list(found.values())


def assert_one_coordinator(run: Run, hosts: list[str], case: str) -> None:
    """All take the same host for their coordinator, it does so too, and it alone probes."""
    probers = run.probers(hosts, "h1")
    assert len(probers) == 1, f"{case}: {probers} probe among {hosts}"
    assert run.coordinators(hosts, "h1") == set(probers), f"{case}: {hosts}"


def check_case(seed: int) -> int:
    """Fail links twice (partitions split and fuse), then repair all; how many parts were checked."""
    rng = Rng(seed).fork("theorem")
    hosts = rng.between(3, 8)
    lists = draw_lists(rng, hosts) if rng.chance(0.5) else None
    run = Run(draw_scenario(rng, hosts, lists), seed)
    topology = run.scenario.topology
    links = run.network.links
    assert topology is not None and links is not None
    run.until(1_000_000)
    checked = 0
    for round_ in range(2):
        failed = [link for link in range(topology.link_count()) if rng.chance(0.35)]
        for link in range(topology.link_count()):
            if link in failed:
                links.fail(link)
            else:
                links.repair(link)
        run.network.carrier.conditions.loss = 0.0
        run.until(run.simulation.kernel.now + STABLE_US)
        for hosts_of_part in parts_of(run, failed):
            if "h1" not in hosts_of_part:
                assert_one_coordinator(run, hosts_of_part, f"seed {seed}, round {round_}")
                checked += 1
            else:
                assert run.coordinators([h for h in hosts_of_part if h != "h1"], "h1") <= {"nobody"}
    return checked


def test_legal_lists_give_one_coordinator_to_every_partition() -> None:
    checked = sum(check_case(seed) for seed in range(SHORT))
    assert checked > 2 * SHORT


@pytest.mark.long
def test_legal_lists_give_one_coordinator_to_every_partition_of_thousands() -> None:
    checked = sum(check_case(seed) for seed in range(SHORT, SHORT + MANY))
    assert checked > 2 * MANY


@pytest.mark.parametrize("seed", range(20))
def test_a_pair_that_is_not_jointly_complete_is_a_partition_with_two_coordinators(seed: int) -> None:
    """The other way: take somebody off a list; the witness of the check is a partition that stays in two."""
    rng = Rng(seed).fork("incomplete")
    hosts = rng.between(3, 7)
    lists = draw_lists(rng, hosts)
    victim = max(range(hosts), key=lambda host: len(lists[host]))
    lists[victim].remove([other for other in lists[victim] if other != 0][rng.below(hosts - 2)])
    verdict = check_lists(lists)
    assert verdict.acyclic and not verdict.jointly_complete
    pair = [f"h{host + 1}" for host in verdict.missing_pair]
    run = Run(draw_scenario(rng, hosts, lists, unsafe_lists=True), seed)
    run.until(1_000_000)
    run.network.carrier.conditions.partition([[run.names.index(name) for name in pair]])
    run.until(5_000_000)
    for _ in range(20):
        run.until(run.simulation.kernel.now + MOMENT_US)
        assert run.probers(pair, "h1") == pair
