"""Planted bugs in `optimistic_token`: the explorer or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.optimistic_token import PROTOCOL
from tocsin.sim.explore.exploration import Limits

MACHINE = "tocsin.protocols.baselines.optimistic_token.machine"

MUTANTS = {
    "never takes a guess back": ("        if not right:\n            self._take_back()\n", ""),
    "forgets to deliver again": (
        "            for item in self._guesses:\n                self._deliver(item)\n",
        "            pass\n",
    ),
    "forgets its guesses in a crash": ("        self._records.persist(Tentative(item))\n", ""),
    "a guess that has its place stays a guess": (
        "                del self._guesses[place]\n                self._guessed[item.origin] -= 1\n",
        "",
    ),
    "rolls back the oldest first": ("for item in reversed(self._guesses):", "for item in list(self._guesses):"),
    "guesses out of order": (
        "        following = self._order.next_seqnos[origin] + self._guessed[origin]\n",
        "        following = max([seqno for site, seqno in self._submissions.waiting if site == origin], default=0)\n",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    mutant = mutated(PROTOCOL, MACHINE, *MUTANTS[name])
    scenarios = [(small(mutant, 3, 1, 600_000), Limits(losses=1))]
    assert is_caught(mutant, scenarios, range(60))
