"""With a checkpoint every few records: folding records away must change nothing that is promised."""

import msgspec
import pytest

from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

SEEDS = 25


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_checkpoints_lose_nothing(failures: str) -> None:
    hasty = msgspec.structs.replace(PROTOCOL, variations={"failures": (failures,), "records_max": (8,)})
    for seed in range(SEEDS):
        outcome = run_seed(hasty, seed, only=EARLIER)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
