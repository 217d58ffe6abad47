"""The swarm is too small to reach most limits; with small limits it does, and everything promised still holds."""

from typing import Any

import msgspec
import pytest

from tests.mutation import mutated
from tests.sim.test_duties import judged
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.protocols.counter_token.limits import limits_of
from tocsin.protocols.counter_token.options import CounterTokenOptions
from tocsin.protocols.limits import Limits
from tocsin.protocols.protocol import Protocol
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

FOLDER = "tocsin.protocols.counter_token."

SMALL = {
    "two deliveries a batch": ("catching_up", "TRANSFER_MESSAGES_MAX: Final = 256", "TRANSFER_MESSAGES_MAX: Final = 2"),
    "two entries a turn": ("sending", "run < RUNS_MAX:", "run < 2:"),
    "few marks": ("order", "MARKS_MAX: Final = 1024", "MARKS_MAX: Final = 2"),
}


@pytest.mark.parametrize("name", SMALL)
def test_everything_holds_with(name: str) -> None:
    module, old, new = SMALL[name]
    _holds(mutated(PROTOCOL, FOLDER + module, old, new))


def test_everything_holds_with_a_checkpoint_every_few_records() -> None:
    _holds(msgspec.structs.replace(PROTOCOL, variations={**PROTOCOL.variations, "records_max": (8,)}))


def _holds(variant: Protocol) -> None:
    for seed in range(14):
        outcome = run_seed(variant, seed, only=EARLIER)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"


def _without_dead_links(options: CounterTokenOptions, sites: int, groups: int, multicast: int) -> Limits:
    return msgspec.structs.replace(limits_of(options, sites, groups, multicast), round_dead_per_second=0.0)


@pytest.mark.parametrize("model", ["lan", "mesh"])
def test_an_idle_token_costs_more_round_dead_links_and_only_there(model: str) -> None:
    document: dict[str, Any] = {
        "sites": 5,
        "duration_us": 30_000_000,
        "workload": {"messages": 20, "every_us": 100_000},
        "network": {"model": model, "delay_us": 100},
        "options": {"idle_hold_us": 2_000},
    }
    narrow = msgspec.structs.replace(PROTOCOL, limits=_without_dead_links)
    assert judged(narrow, document, whole=True)["costs"].verdict == "pass"
    star = [[one, other] for one in "abcd" for other in "abcd" if one != other]
    dead = {**document, "faults": [{"at_us": 1_000_000, "dead": star}]}
    assert judged(PROTOCOL, dead, whole=True)["costs"].verdict == "pass"
    if model == "lan":  # where a token to all is one copy, what goes round shows
        found = judged(narrow, dead, whole=True)["costs"]
        assert str(found.why).startswith("an idle group sent"), found
