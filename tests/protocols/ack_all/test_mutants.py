"""Planted bugs in `ack_all`: the explorer or a bounded swarm finds each."""

from pathlib import Path

import pytest

from tests.mutation import mutated
from tocsin.protocols.baselines.ack_all import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import Scenario, load_scenario
from tocsin.sim.swarm.swarm import first_failure

MACHINE = "tocsin.protocols.baselines.ack_all.machine"
OWN = "tocsin.core.own_messages"
SMALL = Path(__file__).parents[3] / "examples" / "explore.toml"

MUTANTS = {
    "delivers a repeated message again": (
        MACHINE,
        "if not self._received.has(source, data.seqno):",
        "if True:",
    ),
    "forgets to persist what it received": (
        MACHINE,
        "            self._records.persist(Received(source, data.seqno))\n",
        "",
    ),
    "acknowledges without delivering": (
        MACHINE,
        "            self._deliver(data)\n        self._outbox.send",
        "        self._outbox.send",
    ),
    "never sends again": (
        OWN,
        "            for target in outstanding.waiting:\n                self._outbox.send(target, outstanding.data)\n",
        "",
    ),
    "sends again only once": (
        OWN,
        "            self.arm(now, seqno)\n",
        "            self._outbox.cancel_timer(RESEND, seqno)\n",
    ),
    "one acknowledgement is enough": (OWN, "        if outstanding.waiting:\n", "        if False:\n"),
    "forgets the number after a crash": (OWN, "            self.following = number + 1\n", "            pass\n"),
    "forgets what is outstanding after a crash": (
        MACHINE,
        "                self._own.add(record.seqno, data, waiting)\n",
        "                pass\n",
    ),
    "does not deliver its own": (
        MACHINE,
        "        if self._site in self._groups[group]:\n            self._deliver(data)\n",
        "",
    ),
    "persists the number too late to matter": (
        MACHINE,
        "        self._records.persist(Sent(group, seqno, place, payload))\n",
        "",
    ),
}


def small(protocol: Protocol) -> Scenario:
    return Scenario(load_scenario(SMALL).config, "mutant", SMALL.parent, protocol)


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    mutant = mutated(PROTOCOL, *MUTANTS[name])
    outcome = first_failure(mutant, range(60))
    if outcome is None:
        found = explore(small(mutant), Limits(losses=1, crashes=1))
        assert found.violation is not None
    assert first_failure(PROTOCOL, range(3)) is None


def test_the_explorer_tells_the_shortest_story_of_a_bug() -> None:
    mutant = mutated(PROTOCOL, *MUTANTS["delivers a repeated message again"])
    found = explore(small(mutant), Limits(repeats=1))
    assert found.violation is not None
    assert [step.what for step in found.violation.steps] == ["broadcast", "repeat", "arrive"]
    assert found.violation.why.startswith("integrity")
