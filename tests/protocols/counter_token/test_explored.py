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
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

OPTIONS: dict[str, Any] = {
    "token_to": "next",
    "pass_at_once": False,
    "request_wait_us": 75,
    "token_hold_us": 1_000,
    "idle_hold_us": 1_000_000,
    "reissue_us": 300,
    "reissues": 3,
    "request_us": 300,
    "change_us": 500,
    "join_us": 500,
    "window_bytes": 0,
}


LOST_US = 3_300_000  # after so long a token that nobody holds is missed, and a view without its owner has been made


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
    assert found.stands_for > 5_000


def test_messages_that_arrive_twice() -> None:
    explored(scenario(2, "ab", 20_000), Limits(repeats=1))


JOIN_AND_LEAVE = [{"at_us": 0, "join": ["c"]}, {"at_us": 1, "leave": ["b"]}]


def test_a_crash_for_good_at_any_point() -> None:
    found = explored(scenario(3, "ab", LOST_US), Limits(crashes=1, recoveries=0))
    assert found.stands_for > 5_000


@pytest.mark.long
def test_two_losses_of_any_message_and_a_crash_for_good() -> None:
    """Three nodes, two senders, three messages; the token too is lost."""
    found = explored(scenario(3, "ab", LOST_US), Limits(losses=2, crashes=1, recoveries=0))
    assert found.stands_for > 1_000_000


@pytest.mark.long
@pytest.mark.parametrize("losses", [0, 1])
def test_a_crash_and_a_return_at_any_point(losses: int) -> None:
    """With a loss 3.6 million states; with two it would be some sixty."""
    found = explored(scenario(3, "ab", 9_000), Limits(losses=losses, crashes=1))
    assert found.stands_for > 100_000


@pytest.mark.long
def test_a_join_and_a_leave() -> None:
    found = explored(scenario(2, "ab", 12_000, faults=JOIN_AND_LEAVE), Limits())
    assert found.stands_for > 80_000


LEAVE_OF_ALL = [{"at_us": place, "leave": [name]} for place, name in enumerate("abc")]
RETURN_OF_ALL = [{"at_us": 3 + place, "restart": [name]} for place, name in enumerate("bca")]


@pytest.mark.long
def test_everybody_leaves_and_returns() -> None:
    """They return in another order than they left; as far as so many states go."""
    found = explore(scenario(1, "a", LOST_US, faults=[*LEAVE_OF_ALL, *RETURN_OF_ALL]), Limits(states_max=200_000))
    assert found.violation is None, found.violation


@pytest.mark.long
@pytest.mark.parametrize("limits", [Limits(wipes=1, states_max=200_000), Limits(restores=1, states_max=200_000)])
def test_a_disk_is_lost_or_older_at_any_point(limits: Limits) -> None:
    """As far as so many states go; the whole is larger."""
    found = explore(scenario(1, "a", LOST_US), limits)
    assert found.violation is None, found.violation
