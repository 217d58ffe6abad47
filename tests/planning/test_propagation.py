"""Propagation forests: properties of every result, measures, and balancing load against depth."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.core.errors import InputError
from tocsin.core.rng import Rng
from tocsin.planning.balance import balanced
from tocsin.planning.propagation import Forest, need_properties, number_sites, propagation_forest

SITES = 12
GROUPS = st.lists(st.sets(st.integers(0, SITES - 1), min_size=1).map(sorted), min_size=1, max_size=10)


def depths(forest: Forest) -> list[int]:
    level = forest.levels()
    return [forest.depth(group, level) for group in range(len(forest.groups))]


def extra(forest: Forest) -> int:
    return sum(len(forest.extra_sites(group)) for group in range(len(forest.groups)))


@settings(deadline=None)
@given(GROUPS)
def test_every_member_hears_from_its_primary_destination(groups: list[list[int]]) -> None:
    forest = propagation_forest(SITES, groups)
    inside = {site for group in groups for site in group}
    assert sorted(forest.downwards()) == sorted(inside)
    for number, group in enumerate(groups):
        assert forest.primary[number] in group
        for member in group:
            site = member
            while site != forest.primary[number]:
                site = forest.parent[site]
                assert site >= 0
    for site in range(SITES):
        assert all(forest.parent[child] == site for child in forest.children[site])


@settings(deadline=None)
@given(GROUPS)
def test_measures_agree_with_sending_a_message_to_every_group(groups: list[list[int]]) -> None:
    """The message passing of appendix I, played out: who handles what, at which distance."""
    forest = propagation_forest(SITES, groups)
    load = [0] * SITES
    for number, group in enumerate(groups):
        deepest = 0
        handled = set()
        front = [(forest.primary[number], 0)]
        for site, distance in front:
            load[site] += 1
            handled.add(site)
            deepest = max(deepest, distance) if site in group else deepest
            for child in forest.children[site]:
                subtree = [child]
                for below in subtree:
                    subtree.extend(forest.children[below])
                if set(subtree) & set(group):
                    load[site] += 1
                    front.append((child, distance + 1))
        assert set(forest.relays(number)) == handled
        assert forest.extra_sites(number) == sorted(handled - set(group))
        assert depths(forest)[number] == deepest
    assert forest.loads() == load


@settings(deadline=None, max_examples=60)
@given(GROUPS, st.integers(0, 4), st.booleans())
def test_balancing_keeps_the_promises(groups: list[list[int]], growth: int, allow_extra: bool) -> None:
    forest = propagation_forest(SITES, groups)
    before = (forest.parent[:], forest.primary[:], [children[:] for children in forest.children])
    after = balanced(forest, growth, allow_extra)
    assert before == (forest.parent, forest.primary, forest.children)
    need_properties(after)
    assert max(after.loads()) <= max(forest.loads())
    assert all(new <= old + growth for new, old in zip(depths(after), depths(forest), strict=True))
    if not allow_extra:
        assert extra(after) <= extra(forest)


def test_balancing_knows_the_loads_it_makes() -> None:
    """The loads kept up to date step by step are those counted afresh at the end."""
    from tocsin.planning.balance import _Balancer

    for seed in range(30):
        rng = Rng(seed)
        forest = propagation_forest(40, [rng.sample(40, 2 + rng.below(8)) for _ in range(15)])
        for allow_extra in (False, True):
            balancer = _Balancer(forest, 3, allow_extra)
            balancer.run()
            assert balancer.load == balancer.forest.loads()
            level = balancer.forest.levels()
            for group in range(15):
                steps = balancer.below[balancer.forest.primary[group]][group]
                assert steps == balancer.forest.depth(group, level)


def test_more_depth_buys_less_load() -> None:
    """The curve of section 4.1: 200 sites, 20 groups of 5."""
    rng = Rng(1)
    forest = propagation_forest(200, [rng.sample(200, 5) for _ in range(20)])
    largest = [max(balanced(forest, growth).loads()) for growth in range(4)]
    assert max(forest.loads()) == 14
    assert largest == [14, 10, 10, 9]


def test_sites_in_no_group_are_not_in_the_forest() -> None:
    forest = propagation_forest(5, [[1, 3]])
    assert forest.downwards() == [1, 3]
    assert forest.levels() == [-1, 0, -1, 1, -1]
    assert forest.loads() == [0, 2, 0, 1, 0]


def test_separate_groups_make_separate_trees() -> None:
    forest = propagation_forest(6, [[4, 5], [0, 1], [2, 1]])
    assert forest.roots == [1, 4]
    assert forest.primary == [4, 1, 1]
    assert forest.children == [[], [0, 2], [], [], [5], []]


def test_a_group_of_one_site_and_equal_groups() -> None:
    forest = propagation_forest(3, [[2], [0, 1], [0, 1]])
    assert forest.primary == [2, 0, 0]
    assert depths(forest) == [0, 1, 1]
    assert forest.loads() == [4, 2, 1]


def test_long_chains_of_groups_need_no_deep_recursion() -> None:
    forest = propagation_forest(20_001, [list(range(4 * place, 4 * place + 5)) for place in range(5000)])
    assert max(forest.levels()) == 4999
    assert max(depths(forest)) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("primary outside", "PG1, PG3"),
        ("no primary", "PG1, PG3"),
        ("member above", "PG2"),
        ("member elsewhere", "PG2"),
        ("two places", "two places"),
    ],
)
def test_a_broken_forest_is_noticed(change: str, message: str) -> None:
    forest = propagation_forest(5, [[0, 1, 2], [1, 3], [4]])
    assert forest.children == [[], [0, 2, 3], [], [], []]
    if change == "primary outside":
        forest.primary[0] = 3
    elif change == "no primary":
        forest.primary[1] = -1
    elif change == "member above":
        forest.primary[0] = 0
    elif change == "member elsewhere":
        forest.children[1].remove(3)
        forest.children[4].append(3)
        forest.parent[3] = 4
    else:
        forest.children[4].append(3)
    with pytest.raises(AssertionError, match=message):
        need_properties(forest)


def test_numbers_follow_names() -> None:
    names, groups = number_sites({"g": ["z", "a"], "h": ["m", "z"]})
    assert names == ["a", "m", "z"]
    assert groups == [[2, 0], [1, 2]]


def test_bad_calls_are_refused() -> None:
    with pytest.raises(InputError, match="expected no empty group"):
        propagation_forest(2, [[0], []])
    with pytest.raises(InputError, match="depth growth: expected an integer >= 0, found -1"):
        balanced(propagation_forest(2, [[0, 1]]), -1)
