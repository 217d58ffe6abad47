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

KNOWN = {  # by protocol and seed: what fails today, by the causes of tests/known_failures.toml with `options:small`
    ("sequencer", 0): "held",
    ("sequencer", 4): "held",
    ("sequencer", 8): "held",
    ("optimistic_token", 0): "held",
    ("optimistic_token", 4): "held",
    ("optimistic_token", 6): "agreement",
}


@pytest.mark.parametrize("name", RIVALS)
def test_checkpoints_lose_nothing(name: str) -> None:
    often = {"records_max": 8}
    hasty = msgspec.structs.replace(REGISTRY[name], variations={**REGISTRY[name].variations, "records_max": (8,)})
    for seed in range(SEEDS):
        violated = run_seed(hasty, seed, only=EARLIER).violated or ""
        assert violated.partition(":")[0] == KNOWN.get((name, seed), ""), f"seed {seed}: {violated or 'mended'}"
    assert first_wrong_walk(hasty, 3, 6, range(WALKS), often) is None
