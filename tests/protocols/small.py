"""Small scenarios for the explorer, and whether a planted bug is caught in them."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.swarm.swarm import first_failure


def small(
    protocol: Protocol, sites: int, messages: int, duration_us: int, options: dict[str, Any] | None = None
) -> Scenario:
    """Sites a, b, …; the first ones broadcast one message each."""
    document = {
        "protocol": protocol.name,
        "sites": sites,
        "duration_us": duration_us,
        "options": options or {},
        "workload": {"messages": messages, "every_us": 1, "senders": list("abc"[:messages])},
    }
    return Scenario(decode_config(document, ScenarioConfig, "small"), "small", Path(), protocol)


def explored(scenario: Scenario, limits: Limits) -> Exploration:
    """Every order of events was visited and nothing promised was broken."""
    found = explore(scenario, limits)
    assert found.violation is None, found.violation
    assert found.finished and found.ends > 0
    return found


def is_caught(mutant: Protocol, scenarios: list[tuple[Scenario, Limits]], seeds: range) -> bool:
    """Whether a bounded exploration or a bounded swarm finds the planted bug."""
    for scenario, limits in scenarios:
        if explore(scenario, limits).violation is not None:
            return True
    return first_failure(mutant, seeds) is not None
