"""Two thousand random scenarios: partitions that split, fuse and overlap, one-way cuts, crashes, pauses, loss."""

import pytest

from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.sim.swarm.swarm import add_up, never_happened, run_seed

MANY = 2_000


@pytest.mark.long
def test_two_thousand_seeds() -> None:
    outcomes = []
    for seed in range(MANY):
        outcome = run_seed(PROTOCOL, seed)
        assert outcome.violated is None, f"{outcome.violated}; repeat: tocsin swarm coordinator_tree --seeds {seed}"
        outcomes.append(outcome)
    assert not never_happened(PROTOCOL, add_up(outcomes), MANY)
