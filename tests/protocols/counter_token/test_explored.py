"""Every order of events of small scenarios.

The token is held for a while (the paper's T), so that it does not race its own data for ever, and sent to the next
owner only; otherwise copies of old tokens multiply the orders without telling anything new.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.small import explored
from tocsin.core.config import decode_config
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.sim.exploration import Limits
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

OPTIONS: dict[str, Any] = {
    "token_to": "next",
    "pass_at_once": False,
    "hurry": False,
    "request_on_gap": False,
    "token_hold_us": 1_000,
    "idle_hold_us": 1_000_000,
    "reissue_us": 300,
    "reissues": 3,
    "request_us": 300,
    "change_us": 500,
    "join_us": 500,
    "window_bytes": 0,
}


def scenario(messages: int, senders: str, duration_us: int, sites: int = 3, **more: Any) -> Scenario:
    document = {
        "protocol": PROTOCOL.name,
        "sites": sites,
        "duration_us": duration_us,
        "options": OPTIONS,
        "workload": {"messages": messages, "every_us": 1, "senders": list(senders)},
        **more,
    }
    return Scenario(decode_config(document, ScenarioConfig, "small"), "small", Path(), PROTOCOL)


def test_two_senders_three_messages_and_two_losses_of_any_message() -> None:
    found = explored(scenario(3, "ab", 9_000), Limits(losses=2))
    assert found.states > 5_000


def test_messages_that_arrive_twice() -> None:
    explored(scenario(2, "ab", 20_000), Limits(repeats=1))


JOIN_AND_LEAVE = [{"at_us": 0, "join": ["c"]}, {"at_us": 1, "leave": ["b"]}]


@pytest.mark.long
def test_a_crash_at_any_point() -> None:
    found = explored(scenario(3, "ab", 9_000), Limits(crashes=1))
    assert found.states > 100_000


@pytest.mark.long
def test_a_join_and_a_leave() -> None:
    found = explored(scenario(2, "ab", 12_000, faults=JOIN_AND_LEAVE), Limits())
    assert found.states > 80_000
