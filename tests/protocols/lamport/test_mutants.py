"""Planted bugs in `lamport`: the explorer or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.lamport import PROTOCOL
from tocsin.sim.exploration import Limits

FOLDER = "tocsin.protocols.baselines.lamport."

MUTANTS = {
    "delivers at once": (
        "machine",
        "while self._pending and self._heard_beyond(self._pending[0][0]):",
        "while self._pending:",
    ),
    "the clock does not jump ahead": (
        "machine",
        "        self._clock = max(self._clock, stamp)\n\n    def _tick",
        "        pass\n\n    def _tick",
    ),
    "believes a promise before what came before it is here": (
        "channels",
        "        if sent > self.received and stamp > self.claim_stamp:",
        "        if stamp > self.heard:\n            self.heard = stamp\n        elif sent > self.received:",
    ),
    "forgets to persist what it received": (
        "machine",
        "        self._persist(Received(data.group, data.origin, data.seqno, data.stamp, data.payload, False))\n",
        "",
    ),
    "forgets what it delivered": (
        "machine",
        "            self._persist(Delivered(self._delivered[0], self._delivered[1]))\n",
        "            pass\n",
    ),
    "never sends again": ("machine", "            self._outbox.send(target, outstanding.data)\n", "            pass\n"),
    "never asks the silent": (
        "machine",
        "            self._outbox.multicast(silent, self._null(True))\n",
        "            pass\n",
    ),
    "accepts in any order": (
        "channels",
        "self.early.pop(self.received, None)",
        "self.early.popitem()[1] if self.early else None",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    scenarios = [
        (small(mutant, 3, 1, 100_000), Limits(losses=1)),
        (small(mutant, 2, 2, 100_000), Limits(crashes=1)),
    ]
    assert is_caught(mutant, scenarios, range(60))
