"""Claims of Schneider, Gries and Schlichting (1982), sections 2.3 and 4, about broadcast strategies."""

import time

import pytest

from tocsin.planning.strategies import Bush, Chain, GivenTree, MinimumTime, Strategy, strategy


def recurrence_4_1(delay: int, gap: int, last: int) -> list[int]:
    """R_DE(0) … R_DE(last) by (4.1) as printed: the ceiling is harmless there, its term has a negative argument."""
    values: list[int] = []
    for now in range(last + 1):
        if now == 0:
            values.append(1)
            continue
        upper = -((delay - now) // gap)  # ceil((now - delay) / gap)
        arguments = [now - delay - turn * gap for turn in range(upper + 1)]
        values.append(sum(values[argument] for argument in arguments if argument >= 0))
    return values


@pytest.mark.parametrize("delay", range(1, 9))
@pytest.mark.parametrize("gap", range(1, 9))
def test_section_4_received_follows_4_1(delay: int, gap: int) -> None:
    plan = MinimumTime(500, delay, gap)
    values = plan.received()
    assert values == recurrence_4_1(delay, gap, plan.completion_time())
    for now in range(gap + 1, len(values)):
        assert values[now] == (values[now - delay] if now >= delay else 0) + values[now - gap]
    for now in range(len(values)):
        assert plan.received_total(now) == sum(values[: now + 1])
    assert sum(values) >= 500 > sum(values[:-1])
    window = [plan.received_count(plan.completion_time() - back) for back in range(delay)]
    assert plan.buffer_capacity() == sum(window)


def test_section_4_a_counts_up_to_w_only() -> None:
    """A_DE(v, w) with the printed ceiling counts a reception after w when E does not divide w - v."""
    values = recurrence_4_1(1, 2, 20)  # 1, 1, 1, 2, 3, 5, 8 …
    assert sum(values[2 * turn] for turn in range(-(-(3 - 0) // 2) + 1)) == 1 + 1 + 3  # printed: R(4) is after 3
    assert sum(values[2 * turn] for turn in range((3 - 0) // 2 + 1)) == 1 + 1
    plan = MinimumTime(300, 1, 2)
    for w in range(12):  # whoever sends at w makes someone receive at w + D
        assert plan.received_count(w + 1) == sum(values[now] for now in range(w % 2, w + 1, 2))


def test_section_4_received_is_not_monotonic_but_its_window_is() -> None:
    assert MinimumTime(8, 2, 2).received() == [1, 0, 1, 0, 2, 0, 4]
    for delay in range(1, 9):
        for gap in range(1, 9):
            values = recurrence_4_1(delay, gap, 60)
            windows = [sum(values[max(0, end - delay + 1) : end + 1]) for end in range(61)]
            assert windows == sorted(windows)


def in_transit(plan: Strategy) -> int:
    """The most messages sent and not yet received, counted event by event."""
    sent = [sent_at for _, _, sent_at in plan.edges()]
    return max((sum(now - plan.delay < other <= now for other in sent) for now in set(sent)), default=0)


@pytest.mark.parametrize("delay", range(1, 6))
@pytest.mark.parametrize("gap", range(1, 6))
def test_section_4_buffers_never_exceed_c_and_reach_it(delay: int, gap: int) -> None:
    full = {MinimumTime(200, delay, gap).received_total(now) for now in range(60)} - {0, 1}
    for sites in range(2, 60):
        plan = MinimumTime(sites, delay, gap)
        if sites in full:  # the last time is used to the full
            assert in_transit(plan) == plan.buffer_capacity()
        else:
            assert in_transit(plan) <= plan.buffer_capacity()
    for sites in range(2, 20):
        assert in_transit(Chain(sites, delay, gap)) == Chain(sites, delay, gap).buffer_capacity() == 1
        assert in_transit(Bush(sites, delay, gap)) == Bush(sites, delay, gap).buffer_capacity()


def test_section_4_2_twice_the_gap_gives_fibonacci_numbers() -> None:
    for gap in (1, 2, 5):
        values = MinimumTime(1000, 2 * gap, gap).received()[::gap]
        assert values[:8] == [1, 0, 1, 1, 2, 3, 5, 8]
        assert all(values[now] == values[now - 1] + values[now - 2] for now in range(3, len(values)))


def test_section_4_2_logical_and_relative_names_coincide_when_the_gap_divides_the_delay() -> None:
    for delay, gap in ((4, 2), (3, 1), (5, 5)):
        plan = MinimumTime(150, delay, gap)
        assert [plan.logical_name(name) for name in range(1, 151)] == [(0, name) for name in range(1, 151)]


def test_section_4_3_synchronous_sending_doubles() -> None:
    plan = MinimumTime(5000, 1, 1)
    assert [plan.received_total(now) for now in range(13)] == [2**now for now in range(13)]
    assert plan.received()[1:] == [2 ** (now - 1) for now in range(1, 14)]


@pytest.mark.parametrize("sites", [2, 3, 10, 50])
def test_section_4_1_bush_and_chain_are_optimal_in_their_regimes(sites: int) -> None:
    for unit in (1, 3):
        slow_network = (sites - 1) * unit + 1
        assert Bush(sites, slow_network, unit).edges() == MinimumTime(sites, slow_network, unit).edges()
        assert Chain(sites, unit, slow_network).edges() == MinimumTime(sites, unit, slow_network).edges()
        assert strategy("minimum", sites, slow_network, unit).completion_time() == (sites - 2) * unit + slow_network
        assert strategy("minimum", sites, unit, slow_network).completion_time() == (sites - 1) * unit


def trees(sizes: int) -> list[list[list[int]]]:
    """Every ordered tree of that many nodes as children lists, names in preorder."""
    shapes: list[list[int]] = [[0]]  # preorder depths
    for _ in range(sizes - 1):
        shapes = [[*shape, depth] for shape in shapes for depth in range(1, shape[-1] + 2)]
    result = []
    for shape in shapes:
        children: list[list[int]] = [[] for _ in range(sizes + 1)]
        for name in range(2, sizes + 1):
            parent = max(other for other in range(1, name) if shape[other - 1] == shape[name - 1] - 1)
            children[parent].append(name)
        result.append(children)
    return result


@pytest.mark.parametrize(("delay", "gap"), [(1, 1), (2, 1), (1, 2), (3, 2), (2, 3), (5, 1), (1, 5), (4, 4)])
def test_section_4_no_tree_is_faster(delay: int, gap: int) -> None:
    for sites in range(1, 8):
        best = min(GivenTree(tree, delay, gap).completion_time() for tree in trees(sites))
        assert MinimumTime(sites, delay, gap).completion_time() == best


def test_a_million_processors_need_no_table_of_that_size() -> None:
    """A new processor builds the memo and finds its successors: well under 10 ms, in a table of t_B entries."""
    for delay, gap in ((1, 1), (8, 1), (1, 8), (7, 5)):
        best = 1.0
        for name in (1, 2, 1000, 123_456):
            before = time.perf_counter()
            plan = MinimumTime(1_000_000, delay, gap)
            successors = plan.successors(name)
            best = min(best, time.perf_counter() - before)
            assert all(plan.parent(successor) == name for successor in successors)
        assert best < 0.010
        assert len(plan._times) <= plan.completion_time() + 2 * delay + 1
