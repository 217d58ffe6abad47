"""The rivals with a checkpoint every few records: folding records away must change nothing that is promised."""

import pytest

from tests.mutation import mutated
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import run_seed

SEEDS = 12
WALKS = 60

RIVALS = ("ack_all", "lamport", "two_phase", "sequencer", "optimistic_token", "push_gossip", "totem_ring")


@pytest.mark.parametrize("name", RIVALS)
def test_checkpoints_lose_nothing(name: str) -> None:
    hasty = mutated(REGISTRY[name], "tocsin.core.records", "RECORDS_MAX: Final = 4096", "RECORDS_MAX: Final = 8")
    for seed in range(SEEDS):
        assert run_seed(hasty, seed).violated is None, f"seed {seed}"
    assert first_wrong_walk(hasty, 3, 6, range(WALKS)) is None
