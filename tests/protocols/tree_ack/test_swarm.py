"""The full swarm of `tree_ack`. (`tests/swarm` runs a few dozen seeds of every protocol.)"""

import pytest

from tests.known_failures import left_out
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.sim.swarm.swarm import never_happened, run_seed

LEFT_OUT = left_out(PROTOCOL.name)
SEEDS = 2_000
BLOCK = 250


@pytest.mark.long
@pytest.mark.parametrize("block", range(SEEDS // BLOCK))
def test_two_thousand_seeds(block: int) -> None:
    outcomes = [run_seed(PROTOCOL, seed, LEFT_OUT) for seed in range(BLOCK * block, BLOCK * (block + 1))]
    violated = [outcome for outcome in outcomes if outcome.violated is not None]
    assert not violated, f"{violated[0].violated}; repeat: tocsin swarm tree_ack --seeds {violated[0].seed}"
    assert not never_happened(PROTOCOL, outcomes, LEFT_OUT)
