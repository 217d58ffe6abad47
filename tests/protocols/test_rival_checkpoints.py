"""The rivals with a checkpoint every few records: folding records away must change nothing that is promised."""

import pytest

from tests.mutation import mutated
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import run_seed

FOLDER = "tocsin.protocols.baselines."
SEEDS = 12
WALKS = 60

MODULES = {
    "lamport": "lamport.machine",
    "two_phase": "two_phase.machine",
    "sequencer": "sequencer.keeper",
    "optimistic_token": "sequencer.keeper",
    "push_gossip": "push_gossip.machine",
    "totem_ring": "totem_ring.store",
}


@pytest.mark.parametrize("name", MODULES)
def test_checkpoints_lose_nothing(name: str) -> None:
    constant = "Constant" if name == "two_phase" else "Final"
    old = f"RECORDS_MAX: {constant} = 4096"
    hasty = mutated(REGISTRY[name], FOLDER + MODULES[name], old, old.replace("4096", "8"))
    for seed in range(SEEDS):
        assert run_seed(hasty, seed).violated is None, f"seed {seed}"
    assert first_wrong_walk(hasty, 3, 6, range(WALKS)) is None
