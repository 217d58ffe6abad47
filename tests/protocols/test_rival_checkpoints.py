"""The rivals with a checkpoint every few records: folding records away must change nothing that is promised."""

import msgspec
import pytest

from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

SEEDS = 12
WALKS = 60

RIVALS = ("ack_all", "lamport", "two_phase", "sequencer", "optimistic_token", "push_gossip", "totem_ring")


@pytest.mark.parametrize("name", RIVALS)
def test_checkpoints_lose_nothing(name: str) -> None:
    often = {"records_max": 8}
    hasty = msgspec.structs.replace(REGISTRY[name], variations={**REGISTRY[name].variations, "records_max": (8,)})
    for seed in range(SEEDS):
        violated = run_seed(hasty, seed, only=EARLIER).violated
        assert violated is None, f"seed {seed}: {violated}"
    assert first_wrong_walk(hasty, 3, 6, range(WALKS), often) is None
