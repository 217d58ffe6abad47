"""Planted bugs in `coordinator_tree`: the exhaustive graph or a bounded swarm finds each."""

import pytest

from tests.mutation import mutated
from tests.protocols.coordinator_tree.exhaustive import Graph
from tests.protocols.coordinator_tree.test_exhaustive import verify
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.swarm.swarm import first_failure

FOLDER = "tocsin.protocols.coordinator_tree"
SEEDS = 60

# name: module, old text, new text
IN_THE_SWARM = {
    "delivers a repeated message again": ("machine", "if not stream.received.contains(data.number):", "if True:"),
    "forgets after a crash what it delivered": (
        "storage",
        "                stream.received.add(record.number)\n                stream.forget(record.number)",
        "                stream.forget(record.number)",
    ),
    "a null message does not tell of messages": (
        "machine",
        "        stream.learn_height(progress.height)\n",
        "",
    ),
    "takes a message for stable when one host has it": (
        "reports",
        "            stable = min(stable, below)\n",
        "            stable = max(min(stable, below), max(stream.has.values()))\n",
    ),
    "uses a number again after a crash": (
        "storage",
        "                self.numbers.recall(record.seqno)\n",
        "                pass\n",
    ),
    "reports more than it has": (
        "reports",
        "stream.reported = stream.prefix()",
        "stream.reported = stream.height",
    ),
    "never sends again": ("fills", "            taken.append(Batch(number, targets))\n", "            pass\n"),
    "does not deliver its own": (
        "machine",
        "        if self._site in self._groups[group]:\n",
        "        if False:\n",
    ),
    "a source is silent after its last message": ("machine", "        if due:\n            self._say_null()\n", ""),
    "keeps nothing of a group of others over a crash": (
        "storage",
        "                stream.keep(record.number, Kept(record.seqno, record.payload, NIL))\n",
        "                pass\n",
    ),
}

IN_THE_GRAPH = {
    "attaches to anybody it is told": (
        "redelivery",
        "        seat.coordinator = coordinator\n",
        "        seat.coordinator = self._sites - 1 if self._site != self._sites - 1 else source\n",
    ),
    "leaves it at the first probe": (
        "redelivery",
        "                if not seat.fresh:\n                    self._probe_next(now, stream)\n",
        "",
    ),
    "waits for a lost coordinator for ever": (
        "redelivery",
        "            seat.unheard += 1\n",
        "",
    ),
    "never announces itself": (
        "redelivery",
        "        if seat.below and (seat.coordinator == self._site or not seat.confirmed):\n",
        "        if False:\n",
    ),
    "never asks those below": ("redelivery", "        if lacking:\n", "        if False:\n"),
    "does not answer announcements": (
        "redelivery",
        "        self._send_desc(stream, source)\n        seat.coordinator = source\n",
        "        seat.coordinator = source\n",
    ),
    "does not notice silence": (
        "redelivery",
        "            if stream.silent == self._silence:\n",
        "            if False:\n",
    ),
    "remembers for ever what it has sent": (
        "fills",
        "        if self.sent:\n            self._look_for_life()\n",
        "",
    ),
    "says that it needs nothing": (
        "redelivery",
        "self._site, stream.seat.alarm, have))",
        "self._site, False, have))",
    ),
}


def mutant(module: str, old: str, new: str) -> Protocol:
    return mutated(PROTOCOL, f"{FOLDER}.{module}", old, new)


@pytest.mark.parametrize("name", IN_THE_SWARM)
def test_planted_bug_is_caught_by_the_swarm(name: str) -> None:
    outcome = first_failure(mutant(*IN_THE_SWARM[name]), range(SEEDS))
    assert outcome is not None


@pytest.mark.parametrize("name", IN_THE_GRAPH)
def test_planted_bug_is_caught_in_the_graph(name: str) -> None:
    planted = mutant(*IN_THE_GRAPH[name])
    with pytest.raises(AssertionError):
        verify(Graph([[0], [1, 2]], messages=1, losses=0, protocol=planted), 40_000)
        verify(Graph([[0], [1, 2]], messages=2, losses=1, scripted=True, protocol=planted), 40_000)


def test_the_same_graphs_find_nothing_in_the_protocol_itself() -> None:
    verify(Graph([[0], [1, 2]], messages=1, losses=0), 40_000)
    verify(Graph([[0], [1, 2]], messages=2, losses=1, scripted=True), 40_000)
    assert first_failure(PROTOCOL, range(5)) is None
