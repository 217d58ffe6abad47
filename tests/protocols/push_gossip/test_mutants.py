"""Planted bugs in `push_gossip`: the explorer, a bounded swarm, or the count of messages finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tocsin.protocols.baselines.push_gossip import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.run import without_trace

MACHINE = "tocsin.protocols.baselines.push_gossip.machine"

MUTANTS = {
    "delivers again": ("not self._received.has(data.origin, data.seqno):", "True:"),
    "forgets to persist what was here": ("            self._records.persist(Received(data.origin, data.seqno))\n", ""),
    "forgets the number after a crash": (
        "                self._numbers.recall(record.seqno)\n",
        "                pass\n",
    ),
    "does not deliver its own": (
        "            self._outbox.deliver(group, self._site, seqno, payload)\n",
        "            pass\n",
    ),
}

WASTEFUL = {
    "ignores acknowledgements": (
        "            self._drop_neighbour(message.origin, message.seqno, source)\n        elif",
        "            pass\n        elif",
    ),
    "sends back to where it came from": ("if site not in (self._site, source, data.origin)", "if site != self._site"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    mutant = mutated(PROTOCOL, MACHINE, *MUTANTS[name])
    scenarios = [(small(mutant, 3, 2, 100_000, {"steps": 2}), Limits(crashes=1))]
    assert is_caught(mutant, scenarios, range(40))


def data_messages(protocol: Protocol) -> int:
    return without_trace(small(protocol, 10, 3, 1_000_000), 1).world.tally.sends["data"]


@pytest.mark.parametrize("name", WASTEFUL)
def test_waste_is_seen_in_the_count_of_messages(name: str) -> None:
    assert data_messages(mutated(PROTOCOL, MACHINE, *WASTEFUL[name])) > data_messages(PROTOCOL)


def test_forwarding_that_never_ends_is_seen_in_the_count_of_messages() -> None:
    endless = mutated(PROTOCOL, MACHINE, "        rumour.left -= 1\n", "")
    blind = {"acknowledge": False}
    more = without_trace(small(endless, 4, 1, 1_000_000, blind), 1).world.tally.sends["data"]
    assert more > without_trace(small(PROTOCOL, 4, 1, 1_000_000, blind), 1).world.tally.sends["data"]
