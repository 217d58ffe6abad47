"""Every protocol with the options that people run: every order of a message, a loss, a crash, a leave. It settles."""

import pytest

from tests.protocols.small import explored, small
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.explore.exploration import Limits

LOSS = Limits(losses=1)
CRASH = Limits(crashes=1)
LEAVE = Limits(leaves=1)

WORLDS: dict[str, list[tuple[int, int, Limits]]] = {  # sites, duration_us, what may go wrong
    "ack_all": [(3, 500_000, LOSS), (3, 500_000, CRASH)],
    "coordinator_tree": [(3, 700_000, LOSS), (2, 500_000, CRASH)],
    "counter_token": [(2, 1_000_000, LOSS), (2, 200_000, CRASH), (2, 200_000, LEAVE)],
    "lamport": [(3, 500_000, LOSS), (3, 200_000, CRASH)],
    "optimistic_token": [(3, 1_000_000, LOSS)],
    "propagation_graph": [(3, 1_000_000, LOSS), (3, 600_000, CRASH)],
    "push_gossip": [(3, 500_000, LOSS)],
    "reliability_tree": [(2, 300_000, LOSS)],
    "sequencer": [(3, 1_000_000, LOSS)],
    "totem_ring": [(2, 30_000, LOSS)],
    "tree_ack": [(3, 1_000_000, LOSS), (2, 1_000_000, CRASH)],
    "two_phase": [(3, 500_000, LOSS), (3, 200_000, CRASH)],
}


@pytest.mark.parametrize("name", REGISTRY)
def test_the_defaults(name: str) -> None:
    for sites, duration_us, limits in WORLDS[name]:
        found = explored(small(REGISTRY[name], sites, 1, duration_us), limits)
        assert found.settled > 0 and found.continued > 0 and found.unknown == 0


@pytest.mark.long
def test_three_with_a_token() -> None:
    """A token that is passed at once, to all: 20,000 orders of one message."""
    assert explored(small(REGISTRY["counter_token"], 3, 1, 3_000), Limits()).states > 20_000
