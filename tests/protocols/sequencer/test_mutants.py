"""Planted bugs in `sequencer`: the explorer or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.sequencer import PROTOCOL
from tocsin.sim.exploration import Limits

FOLDER = "tocsin.protocols.baselines.sequencer."

MUTANTS = {
    "follows a sequencer that knows less": (
        "election",
        "ahead = (seek.last_term, seek.end) >= (self._order.last_term(), self._order.end())",
        "ahead = True",
    ),
    "keeps its order against the new sequencer's": (
        "machine",
        "        if self._order.term_at(self._matched) != item.term:\n",
        "        if self._order.term_at(self._matched) < 0:\n",
    ),
    "does not tell the application what it takes back": (
        "keeper",
        "                self._outbox.rollback(item.group, item.origin, item.seqno)\n",
        "                pass\n",
    ),
    "a minority is enough to lead": ("election", "len(self._votes) < self._majority", "len(self._votes) < 1"),
    "votes twice in a term": ("election", "if self._voted in (NOBODY, source) and ahead", "if ahead"),
    "forgets to persist the order": ("keeper", "        self._persist(Appended(item))\n", ""),
    "never asks again": (
        "machine",
        "            self._outbox.multicast(behind, self._status(True))\n",
        "            pass\n",
    ),
    "never submits again": (
        "machine",
        "                self._submit(item)\n            self._count_try(now)\n",
        "                pass\n",
    ),
    "nobody takes over": (
        "machine",
        "        if self._tries > self._suspect_after:\n            self._seek(now)\n",
        "",
    ),
    "takes the token without what it orders": (
        "machine",
        "        if self._matched < max(self._have) or",
        "        if",
    ),
}


SLOW = [  # found after many seeds
    "follows a sequencer that knows less",
    "votes twice in a term",
    "a minority is enough to lead",
    "does not tell the application what it takes back",
    "keeps its order against the new sequencer's",
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in MUTANTS]
)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    scenarios = [
        (small(mutant, 3, 1, 600_000), Limits(losses=1)),
        (small(mutant, 2, 1, 2_000_000), Limits(crashes=1, states_max=5_000)),
    ]
    assert is_caught(mutant, scenarios, range(150))
