"""What a machine holds does not depend on how many messages it has seen; and the walk through it finds everything."""

from collections import deque
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tocsin.core.data import Data
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.duties.inside import Holding, inside
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document

FEW = 1_500
MANY = 6_000  # more than a checkpoint's worth of records
NEVER_FORGET = ("optimistic_token", "sequencer")  # tests/known/duties.txt
FORMS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in sorted(REGISTRY) if name not in NEVER_FORGET],
    ("coordinator_tree", {"order": "fifo"}),
    ("counter_token", {"token_to": "next"}),
    ("propagation_graph", {"failures": "non_atomic"}),
    ("totem_ring", {"delivery": "agreed"}),
]
AT_REST = {  # protocols that state more than nothing for a quiet group with everyone up, and why; it may not grow
    "optimistic_token": "an item is forgotten with the next checkpoint",
    "propagation_graph": "non_atomic: what was kept for those away goes when more comes",
    "reliability_tree": "plans of broadcasts",
    "sequencer": "an item is forgotten with the next checkpoint",
}


def held_at_rest(name: str, options: dict[str, Any], messages: int) -> list[int]:
    """By site: entries of all containers in the machine, after so many messages."""
    document = {
        "protocol": name,
        "sites": 3,
        "options": options,
        "workload": {"messages": messages, "every_us": 2_000},
        "network": {"delay_us": 100},
    }
    scenario = scenario_from_document(document, "held", Path())
    simulation = scenario.build(0, None)
    run_to_end(simulation, scenario.config.duration_us)
    assert simulation.world.all_quiet()
    simulation.stop_when_quiet = False
    while simulation.run(simulation.kernel.now + 2_000_000, 10_000_000):
        pass
    return [inside(host.machine).entries for host in simulation.world.sites]


@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_a_quiet_group_holds_nothing_for_a_message(name: str, options: dict[str, Any]) -> None:
    assert held_at_rest(name, options, MANY) == held_at_rest(name, options, FEW)


def test_who_states_more_than_nothing_for_a_group_at_rest() -> None:
    more: set[str] = set()
    for name, protocol in REGISTRY.items():
        assert protocol.limits is not None
        for varied in ({}, {"failures": "non_atomic"}) if name == "propagation_graph" else ({},):
            if protocol.limits(msgspec.convert(varied, protocol.options), 5, 2, 4).held_at_rest > 0:
                more.add(name)
    assert more == set(AT_REST)


class Part:
    __slots__ = ("others", "whole")

    def __init__(self, whole: "Whole") -> None:
        self.whole = whole
        self.others: set[int] = {1, 2}


class Whole:
    def __init__(self) -> None:
        self.part = Part(self)
        self.waiting = deque([b"one", b""])
        self.by_number: dict[int, tuple[bytes, str]] = {7: (b"two", "words")}
        self.last = Data(0, 0, 0, b"three")
        self.unset: object = None


def test_the_walk_finds_everything_once() -> None:
    whole = Whole()
    found: Holding = inside(whole)
    assert found.messages == 3
    assert found.entries == 2 + 2 + 1 + 2  # the set, the queue, the dict, the pair in it
    whole.waiting.append(whole.last.payload)  # held twice, and one object
    assert inside(whole).messages == 3
