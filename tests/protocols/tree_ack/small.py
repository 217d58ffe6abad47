"""Scenarios small enough to be explored in every order."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.explore.telling import tell_violation
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

TREES = {  # every ordered tree of four sites: (sender, receiver) in sending order
    "chain": [[1, 2], [2, 3], [3, 4]],
    "bush": [[1, 2], [1, 3], [1, 4]],
    "deep first": [[1, 2], [1, 3], [2, 4]],
    "deep last": [[1, 2], [1, 3], [3, 4]],
    "fork": [[1, 2], [2, 3], [2, 4]],
}


def small(sites: int, messages: int = 1, protocol: Protocol = PROTOCOL, **options: Any) -> Scenario:
    """`messages` broadcasts of site a under a perfect detector; nothing is lost."""
    document = {
        "protocol": "tree_ack",
        "sites": sites,
        "duration_us": 1_000_000,
        "options": {"detector": "perfect", "announce_us": 0, **options},
        "workload": {"messages": messages, "every_us": 1_000, "senders": ["a"]},
        "network": {"detect_us": 0},
    }
    return Scenario(decode_config(document, ScenarioConfig, "small"), "small", Path(), protocol)


def explored(scenario: Scenario, limits: Limits) -> Exploration:
    """Explore; no violation, and everything was seen."""
    found = explore(scenario, limits)
    assert found.violation is None, tell_violation(scenario, found.violation, limits.seed)
    assert found.finished and found.ends > 0
    return found
