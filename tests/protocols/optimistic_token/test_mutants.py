"""Planted bugs in `optimistic_token`: the explorer or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.optimistic_token import PROTOCOL
from tocsin.sim.explore.exploration import Limits

GUESSES = "tocsin.protocols.baselines.optimistic_token.guesses"

MUTANTS = {
    "never takes a guess back": ("        if not self._is_expected(item):\n            self._take_back()\n", ""),
    "forgets to deliver again": (
        "            for item in self.items:\n                self._application.deliver(item)\n",
        "            pass\n",
    ),
    "forgets its guesses in a crash": ("        self._records.persist(Tentative(item))\n", ""),
    "a guess that has its place stays a guess": (
        "                del self.items[place]\n                self._counts[item.origin] -= 1\n",
        "",
    ),
    "rolls back the oldest first": (
        "for item in reversed(self.items):\n                self._application",
        "for item in list(self.items):\n                self._application",
    ),
    "guesses out of order": (
        "        following = self._log.submissions.expected(origin, self._following(origin))\n",
        "        following = max([seqno for site, seqno in waiting if site == origin], default=0)\n",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    mutant = mutated(PROTOCOL, GUESSES, *MUTANTS[name])
    scenarios = [(small(mutant, 3, 1, 600_000), Limits(losses=1))]
    assert is_caught(mutant, scenarios, range(60))
