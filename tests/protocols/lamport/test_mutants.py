"""Planted bugs in `lamport`: random walks, the explorer or a bounded swarm find each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.baselines.lamport import PROTOCOL
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore

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
        "self._records.persist(Received(data.group, data.origin, data.seqno, data.stamp, False, data.payload))",
        "pass",
    ),
    "forgets what it delivered": (
        "machine",
        "            self._records.persist(Delivered(self._delivered[0], self._delivered[1]))\n",
        "            pass\n",
    ),
    "never sends again": (
        "tocsin.core.own_messages",
        "                self._outbox.send(target, outstanding.data)\n",
        "                pass\n",
    ),
    "never asks the silent": (
        "machine",
        "            self._outbox.multicast(silent, self._null(True))\n",
        "            pass\n",
    ),
    "breaks its promise after a crash": (
        "machine",
        "        self._clock = max(self._clock, self._reserved)\n",
        "",
    ),
    "promises more than it has reserved": (
        "machine",
        "            self._records.persist(Reserved(self._reserved))\n",
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
    mutant = mutated(PROTOCOL, module if "." in module else FOLDER + module, old, new)
    scenarios = [
        (small(mutant, 3, 1, 100_000), Limits(losses=1)),
        (small(mutant, 2, 2, 100_000), Limits(crashes=1)),
    ]
    assert first_wrong_walk(mutant, 3, 4, range(400)) is not None or is_caught(mutant, scenarios, range(60))


def test_a_broken_promise_is_found_by_the_explorer() -> None:
    """a promises, because b asks before its message has come; a crashes, comes back, and stamps as low as b did."""
    old = "        self._clock = max(self._clock, self._reserved)\n"
    mutant = mutated(PROTOCOL, FOLDER + "machine", old, "")
    limits = Limits(crashes=1, early=1)
    found = explore(small(mutant, 2, 2, 100_000), limits).violation
    assert found is not None and any(step.what == "crash" for step in found.steps)
