"""The swarm is too small to reach most limits; with small limits it does, and everything promised still holds."""

import msgspec
import pytest

from tests.mutation import mutated
from tocsin.protocols.counter_token import PROTOCOL
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
