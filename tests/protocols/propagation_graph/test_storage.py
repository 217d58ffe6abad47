"""With a checkpoint every few records: folding records away must change nothing that is promised."""

import msgspec
import pytest

from tests.mutation import mutated
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.swarm.swarm import run_seed

SEEDS = 25


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_checkpoints_lose_nothing(failures: str) -> None:
    module = "tocsin.core.records"
    hasty = mutated(PROTOCOL, module, "RECORDS_MAX: Final = 4096", "RECORDS_MAX: Final = 8")
    hasty = msgspec.structs.replace(hasty, variations={"failures": (failures,)})
    for seed in range(SEEDS):
        outcome = run_seed(hasty, seed)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
