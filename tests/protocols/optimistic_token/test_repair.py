"""A message that the token names and that is not here is asked for at once, not when the next token shows it."""

from pathlib import Path

from tests.mutation import mutated
from tocsin.core.config import decode_config
from tocsin.protocols.baselines.optimistic_token import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

DELAY_US = 1_000
HOLD_US = 5_000
RESEND_US = 20_000


def repaired_after_us(protocol: Protocol) -> int:
    """a broadcasts, the copy to c is lost, and a's token says so: when has everybody the message?"""
    document = {
        "protocol": "optimistic_token",
        "sites": 3,
        "duration_us": 1_000_000,
        "options": {"hold_us": HOLD_US, "resend_us": RESEND_US},
        "workload": {"messages": 1, "every_us": 1, "senders": ["a"]},
        "network": {"delay_us": DELAY_US},
        "faults": [{"at_us": 0, "cut": [["a", "c"]]}, {"at_us": DELAY_US, "heal": True}],
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "repair"), "repair", Path(), protocol)
    tally = without_trace(scenario, 1).world.tally
    assert tally.deliveries == 3 and tally.drops
    return max(tally.delivered_at.values())


def test_what_is_missing_is_asked_for_at_once() -> None:
    """The owner's time, the token's way, the request's and the answer's."""
    assert repaired_after_us(PROTOCOL) == HOLD_US + 3 * DELAY_US


def test_a_mutant_that_does_not_ask_waits_for_the_next_token() -> None:
    module = "tocsin.protocols.baselines.optimistic_token.machine"
    silent = mutated(PROTOCOL, module, "        if self._log.matched < end:\n            repair.ask(source)\n", "")
    assert repaired_after_us(silent) >= 2 * HOLD_US
