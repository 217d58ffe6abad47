"""Plans: the tree and the copies of planning, cut to what is known and needed, as bytes that receivers take apart."""

import math

import pytest

from tocsin.core.errors import InputError
from tocsin.core.generators import random_connected, vary
from tocsin.core.rng import Rng
from tocsin.planning.reliability import maximum_reliability_tree, optimize
from tocsin.protocols.reliability_tree.plans import NetworkMap, Plan, best_plan, make_plan, read_plan
from tocsin.protocols.reliability_tree.surroundings import given_map, members_of, neighbours_of

Children = list[tuple[int, int, bytes]]


def walk(plan: Plan, source: int, sites: int) -> dict[int, tuple[int, int]]:
    """By site that gets the message: from whom, and how many copies."""
    found: dict[int, tuple[int, int]] = {}
    waiting: list[tuple[int, Children]] = [(source, plan.sends)]
    while waiting:
        sender, children = waiting.pop()
        for child, copies, below in children:
            assert child not in found and child != source
            found[child] = (sender, copies)
            waiting.append((child, read_plan(below, sites, 10_000)))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_with_given_knowledge_the_plan_is_plannings(seed: int) -> None:
    topology = random_connected(40, 90, Rng(seed))
    vary(topology, Rng(seed), loss=(0.0, 0.3), crash=(0.0, 0.05))
    source = seed * 3
    plan = make_plan(given_map(40, topology, 0.0), source, list(range(40)), 0.9999, 100)
    expected = optimize(maximum_reliability_tree(topology, source), 0.9999)
    assert plan.messages == expected.messages
    assert math.isclose(plan.reach, expected.reach)
    walked = walk(plan, source, 40)
    assert len(walked) == 39 and sum(copies for _, copies in walked.values()) == plan.messages
    for site, (sender, _) in walked.items():
        assert sender in topology.neighbours(site)


def line(*losses: float) -> NetworkMap:
    known = NetworkMap(len(losses) + 1)
    for place, loss in enumerate(losses):
        known.add_link(place, place + 1, loss)
    return known


def test_branches_without_a_member_are_cut_off() -> None:
    known = line(0.1, 0.1, 0.1, 0.1)
    assert set(walk(make_plan(known, 0, [0, 2], 0.99, 100), 0, 5)) == {1, 2}  # 1 passes it on, 3 and 4 need not
    assert set(walk(make_plan(known, 2, [2], 0.99, 100), 2, 5)) == set()
    assert make_plan(known, 2, [2], 0.99, 100).reach == 1.0


def test_who_cannot_be_reached_is_named() -> None:
    known = line(0.1, 0.1)
    known.crash = [0.0] * 6
    plan = make_plan(known, 0, [0, 1, 2, 3, 5], 0.99, 100)
    assert plan.left_out == [3, 5] and set(walk(plan, 0, 6)) == {1, 2}


def test_crashes_of_both_ends_count() -> None:
    """Equation 2: lambda = 1 - (1 - 0.1)(1 - 0.2)(1 - 0.3)."""
    known = line(0.2)
    known.crash = [0.1, 0.3]
    plan = make_plan(known, 0, [0, 1], 0.9, 100)
    lost = 1 - 0.9 * 0.8 * 0.7
    assert plan.messages == math.ceil(math.log(0.1) / math.log(lost))
    assert math.isclose(plan.reach, 1 - lost**plan.messages)


def test_beyond_the_budget_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"reach: 0\.9999 needs more than the budget of 20 messages, which reach 0\.9"):
        make_plan(line(0.5, 0.5), 0, [0, 1, 2], 0.9999, 10)
    with pytest.raises(InputError, match=r"1 cannot be promised over links that lose"):
        make_plan(line(0.5, 0.5), 0, [0, 1, 2], 1.0, 10)
    with pytest.raises(InputError, match=r"expected a probability in \(0, 1\], found 0"):
        make_plan(line(0.5, 0.5), 0, [0, 1, 2], 0.0, 10)


def test_the_best_that_the_budget_pays() -> None:
    known = line(0.5, 0.5)
    plan = best_plan(known, 0, [0, 1, 2], 0.9999, 10)
    assert plan.messages == 20 and math.isclose(plan.reach, (1 - 2**-10) ** 2)
    assert best_plan(known, 0, [0, 1, 2], 0.9, 10).messages == make_plan(known, 0, [0, 1, 2], 0.9, 10).messages
    assert best_plan(known, 0, [0, 1, 2], 0.9999, 1).messages == 2


def test_plans_that_no_process_sends() -> None:
    plan = make_plan(line(0.5, 0.5, 0.5), 0, [0, 1, 2, 3], 0.99, 100)
    _, copies, below = plan.sends[0]
    assert read_plan(below, 4, 100) and copies > 1
    assert read_plan(below[:-1], 4, 100) == []
    assert read_plan(below, 2, 100) == []  # a site that does not exist
    assert read_plan(below, 4, 1) == []  # more copies than any budget
    assert read_plan(b"\x01\x00\x00", 4, 100) == []  # no copy at all
    rng = Rng(1)
    for _ in range(2_000):
        for child, count, _ in read_plan(bytes(rng.below(256) for _ in range(rng.below(20))), 4, 100):
            assert 0 <= child < 4 and 1 <= count <= 100


def test_where_a_process_stands() -> None:
    topology = random_connected(5, 6, Rng(1))
    assert neighbours_of(2, 5, topology) == sorted(set(topology.neighbours(2)))
    assert neighbours_of(2, 5, None) == [0, 1, 3, 4]
    assert neighbours_of(2, 4, topology) == [0, 1, 3]  # not a map of these sites: everybody reaches everybody
    assert len(given_map(5, None, 0.1).ways) == 20
    assert members_of([[0, 1], [1, 2]]) == [0, 1, 2]
