"""A source changes groups only when its earlier messages are final: causal order over groups, at a round trip each."""

from pathlib import Path

from tocsin.core.config import decode_config
from tocsin.protocols.baselines.two_phase import PROTOCOL
from tocsin.sim.run import simulate
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

DELAY_US = 1_000
MESSAGES = 30


def last_delay_us(groups: dict[str, list[str]]) -> int:
    """Thirty messages of one source at once, each to a group drawn: when is the last one delivered?"""
    document = {
        "protocol": "two_phase",
        "sites": 3,
        "groups": groups,
        "workload": {"messages": MESSAGES, "every_us": 1, "burst": MESSAGES, "senders": ["a"]},
        "network": {"delay_us": DELAY_US},
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "groups"), "groups", Path(), PROTOCOL)
    answer = simulate(scenario, 1)[0]
    assert answer["broadcasts"] == MESSAGES and answer["verdicts"]["causal"] == "pass"
    return int(answer["delay_us"]["max"])


def test_messages_to_one_group_go_together_and_a_change_waits_for_a_round_trip() -> None:
    assert last_delay_us({"all": ["a", "b", "c"]}) == 3 * DELAY_US
    alternating = last_delay_us({"left": ["a", "b"], "right": ["a", "c"]})
    changes = (alternating - 3 * DELAY_US) / (2 * DELAY_US)
    assert MESSAGES / 4 < changes < MESSAGES  # about every second message goes to the other group
    assert changes == int(changes)
