"""The full swarm of `tree_ack`. (`tests/swarm` runs a few dozen seeds of every protocol.)"""

import pytest

from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.sim.swarm.swarm import add_up, never_happened, run_seed

SEEDS = 2_000
BLOCK = 250


@pytest.mark.long
@pytest.mark.parametrize("block", range(SEEDS // BLOCK))
def test_two_thousand_seeds(block: int) -> None:
    outcomes = [run_seed(PROTOCOL, seed) for seed in range(BLOCK * block, BLOCK * (block + 1))]
    violated = [outcome for outcome in outcomes if outcome.violated is not None]
    assert not violated, f"{violated[0].violated}; repeat: tocsin swarm tree_ack --seeds {violated[0].seed}"
    assert not never_happened(PROTOCOL, add_up(outcomes), len(outcomes))
