"""Claims of Schneider, Gries, Schlichting 1982 about the running protocol; test_schneider_planning.py: about trees."""

from pathlib import Path
from typing import Any

import pytest

from tocsin.planning.strategies import MinimumTime, Strategy, strategy
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import Row


def broadcast_once(sites: int, delay_us: int, gap_us: int, **options: Any) -> list[Row]:
    """One broadcast of site 0 over a mesh in which messages take `delay_us` and sending `gap_us`; its trace."""
    document = {
        "protocol": "tree_ack",
        "sites": sites,
        "options": {"detector": "perfect", "announce_us": 0, "resend_us": 10**9, **options},
        "workload": {"messages": 1, "every_us": 1, "senders": ["s0" if sites > 26 else "a"]},
        "network": {"delay_us": delay_us, "process_us": gap_us},
    }
    scenario = scenario_from_document(document, "paper", Path())
    trace = TraceBuffer("paper", scenario.names)
    run_to_end(scenario.build(0, trace), 10**9)
    return list(trace.rows())


def delivered_at(rows: list[Row]) -> list[int]:
    return [row.time_us for row in rows if row.event == "deliver"]


def arrivals(rows: list[Row]) -> list[int]:
    """When messages (not acknowledgements) arrived."""
    return [row.time_us for row in rows if row.event == "receive" and row.kind == "data"]


def most_in_transit(times: list[int], delay: int) -> int:
    """The largest number of messages on their way at once: those that arrive within one delay."""
    return max(sum(1 for other in times if time <= other < time + delay) for time in times)


PAIRS = [(1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (2, 3), (3, 2), (5, 2), (2, 5), (7, 3), (6, 2), (8, 8)]


@pytest.mark.parametrize(("delay", "gap"), PAIRS)
def test_section_4_completion_is_exactly_t_b(delay: int, gap: int) -> None:
    """t_B is "the smallest integer such that T_DE(t_B) >= N"; so many receive at each time, too."""
    for sites in (2, 3, 4, 5, 7, 8, 12, 13, 20, 21, 33, 60):
        times = delivered_at(broadcast_once(sites, delay, gap, delay=delay, gap=gap))
        assert len(times) == sites
        assert max(times) == MinimumTime(sites, delay, gap).completion_time()
        assert sorted(times) == received_times(MinimumTime(sites, delay, gap))


def received_times(plan: Strategy) -> list[int]:
    return sorted(plan.received_at(name) for name in range(1, plan.sites + 1))


@pytest.mark.parametrize("sites", [100, 300])
def test_section_4_completion_of_large_broadcasts(sites: int) -> None:
    for delay, gap in ((1, 1), (4, 1), (3, 2)):
        times = delivered_at(broadcast_once(sites, delay, gap, delay=delay, gap=gap))
        assert max(times) == MinimumTime(sites, delay, gap).completion_time()


def test_section_4_no_tree_is_faster() -> None:
    """Chain, bush and trees made for other networks complete at t_B or later."""
    for delay, gap in ((1, 1), (3, 1), (1, 3), (5, 2)):
        for sites in (4, 9, 17):
            best = MinimumTime(sites, delay, gap).completion_time()
            for shape in ("chain", "bush"):
                times = delivered_at(broadcast_once(sites, delay, gap, shape=shape))
                assert max(times) == strategy(shape, sites, delay, gap).completion_time() >= best
            for other in (1, 2, 6):
                assert max(delivered_at(broadcast_once(sites, delay, gap, delay=other, gap=2))) >= best


def test_section_4_1_bush_and_chain_are_optimal_at_the_ends() -> None:
    for sites in (3, 5, 9):
        slow, fast = sites * 2 - 1, 2  # D > (N - 1) E, and E > (N - 1) D the other way round
        bush = max(delivered_at(broadcast_once(sites, slow, fast, shape="bush")))
        assert bush == MinimumTime(sites, slow, fast).completion_time()
        chain = max(delivered_at(broadcast_once(sites, fast, slow, shape="chain")))
        assert chain == MinimumTime(sites, fast, slow).completion_time()


@pytest.mark.parametrize(("delay", "gap"), PAIRS)
def test_section_4_buffers_never_exceed_c_and_reach_it(delay: int, gap: int) -> None:
    """The required capacity "is determined by the number of messages in transit"."""
    reached = 0
    for sites in range(2, 40):
        plan = MinimumTime(sites, delay, gap)
        found = most_in_transit(arrivals(broadcast_once(sites, delay, gap, delay=delay, gap=gap)), delay)
        assert found <= plan.buffer_capacity()
        full = plan.received_total(plan.completion_time()) == sites  # otherwise the last time is not used up
        assert found == plan.buffer_capacity() or not full
        reached += full
    assert reached > 0


def test_section_2_3_a_tree_of_ones_own() -> None:
    """Figure 2.1c is any tree; the sites receive in the order it prescribes."""
    tree = [[1, 2], [1, 3], [2, 4], [2, 5], [3, 6]]
    rows = broadcast_once(6, 10, 1, tree=tree)
    assert {row.site: row.time_us for row in rows if row.event == "deliver"} == {
        "a": 0,
        "b": 10,
        "c": 11,
        "d": 20,
        "e": 21,
        "f": 21,
    }


def test_section_3_1_an_acknowledgement_follows_those_of_the_subtree() -> None:
    """In a chain the last site acknowledges first, and the root's broadcast is complete after the way back."""
    rows = broadcast_once(4, 10, 1, shape="chain")
    assert [(row.site, row.time_us) for row in rows if row.event == "send" and row.kind == "ack"] == [
        ("b", 50),
        ("c", 40),
        ("d", 30),
    ]


def test_section_3_2_the_next_broadcast_waits_for_the_one_before() -> None:
    """The Broadcast Sequencing Restriction; a window of broadcasts keeps several under way, in order."""
    for window, started in ((1, [0, 40, 80, 120]), (2, [0, 0, 40, 40])):
        document = {
            "protocol": "tree_ack",
            "sites": 3,
            "options": {"detector": "perfect", "shape": "chain", "window": window, "announce_us": 0},
            "workload": {"messages": 4, "every_us": 1_000, "burst": 4, "senders": ["a"]},
            "network": {"delay_us": 10},
        }
        scenario = scenario_from_document(document, "paper", Path())
        trace = TraceBuffer("paper", scenario.names)
        run_to_end(scenario.build(0, trace), 10**9)
        rows = list(trace.rows())
        assert [row.time_us for row in rows if row.event == "broadcast"] == started
        for site in "abc":
            assert [row.seqno for row in rows if row.event == "deliver" and row.site == site] == [0, 1, 2, 3]
