"""Small scenarios with overlapping groups, for the explorer and for mutants."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.protocols.protocol import Protocol
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

THREE = {"x": ["a", "b"], "y": ["b", "c"], "z": ["a", "c"]}  # a above b above c; b is an extra node of z
CHAIN = {"x": ["a", "b", "c"], "y": ["b", "c"]}  # a above b above c


def overlapping(
    protocol: Protocol,
    groups: dict[str, list[str]],
    messages: int,
    duration_us: int,
    options: dict[str, Any] | None = None,
    **more: Any,
) -> Scenario:
    """Sites a, b and c; messages go round the senders and the groups."""
    document = {
        "protocol": protocol.name,
        "sites": ["a", "b", "c"],
        "groups": groups,
        "duration_us": duration_us,
        "options": options or {},
        "workload": {"messages": messages, "every_us": 1, "senders": ["a", "b", "c"][:messages]},
        **more,
    }
    return Scenario(decode_config(document, ScenarioConfig, "overlapping"), "overlapping", Path(), protocol)
