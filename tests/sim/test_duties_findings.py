"""Schedules that were found by hand while everything was green: each neglected a duty. All are mended, and held here.

That each duty can fail, tests/sim/test_duties.py shows, on a machine that neglects it.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.sim.test_duties import judged
from tocsin.protocols import coordinator_tree
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.duties.duties import Duties, Duty, neglected
from tocsin.sim.scenario import scenario_from_document
from tocsin.sim.simulation import Simulation


def test_redelivery_is_paced_by_a_slow_receiver() -> None:
    """Requirement (b) of Garcia-Molina and Kogan: what a repair costs does not depend on the speed of receivers."""
    names = ["a", "n", "k0", "k1", "k2"]
    faults: list[dict[str, Any]] = [
        {"at_us": 900_000, "partition": [["a", "n"], names[2:]]},
        {"at_us": 7_000_000, "heal": True},
    ]
    document: dict[str, Any] = {
        "sites": names,
        "duration_us": 60_000_000,
        "workload": {"messages": 1_500, "every_us": 2_500, "senders": ["a"], "start_us": 1_000_000},
        "network": {"delay_us": 500},
        "faults": faults,
    }
    assert not neglected(judged(coordinator_tree.PROTOCOL, document))
    slow = {"delay_us": 500, "receive_us": dict.fromkeys(names[2:], 500), "receive_buffer": 64}
    assert not neglected(judged(coordinator_tree.PROTOCOL, {**document, "network": slow}))


def test_one_dead_link_makes_no_views() -> None:
    """Assumption 4 of Chang and Hwang allows it: everyone still reaches everyone through others. (There were 762 views
    in a minute, and messages that were never ordered.)"""
    document: dict[str, Any] = {
        "sites": 5,
        "duration_us": 60_000_000,
        "workload": {"messages": 500, "every_us": 100_000},
        "network": {"delay_us": 1_000},
        "faults": [{"at_us": 1_000_000, "dead": [["a", "b"], ["b", "a"]]}],
    }
    run = Run({"protocol": "counter_token", **document})
    run.until(document["duration_us"])
    assert not neglected(run.judge())
    assert run.simulation.world.tally.views == 5  # the first of each site


@pytest.mark.parametrize("name", ["optimistic_token", "sequencer"])
def test_a_sequencer_forgets_what_everybody_has(name: str) -> None:
    document = {
        "sites": 3,
        "options": {"retain": 16, "window": 16},
        "workload": {"messages": 6_000, "every_us": 2_000},
        "network": {"delay_us": 100},
    }
    assert neglected(judged(REGISTRY[name], document)) == []


def test_who_catches_up_holds_no_more_than_a_window() -> None:
    """a goes on alone for two seconds; the others fetch what it has sent: all but the last is complete."""
    document = {
        "sites": 5,
        "duration_us": 30_000_000,
        "workload": {"messages": 206, "every_us": 5_000},
        "network": {"model": "lan", "delay_us": 2_000, "loss": 0.1},
        "faults": [{"at_us": 200_000, "partition": [["a"], ["b", "c", "d", "e"]]}, {"at_us": 2_000_000, "heal": True}],
    }
    assert not neglected(judged(REGISTRY["tree_ack"], document))


class Run:
    """A simulation whose application is the test."""

    def __init__(self, document: dict[str, Any]) -> None:
        scenario = scenario_from_document({"duration_us": 10**9, **document}, "run", Path())
        self.simulation: Simulation = scenario.build(0, None)
        self.duties = Duties(scenario, self.simulation)
        self.simulation.stop_when_quiet = False
        self.simulation.start()

    def until(self, at_us: int) -> None:
        while self.simulation.run(at_us, 100_000):
            pass

    def judge(self) -> dict[str, Duty]:
        return self.duties.judge(self.simulation.kernel.now)


def test_no_log_is_pinned_by_one_message_long_ago() -> None:
    """b speaks once while c is away; when c is back and has it, everybody is told, and logs are trimmed."""
    for c_is_away in (False, True):
        away: list[dict[str, Any]] = [{"at_us": 1_000_000, "crash": ["c"]}, {"at_us": 5_000_000, "recover": ["c"]}]
        run = Run(
            {
                "protocol": "tree_ack",
                "sites": 3,
                "options": {"window": 64},
                "workload": {"messages": 0},
                "network": {"delay_us": 200},
                "faults": away if c_is_away else [],
            }
        )
        run.until(2_000_000)
        run.simulation.world.sites[1].broadcast(2_000_000, 0, b"one")
        now = 10_000_000
        run.until(now)
        for _ in range(250):
            for _ in range(50):
                run.simulation.world.sites[0].broadcast(now, 0, b"another")
            now += 20_000
            run.until(now)
        run.until(now + 5_000_000)
        assert not neglected(run.judge())


def test_nothing_of_old_graphs_is_kept_after_a_restart() -> None:
    """Atomic: the graphs before the restart are over everywhere; a site that is no root hears it again."""
    wide, narrow = ["a", "b", "c", "d"], ["a", "b", "c"]
    changes = [{"at_us": 100_000 * (1 + at), "change": {"x": narrow if at % 2 else wide}} for at in range(20)]
    run = Run(
        {
            "protocol": "propagation_graph",
            "sites": wide,
            "groups": {"x": narrow, "y": ["b", "c", "d"]},
            "workload": {"messages": 200, "every_us": 20_000},
            "network": {"delay_us": 1_000},
            "faults": changes,
        }
    )
    run.until(10_000_000)
    assert not neglected(run.judge())
    for site in range(4):
        now = run.simulation.kernel.now
        run.simulation.crash(now, site)
        run.until(now + 10_000)
        run.simulation.recover(now + 10_000, site)
        run.until(now + 5_000_000)
    assert not neglected(run.judge())
