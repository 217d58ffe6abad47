"""Many seeds: truth is inside the credible intervals as often as it should be, and nothing raises on any change."""

import math

import pytest

from tests.known_failures import assert_seeds_hold
from tests.protocols.reliability_tree.coverage import LEVEL, Coverage, add_seed
from tocsin.protocols.reliability_tree import PROTOCOL
from tocsin.sim.swarm.draw import draw_scenario
from tocsin.sim.swarm.swarm import never_happened

FEW, MANY = 40, 2_000


def covered(seeds: int) -> Coverage:
    coverage = Coverage()
    for seed in range(seeds):
        add_seed(coverage, seed)
    return coverage


def is_honest(coverage: Coverage) -> bool:
    """Within what chance explains (4 deviations), and 0.01 for the lag of news and for bounds at 0."""
    return abs(coverage.rate() - LEVEL) < 4 * math.sqrt(LEVEL * (1 - LEVEL) / coverage.total) + 0.01


def test_credible_intervals_of_a_few_seeds() -> None:
    coverage = covered(FEW)
    assert coverage.total > 200 and is_honest(coverage), (coverage.rate(), coverage.total)


@pytest.mark.long
def test_credible_intervals_of_many_seeds() -> None:
    coverage = covered(MANY)
    assert coverage.total > 10_000 and is_honest(coverage), (coverage.rate(), coverage.total)


@pytest.mark.long
def test_many_seeds() -> None:
    assert not never_happened(PROTOCOL, assert_seeds_hold(PROTOCOL, range(MANY)))


def test_links_and_processes_come_and_go_in_the_swarm() -> None:
    """A swarm in which nothing changed would prove nothing."""
    seen: set[str] = set()
    for seed in range(60):
        document = draw_scenario(PROTOCOL, seed)
        seen.update(what for fault in document["faults"] for what in fault)
        seen.add(str(document.get("topology", {}).get("shape")))
    assert {"fail", "repair", "join", "crash", "recover", "partition", "cut", "pause"} <= seen
    assert {"ring", "random_tree", "random_connected", "None"} <= seen
