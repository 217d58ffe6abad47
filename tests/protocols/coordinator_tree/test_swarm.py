"""Two thousand random scenarios: partitions that split, fuse and overlap, one-way cuts, crashes, pauses, loss."""

import pytest

from tests.known_failures import left_out
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.sim.swarm.swarm import never_happened, run_seed

LEFT_OUT = left_out(PROTOCOL.name)
MANY = 2_000


@pytest.mark.long
def test_two_thousand_seeds() -> None:
    outcomes = []
    for seed in range(MANY):
        outcome = run_seed(PROTOCOL, seed, LEFT_OUT)
        assert outcome.violated is None, f"{outcome.violated}; repeat: tocsin swarm coordinator_tree --seeds {seed}"
        outcomes.append(outcome)
    assert not never_happened(PROTOCOL, outcomes, LEFT_OUT)
