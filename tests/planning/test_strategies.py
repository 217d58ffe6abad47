"""Broadcast strategies: the shapes, the names, the limits."""

import pytest

from tocsin.core.errors import InputError
from tocsin.planning.strategies import (
    LISTED_TIMES_MAX,
    Bush,
    Chain,
    GivenTree,
    MinimumTime,
    Strategy,
    relative_name,
    site_of,
    site_parent,
    site_successors,
    strategy,
)


def test_a_chain() -> None:
    chain = Chain(4, 3, 2)
    assert chain.edges() == [(1, 2, 0), (2, 3, 3), (3, 4, 6)]
    assert chain.completion_time() == 9
    assert chain.received() == [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    assert chain.buffer_capacity() == 1
    assert [chain.parent(name) for name in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert [chain.successors(name) for name in (1, 4)] == [[2], []]


def test_a_bush() -> None:
    bush = Bush(4, 3, 2)
    assert bush.edges() == [(1, 2, 0), (1, 3, 2), (1, 4, 4)]
    assert bush.completion_time() == 7
    assert bush.received() == [1, 0, 0, 1, 0, 1, 0, 1]
    assert bush.buffer_capacity() == 2
    assert bush.sends(1) == [(2, 0), (3, 2), (4, 4)]
    assert bush.sends(2) == []


def test_a_minimum_time_tree() -> None:
    tree = MinimumTime(8, 1, 1)
    assert tree.edges() == [(1, 2, 0), (1, 3, 1), (2, 4, 1), (1, 5, 2), (2, 6, 2), (3, 7, 2), (4, 8, 2)]
    assert tree.completion_time() == 3
    assert tree.received() == [1, 1, 2, 4]
    assert tree.buffer_capacity() == 4
    assert tree.successors(1) == [2, 3, 5]
    assert tree.logical_name(4) == (0, 4)
    assert [tree.received_total(time) for time in (-1, 0, 3)] == [0, 1, 8]


def test_logical_names_number_each_class_from_one() -> None:
    tree = MinimumTime(200, 3, 5)
    classes: dict[int, list[int]] = {}
    for name in range(1, 201):
        number, identity = tree.logical_name(name)
        classes.setdefault(number, []).append(identity)
    assert all(identities == list(range(1, len(identities) + 1)) for identities in classes.values())
    assert len(classes) == 5


def test_a_given_tree() -> None:
    tree = GivenTree([[], [3, 2], [], [4, 5], [], []], 2, 3)
    assert tree.edges() == [(1, 3, 0), (3, 4, 2), (1, 2, 3), (3, 5, 5)]
    assert [tree.parent(name) for name in range(1, 6)] == [0, 1, 1, 3, 3]
    assert tree.completion_time() == 7
    assert tree.received() == [1, 0, 1, 0, 1, 1, 0, 1]
    assert tree.buffer_capacity() == 2


@pytest.mark.parametrize(
    "children",
    [
        [[], [2, 2], []],
        [[], [1]],
        [[], [2], [1]],
        [[], [3], []],
        [[], [2], [], [4], [3]],
        [[], [0]],
    ],
)
def test_what_is_no_tree_is_refused(children: list[list[int]]) -> None:
    with pytest.raises(InputError, match="tree: expected"):
        GivenTree(children, 1, 1)


@pytest.mark.parametrize("shape", ["chain", "bush", "minimum"])
def test_one_site_alone(shape: str) -> None:
    alone = strategy(shape, 1, 5, 2)
    assert (alone.edges(), alone.completion_time(), alone.received()) == ([], 0, [1])
    assert (alone.parent(1), alone.successors(1)) == (0, [])
    assert MinimumTime(1, 5, 2).edges() == []


@pytest.mark.parametrize(("delay", "gap"), [(1, 1), (3, 2), (2, 3), (1, 7), (9, 1)])
@pytest.mark.parametrize("shape", ["chain", "bush", "minimum"])
def test_the_message_reaches_every_site_once_from_any_root(shape: str, delay: int, gap: int) -> None:
    plan = strategy(shape, 13, delay, gap)
    for root in range(13):
        reached = [root]
        for site in reached:
            successors = site_successors(plan, root, site)
            assert all(site_parent(plan, root, successor) == site for successor in successors)
            reached.extend(successors)
        assert sorted(reached) == list(range(13))
        assert site_parent(plan, root, root) == -1


def test_relative_names_turn_with_the_root() -> None:
    assert [relative_name(site, 3, 5) for site in range(5)] == [3, 4, 5, 1, 2]
    assert [site_of(relative_name(site, 3, 5), 3, 5) for site in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("star", 3, 1, 1), "shape: expected one of chain, bush, minimum, found `star`"),
        (("bush", 0, 1, 1), "sites: expected an integer from 1"),
        (("bush", 3, 0, 1), "delay: expected an integer from 1"),
        (("minimum", 3, 1, -1), "gap: expected an integer from 1"),
        (("minimum", 10**12, 1, 1), "sites: expected"),
        (("chain", 3, 10**12, 1), "delay: expected"),
    ],
)
def test_impossible_numbers_are_refused(arguments: tuple[str, int, int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        strategy(*arguments)


def test_a_list_too_long_is_refused_and_the_rest_still_answers() -> None:
    plans: list[Strategy] = [Chain(30, 10**9, 1), MinimumTime(30, 10**9, 10**9)]
    for plan in plans:
        assert plan.completion_time() > LISTED_TIMES_MAX
        assert len(plan.edges()) == 29
        with pytest.raises(InputError, match="use a coarser unit"):
            plan.received()
    assert plans[1].buffer_capacity() == 16
