"""The rivals on random walks: no schedule of a few sites, however unlikely, breaks what is promised."""

from typing import Any

import pytest

from tests.protocols.walks import Walk, first_wrong_walk
from tocsin.protocols.registry import REGISTRY

OVERLAPPING = [[0, 1, 2], [1, 2, 3], [0, 3], [2]]

FORMS: list[tuple[str, dict[str, Any]]] = [
    ("lamport", {}),
    ("lamport", {"null_us": 5_000}),
    ("two_phase", {}),
    ("two_phase", {"takeover_after": 1}),
    ("sequencer", {"suspect_after": 1}),
    ("sequencer", {"suspect_after": 1, "delivery": "committed"}),
    ("sequencer", {"suspect_after": 1, "rotate": True}),
    ("sequencer", {"suspect_after": 1, "rotate": True, "delivery": "committed"}),
    ("optimistic_token", {}),
    ("optimistic_token", {"suspect_after": 1}),
    ("totem_ring", {}),
    ("push_gossip", {}),
    ("push_gossip", {"fanout": 1, "acknowledge": False}),
]


@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_a_few_walks(name: str, options: dict[str, Any]) -> None:
    protocol = REGISTRY[name]
    walks = 60 if name == "totem_ring" else 150
    assert first_wrong_walk(protocol, 3, 4, range(walks), options) is None
    assert first_wrong_walk(protocol, 4, 6, range(walks), options) is None
    if protocol.assumptions.several_groups:
        assert first_wrong_walk(protocol, 4, 8, range(walks), options, OVERLAPPING) is None


@pytest.mark.long
@pytest.mark.parametrize(("name", "options"), FORMS, ids=str)
def test_many_walks(name: str, options: dict[str, Any]) -> None:
    protocol = REGISTRY[name]
    walks = 500 if name == "totem_ring" else 2_000
    assert first_wrong_walk(protocol, 3, 4, range(walks), options) is None
    assert first_wrong_walk(protocol, 5, 8, range(walks), options) is None
    if protocol.assumptions.several_groups:
        assert first_wrong_walk(protocol, 4, 8, range(walks), options, OVERLAPPING) is None


# (protocol, options, sites, messages, seed) of walks that once showed a bug; they run for ever
KEPT: list[tuple[str, dict[str, Any], int, int, int]] = [
    ("sequencer", {"suspect_after": 1, "delivery": "committed"}, 4, 6, 14),  # elections that stop one another
    ("optimistic_token", {"suspect_after": 1}, 4, 6, 91),  # the same
    ("sequencer", {"suspect_after": 1, "rotate": True}, 3, 4, 1_771),  # a token where it may not be used
    ("sequencer", {"suspect_after": 1, "rotate": True}, 5, 8, 549),  # the same
]


@pytest.mark.parametrize(("name", "options", "sites", "messages", "seed"), KEPT, ids=str)
def test_walks_that_once_failed(name: str, options: dict[str, Any], sites: int, messages: int, seed: int) -> None:
    assert first_wrong_walk(REGISTRY[name], sites, messages, range(seed, seed + 1), options) is None


def test_walks_are_eventful() -> None:
    happened: dict[str, int] = {}
    for seed in range(50):
        walk = Walk(REGISTRY["sequencer"], 4, seed, 6)
        walk.run()
        for what, count in walk.happened.items():
            happened[what] = happened.get(what, 0) + count
    assert min(happened[what] for what in ("lose", "repeat", "crash", "recover", "fire", "broadcast")) > 50
