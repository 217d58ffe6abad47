"""The swarm is too small to reach most limits; with small limits it does, and everything promised still holds."""

import pytest

from tests.mutation import mutated
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.sim.swarm.swarm import run_seed

FOLDER = "tocsin.protocols.counter_token."

SMALL = {
    "a checkpoint every few records": (
        "tocsin.core.records",
        "RECORDS_MAX: Final = 4096",
        "RECORDS_MAX: Final = 8",
    ),
    "two deliveries a batch": ("replay", "TRANSFER_MESSAGES_MAX: Final = 256", "TRANSFER_MESSAGES_MAX: Final = 2"),
    "two entries a turn": ("circulation", "run < RUNS_MAX:", "run < 2:"),
    "few marks": ("circulation", "MARKS_MAX: Final = 1024", "MARKS_MAX: Final = 2"),
}


@pytest.mark.parametrize("name", SMALL)
def test_everything_holds_with(name: str) -> None:
    module, old, new = SMALL[name]
    variant = mutated(PROTOCOL, module if "." in module else FOLDER + module, old, new)
    for seed in (*range(12), 25, 48):  # 25 and 48: a checkpoint once forgot how far it had committed
        outcome = run_seed(variant, seed)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
