"""Planted bugs in `two_phase`: the explorer or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.two_phase import PROTOCOL
from tocsin.sim.explore.exploration import Limits

FOLDER = "tocsin.protocols.baselines.two_phase."

MUTANTS = {
    "takes the smallest proposal": (
        "source",
        "        priority = max(outgoing.proposals.values())",
        "        priority = min(outgoing.proposals.values())",
    ),
    "delivers what is not final": ("queue", "        if not entry.deliverable:\n            return None\n", ""),
    "does not wait for all proposals": (
        "source",
        "        if len(outgoing.proposals) < len(self._groups[outgoing.group]):",
        "        if len(outgoing.proposals) < 2:",
    ),
    "forgets its proposals in a crash": ("keeping", "            member.queue_up(data, record.priority)\n", ""),
    "the clock ignores final priorities": (
        "member",
        "        self.clock = max(self.clock, priority)\n        if origin",
        "        if origin",
    ),
    "proposes out of order": (
        "member",
        (
            "        if stream.proposed <= data.place < stream.proposed + self._window:\n"
            "            stream.early[data.place] = data\n"
        ),
        "        if stream.proposed <= data.place:\n            self.propose(data)\n",
    ),
    "a takeover guesses": (
        "takeover",
        "        if len(entry.proposals) < len(self._groups[data.group]):",
        "        if len(entry.proposals) < 1:",
    ),
    "nobody asks": ("takeover", "        self._outbox.set_timer(ASK, 0, now + self._resend_us)\n", ""),
    "never sends again": (
        "source",
        "                    self._outbox.send(site, outgoing.data)\n",
        "                    pass\n",
    ),
    "starts every message at once": (
        "outgoing",
        "            if outgoing.group != group:\n                return None\n",
        "",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    scenarios = [
        (small(mutant, 3, 2, 100_000), Limits()),
        (small(mutant, 3, 1, 400_000), Limits(losses=1)),
        (small(mutant, 2, 1, 400_000), Limits(crashes=1)),
    ]
    assert is_caught(mutant, scenarios, range(80))
