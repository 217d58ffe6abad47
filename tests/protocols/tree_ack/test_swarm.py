"""The full swarm of `tree_ack`. (`tests/swarm` runs a few dozen seeds of every protocol.)"""

import pytest

from tests.known_failures import assert_seeds_hold
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.sim.swarm.swarm import never_happened

SEEDS = 2_000
BLOCK = 250


@pytest.mark.long
@pytest.mark.parametrize("block", range(SEEDS // BLOCK))
def test_two_thousand_seeds(block: int) -> None:
    seeds = range(BLOCK * block, BLOCK * (block + 1))
    assert not never_happened(PROTOCOL, assert_seeds_hold(PROTOCOL, seeds))
