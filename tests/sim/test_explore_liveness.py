"""From every explored state a settled one can be reached: against slow plain twins, with bugs that only this finds."""

from pathlib import Path

import pytest

from tests.sim.toys import toy
from tocsin.core.rng import Rng
from tocsin.protocols.registry import find_protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.graph import Graph
from tocsin.sim.explore.judging import Judge
from tocsin.sim.explore.local_states import Local
from tocsin.sim.explore.script import Script
from tocsin.sim.explore.search import WITHOUT_FAULT, Explorer, explore
from tocsin.sim.explore.state import State
from tocsin.sim.scenario import scenario_from_document

CRASH = Limits(crashes=1)


# The graph


def drawn_graph(rng: Rng, states: int) -> tuple[Graph, list[list[tuple[int, bool]]]]:
    graph = Graph()
    edges: list[list[tuple[int, bool]]] = []
    for _ in range(states):
        graph.begin()
        own = [(rng.below(states), rng.chance(0.3)) for _ in range(rng.below(4))]
        for target, by_fault in own:
            graph.add(target, by_fault)
        edges.append(own)
    return graph, edges


def reaches(edges: list[list[tuple[int, bool]]], state: int, good: set[int]) -> bool:
    """By a walk from one state."""
    seen, waiting = {state}, [state]
    while waiting:
        at = waiting.pop()
        if at in good:
            return True
        for target, by_fault in edges[at]:
            if not by_fault and target not in seen:
                seen.add(target)
                waiting.append(target)
    return False


def test_backward_over_the_edges_is_a_walk_from_each_state() -> None:
    rng = Rng(1)
    for _ in range(200):
        states = 1 + rng.below(30)
        graph, edges = drawn_graph(rng, states)
        good = {state for state in range(states) if rng.chance(0.1)}
        marks = bytearray(state in good for state in range(states))
        graph.lead_to(marks)
        assert [bool(mark) for mark in marks] == [reaches(edges, state, good) for state in range(states)]


def count_paths(edges: list[list[tuple[int, bool]]], state: int, ends: list[int]) -> int:
    return (state in ends) + sum(count_paths(edges, target, ends) for target, _ in edges[state])


def test_executions_are_paths() -> None:
    rng = Rng(2)
    for _ in range(100):
        graph = Graph()
        edges: list[list[tuple[int, bool]]] = [[] for _ in range(8)]
        for state in range(8):  # forward only, and each is reached from the one before
            graph.begin()
            targets = [state + 1, *(state + 1 + rng.below(8 - state) for _ in range(2))]
            for target in [target for target in targets if target < 8]:
                graph.add(target, rng.chance(0.5))
                edges[state].append((target, False))
        assert graph.executions(8, [7, 5]) == count_paths(edges, 0, [7, 5])
    graph, _ = drawn_graph(Rng(3), 20)
    assert graph.executions(20, [0]) is None, "it has cycles, and states that nothing leads to"


# The states


def has_way_to_settled(explorer: Explorer, state: State) -> bool:
    """By a walk from one state, over moves without faults; where the search ends, the fair continuation says it."""
    seen, waiting = {state.key()}, [state]
    while waiting:
        at = waiting.pop()
        locals_ = explorer.locals_of(at)
        if not at.flights and explorer.judge.unsettled(locals_) is None:
            return True
        moves = [move for move in explorer.successors.of(at) if move.what in WITHOUT_FAULT]
        if explorer.successors.is_end(at, True) and explorer.liveness.continued_why(at) is None:
            return True
        for move in moves:
            if move.to.key() not in seen and not move.text.endswith(" early"):
                seen.add(move.to.key())
                waiting.append(move.to)
    return False


@pytest.mark.parametrize(
    ("bug", "limits"),
    [
        ("", Limits(losses=1)),
        ("", CRASH),
        ("restless", CRASH),
        ("echo", CRASH),
        ("restless", Limits(leaves=1)),
    ],
    ids=str,
)
def test_good_states_are_those_with_a_way_to_a_settled_one(bug: str, limits: Limits) -> None:
    explorer = Explorer(toy(bug, ticks=1), limits)
    found = explorer.run()
    assert found.violation is None or "settled" in found.violation.why
    for index, state in enumerate(explorer.states()):
        locals_ = explorer.locals_of(state)
        if not explorer.judge.is_excused(locals_, state.dead):
            assert explorer.liveness.good[index] == has_way_to_settled(explorer, state), explorer.path(index)
    doomed = explorer.liveness.good.find(0)
    assert (found.violation is None) == (doomed < 0)
    if found.violation is not None:
        assert found.violation.steps == explorer.path(doomed), "the first, which has the fewest steps"


@pytest.mark.parametrize(
    ("bug", "why"),
    [("restless", "is not quiet"), ("echo", "messages go on for ever")],
)
def test_what_never_settles_is_found_and_told(bug: str, why: str) -> None:
    found = explore(toy(bug, ticks=1), CRASH).violation
    assert found is not None and found.why.startswith("settled: nothing leads to a settled state any more")
    assert why in found.why
    assert found.steps[-1].what == "recover", "what comes after it is of no importance"
    assert explore(toy(bug, ticks=1), Limits(losses=1)).violation is None
    assert explore(toy(bug, ticks=1), Limits(crashes=1, liveness=False)).violation is None


def test_only_the_fair_continuation_sees_that_it_does_not_stay_settled() -> None:
    found = explore(toy("views", ticks=1), CRASH).violation
    assert found is not None and found.why.startswith("settled: not within 0.02 s when nothing more goes wrong")
    assert "views go on changing" in found.why
    assert explore(toy("views", ticks=1), Limits(crashes=1, continuations=0)).violation is None


# Where the search is cut off


def test_what_was_not_searched_is_not_judged() -> None:
    """Wherever the search of a sound protocol ends, there is no violation; of a broken one, only what is there."""
    whole = Explorer(toy("restless", ticks=1), CRASH)
    whole.run()
    keys = [state.key() for state in whole.states()]
    doomed = {keys[index] for index, good in enumerate(whole.liveness.good) if not good}
    caught = 0
    for states_max in range(1, len(keys), 41):
        limits = Limits(crashes=1, states_max=states_max)
        sound = explore(toy("", ticks=1), limits)
        assert sound.violation is None and not sound.finished
        part = Explorer(toy("restless", ticks=1), limits)
        found = part.run().violation
        if found is not None:
            caught += 1
            assert {state.key() for state in part.states()} & doomed
            assert found.steps == whole.path(whole.liveness.good.find(0)) or "not within" in found.why
    assert caught > 0
    assert explore(toy("", ticks=1), Limits(crashes=1, states_max=200)).unknown > 0


def test_ends_that_are_not_continued_are_unknown() -> None:
    limits = Limits(crashes=1, continuations=0)
    found = explore(toy("restless", ticks=1), limits)
    assert found.violation is None and found.unknown > 0 and found.continued == 0


# Who takes part


def member(site: int, view: int, *views: tuple[int, tuple[int, ...]], up: bool = True, left: bool = False) -> Local:
    story = tuple(("view", None, None, None, number, members) for number, members in views)
    local = Local(site, [], story, frozenset())
    local.up, local.left, local.quiet, local.view = up, left, True, view
    return local


def test_everyone_present_takes_part_in_the_last_view() -> None:
    document = {"protocol": "counter_token", "sites": 3, "workload": {"messages": 0, "every_us": 1}}
    scenario = scenario_from_document(document, "views", Path())
    assert find_protocol("counter_token", "").has_views
    judge = Judge(scenario, Script([], scenario.names, scenario.group_names))
    every = (0, (0, 1, 2))
    two = (1, (0, 1))
    together = [member(site, 0, every) for site in range(3)]
    assert judge.unsettled(together) is None
    outside = [member(0, 1, every, two), member(1, 1, every, two), member(2, 0, every)]
    assert judge.unsettled(outside) == "c takes no part in view 1 (a b)"
    outside[2] = member(2, 0, every, left=True)
    assert judge.unsettled(outside) is None, "it was asked to leave"
    behind = [member(0, 1, every, two), member(1, 0, every), member(2, 0, every, up=False)]
    assert judge.unsettled(behind) == "b takes no part in view 1 (a b)"
    frozen = [member(site, 5 if site == 1 else 0, every) for site in range(3)]
    assert judge.unsettled(frozen) == "b takes no part in view 0 (a b c)", "it has a later one, which is not primary"
    assert not judge.is_excused([*outside[:2], member(2, 0, up=False)], 0)
    assert judge.is_excused([member(0, 0, every), *(member(site, 0, up=False, left=False) for site in (1, 2))], 0)


def test_nobody_is_asked_to_settle_across_a_cut() -> None:
    document = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 0, "every_us": 1}}
    scenario = scenario_from_document(document, "cut", Path())
    judge = Judge(scenario, Script([], scenario.names, scenario.group_names))
    everyone = [member(site, -1) for site in range(3)]
    one_way = {(source, target): 1 << (source * 3 + target) for source in range(3) for target in range(3)}
    assert not judge.is_excused(everyone, one_way[0, 1] | one_way[1, 0]), "they reach one another through c"
    assert judge.is_excused(everyone, one_way[0, 1] | one_way[0, 2]), "nobody hears a"
