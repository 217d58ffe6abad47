"""Two thousand random scenarios: partitions that split, fuse and overlap, one-way cuts, crashes, pauses, loss."""

import pytest

from tests.known_failures import assert_seeds_hold
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.sim.swarm.swarm import never_happened

MANY = 2_000


@pytest.mark.long
def test_two_thousand_seeds() -> None:
    assert not never_happened(PROTOCOL, assert_seeds_hold(PROTOCOL, range(MANY)))
