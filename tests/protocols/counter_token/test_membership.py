"""Views: crashes, partitions, joins and leaves, as stories with an end that is checked in full."""

from typing import Any

import pytest

from tests.protocols.counter_token.runs import ran, scenario_of, simulated
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.protocols.counter_token.machine import CounterToken
from tocsin.sim.run import check_rows
from tocsin.sim.simulation import Simulation
from tocsin.traces.buffer import TraceBuffer

SECOND = 1_000_000


def story(faults: list[dict[str, Any]], messages: int = 200, sites: int = 5, **more: Any) -> dict[str, Any]:
    return {
        "sites": sites,
        "duration_us": 60 * SECOND,
        "workload": {"messages": messages, "every_us": 20_000},
        "network": {"model": "mesh", "delay_us": [50, 500], "loss": 0.02},
        "faults": faults,
        **more,
    }


def acted(document: dict[str, Any], seed: int = 1) -> Simulation:
    """The run, after everything promised was checked."""
    scenario, simulation, trace = ran(document, seed)
    report = check_rows(scenario, trace.rows(), PROTOCOL.guarantees)
    failed = {name: verdict.why for name, verdict in report.properties.items() if verdict.verdict == "fail"}
    assert not failed, failed
    return simulation


def last_views(simulation: Simulation) -> set[tuple[int, tuple[int, ...]]]:
    machines = [site.machine for site in simulation.world.sites if isinstance(site.machine, CounterToken)]
    return {
        (machine._context.view.ballot, machine._context.view.members)
        for machine in machines
        if machine._context.status == "active"
    }


def ends(simulation: Simulation) -> set[int]:
    return {site.disk.end(0) for site in simulation.world.sites if site.machine is not None}


def test_a_failed_member_is_removed_and_the_others_go_on() -> None:
    simulation = acted(story([{"at_us": SECOND // 2, "crash": ["c"]}], messages=400))
    assert [members for _, members in last_views(simulation)] == [(0, 1, 3, 4)]
    assert len(ends(simulation)) == 1


def test_a_restarted_member_comes_back_under_its_name_and_lacks_nothing() -> None:
    simulation = acted(
        story([{"at_us": SECOND // 2, "crash": ["c"]}, {"at_us": 2 * SECOND, "recover": ["c"]}], messages=600)
    )
    assert [sorted(members) for _, members in last_views(simulation)] == [[0, 1, 2, 3, 4]]
    assert ends(simulation) == {600}


def test_two_fail_at_once_and_a_third_while_the_list_is_changed() -> None:
    faults: list[dict[str, Any]] = [
        {"at_us": SECOND // 2, "crash": ["a", "b"]},
        {"at_us": SECOND // 2 + 700_000, "crash": ["c"]},
        {"at_us": 4 * SECOND, "recover": ["a", "b", "c"]},
    ]
    simulation = acted(story(faults))
    assert len(last_views(simulation)) == 1
    assert ends(simulation) == {200}


def test_everybody_restarts_at_once() -> None:
    simulation = acted(story([{"at_us": SECOND // 2, "restart": "*"}, {"at_us": 2 * SECOND, "restart": "*"}]))
    assert [sorted(members) for _, members in last_views(simulation)] == [[0, 1, 2, 3, 4]]
    assert len(ends(simulation)) == 1


def test_a_minority_stops_says_so_and_comes_back() -> None:
    faults: list[dict[str, Any]] = [
        {"at_us": SECOND // 2, "partition": [["a", "b"], ["c", "d", "e"]]},
        {"at_us": 5 * SECOND, "heal": True},
    ]
    scenario = scenario_of(story(faults, messages=1_000))
    trace = TraceBuffer("test", scenario.names)
    simulation = scenario.build(1, trace)
    simulation.start()
    simulation.run(5 * SECOND // 2, 10**9)  # who promised first waits twice as long as who asked
    sites = simulation.world.sites
    machines = [site.machine for site in sites if isinstance(site.machine, CounterToken)]
    assert [machine._order.alone for machine in machines] == [True, True, False, False, False]
    before = [site.disk.end(0) for site in sites]
    simulation.run(5 * SECOND - 1, 10**9)
    after = [site.disk.end(0) for site in sites]
    assert after[:2] == before[:2]
    assert min(after[2:]) > max(before[2:])
    simulation.run(60 * SECOND, 10**9)
    assert [sorted(members) for _, members in last_views(simulation)] == [[0, 1, 2, 3, 4]]
    assert len(ends(simulation)) == 1
    report = check_rows(scenario, trace.rows(), PROTOCOL.guarantees)
    assert all(verdict.verdict != "fail" for verdict in report.properties.values())


def test_no_part_has_a_majority_until_the_parts_merge() -> None:
    faults: list[dict[str, Any]] = [
        {"at_us": SECOND // 2, "partition": [["a", "b"], ["c", "d"], ["e"]]},
        {"at_us": 4 * SECOND, "heal": True},
    ]
    simulation = acted(story(faults))
    assert len(last_views(simulation)) == 1
    assert ends(simulation) == {200}


def test_a_site_joins_and_another_leaves() -> None:
    faults = [{"at_us": SECOND, "join": ["e"]}, {"at_us": 2 * SECOND, "leave": ["a"]}]
    simulation = acted(story(faults, messages=800))
    assert [sorted(members) for _, members in last_views(simulation)] == [[1, 2, 3, 4]]
    assert simulation.world.tally.missed > 0  # the newcomer starts at the present position, and is told so


@pytest.mark.parametrize("options", [{"quorum": "none"}, {"classic": True}])
def test_without_a_quorum_rule_the_last_one_goes_on_alone(options: dict[str, Any]) -> None:
    """The paper's rule: any number of failures, no partitions."""
    faults = [{"at_us": SECOND // 2, "crash": ["b", "c"]}]
    document = story(faults, messages=60, sites=3, workload={"messages": 60, "every_us": 20_000, "senders": ["a"]})
    stuck = ran(document)[1]
    assert stuck.world.tally.deliveries < 120
    simulation = acted({**document, "options": options})
    assert [members for _, members in last_views(simulation)] == [(0,)]
    assert ends(simulation) == {60}


@pytest.mark.parametrize("options", [{"quorum": "none"}, {"classic": True}])
def test_without_a_quorum_rule_two_parts_go_on_apart(options: dict[str, Any]) -> None:
    """What the paper assumes away: the network is divided for a while, and afterwards there are two groups."""
    faults: list[dict[str, Any]] = [
        {"at_us": SECOND // 2, "partition": [["a"], ["b", "c"]]},
        {"at_us": 4 * SECOND, "heal": True},
    ]
    document = story(faults, messages=100, sites=3)
    assert [sorted(members) for _, members in last_views(acted(document))] == [[0, 1, 2]]
    apart = ran({**document, "options": options})[1]
    assert sorted(sorted(members) for _, members in last_views(apart)) == [[0], [1, 2]]


def test_a_site_too_far_behind_is_told_and_starts_afresh() -> None:
    faults = [{"at_us": SECOND // 2, "crash": ["c"]}, {"at_us": 8 * SECOND, "recover": ["c"]}]
    document = story(faults, messages=1_000, sites=3)
    options = {"log_messages": 50, "join_lag": 10}
    simulation = ran({**document, "options": options})[1]
    assert simulation.world.tally.missed > 0
    assert ends(simulation) == {1_000}
    kept = ran(document)[1]
    assert kept.world.tally.missed == 0


def test_the_log_is_trimmed_when_all_have_delivered() -> None:
    simulation = ran(story([], messages=300, sites=3))[1]
    for site in simulation.world.sites:
        assert site.disk.first(0) > 200


@pytest.mark.parametrize("options", [{}, {"order": "rotating"}, {"commit": "cycle"}, {"token_to": "next"}])
def test_several_groups_over_one_ring(options: dict[str, Any]) -> None:
    groups = {"left": ["a", "b", "c"], "right": ["c", "d", "e"], "ends": ["a", "e"]}
    faults = [{"at_us": SECOND, "crash": ["c"]}, {"at_us": 2 * SECOND, "recover": ["c"]}]
    answer = simulated(story(faults, messages=300, groups=groups, options=options))
    assert answer["verdicts"]["multiple_group"] == "pass"
    assert answer["verdicts"]["acyclic"] == "pass"
