"""Planted bugs in `totem_ring`: a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught
from tocsin.protocols.baselines.totem_ring import PROTOCOL

FOLDER = "tocsin.protocols.baselines.totem_ring."

MUTANTS = {
    "one rotation is enough for safe": (
        "circulation",
        "min(ring.last_aru, token.aru))",
        "max(ring.last_aru, token.aru))",
    ),
    "forgets to persist what it stored": (
        "circulation",
        "            self._persist(Stored(place, item))\n",
        "            pass\n",
    ),
    "does not wait for the exchange": (
        "machine",
        "        if commit.phase == 2 and self._lacking(commit):",
        "        if False:",
    ),
    "delivers nobody's messages beyond a gap": (
        "machine",
        "if place < reached or item.origin in companions:",
        "if place < reached:",
    ),
    "leaves the old ring's rest undelivered": ("machine", "        self._deliver_rest(companions)\n", ""),
    "answers no request": (
        "circulation",
        "self._outbox.multicast(list(others), Data(ring.number, ring.root, place, item))",
        "pass",
    ),
}


SLOW = ["delivers nobody's messages beyond a gap"]  # found after many seeds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in MUTANTS]
)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    assert is_caught(mutated(PROTOCOL, FOLDER + module, old, new), [], range(100))
