"""Names computed as needed against the tree built step by step from strategy S."""

import pytest

from tocsin.planning.strategies import Bush, Chain, MinimumTime, Strategy


class Materialised:
    """Strategy S played out: at each time those who may send do so, in the order in which they received."""

    def __init__(self, sites: int, delay: int, gap: int) -> None:
        self.edges: list[tuple[int, int, int]] = []
        self.received_at = {1: 0}
        self.children: dict[int, list[int]] = {name: [] for name in range(1, sites + 1)}
        self.parents = {1: 0}
        classes: list[list[int]] = [[] for _ in range(gap)]  # by receive time modulo gap
        arriving = {0: [1]}
        named = 1
        time = 0
        while named < sites:
            classes[time % gap].extend(arriving.pop(time, []))
            for sender in classes[time % gap]:
                if named < sites:
                    named += 1
                    self.edges.append((sender, named, time))
                    self.children[sender].append(named)
                    self.parents[named] = sender
                    self.received_at[named] = time + delay
                    arriving.setdefault(time + delay, []).append(named)
            time += 1


def assert_same(plan: Strategy, twin: Materialised) -> None:
    names = range(1, plan.sites + 1)
    assert plan.edges() == twin.edges
    assert [plan.successors(name) for name in names] == [twin.children[name] for name in names]
    assert [plan.parent(name) for name in names] == [twin.parents[name] for name in names]
    assert [plan.received_at(name) for name in names] == [twin.received_at[name] for name in names]
    assert plan.completion_time() == max(twin.received_at.values())


SIZES = [*range(1, 25), 47, 100, 233, 300]


@pytest.mark.parametrize("delay", range(1, 9))
def test_as_needed_equals_materialised(delay: int) -> None:
    for gap in range(1, 9):
        for sites in SIZES:
            assert_same(MinimumTime(sites, delay, gap), Materialised(sites, delay, gap))


@pytest.mark.long
@pytest.mark.parametrize("delay", range(1, 9))
@pytest.mark.parametrize("gap", range(1, 9))
def test_as_needed_equals_materialised_for_every_size(delay: int, gap: int) -> None:
    for sites in range(1, 301):
        assert_same(MinimumTime(sites, delay, gap), Materialised(sites, delay, gap))


@pytest.mark.parametrize(("delay", "gap"), [(100, 1), (61, 2), (1, 100), (2, 61), (97, 89), (640, 1)])
def test_as_needed_equals_materialised_for_lopsided_times(delay: int, gap: int) -> None:
    for sites in (2, 3, 5, 30, 31, 150):
        assert_same(MinimumTime(sites, delay, gap), Materialised(sites, delay, gap))


def test_chain_and_bush_equal_the_minimum_in_their_regimes() -> None:
    for sites in range(1, 40):
        assert_same(Bush(sites, 40, 1), Materialised(sites, 40, 1))
        assert_same(Chain(sites, 1, 40), Materialised(sites, 1, 40))
