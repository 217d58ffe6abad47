"""Walks that once went wrong."""

from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.baselines.totem_ring import PROTOCOL


def test_rings_that_were_given_up_are_left() -> None:
    """Two waited for a ring that two others had given up, and were still waiting when the next was proposed: 120 rings
    in 20 s, in which nothing was ordered."""
    assert first_wrong_walk(PROTOCOL, 4, 6, range(53, 54)) is None
