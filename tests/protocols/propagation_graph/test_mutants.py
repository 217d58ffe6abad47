"""Planted bugs in `propagation_graph`: storms, that is, short runs in which much goes wrong at once, find each of them.

Bugs in `votes.py` that need two managers at once to show are caught by `test_votes.py` instead.
"""

from typing import NamedTuple

import msgspec
import pytest

from tests.mutation import mutated
from tests.protocols.propagation_graph.storms import violation
from tocsin.protocols.propagation_graph import PROTOCOL

HERE = "tocsin.protocols.propagation_graph."
STORMS = 3  # from the first that is known to find it


class Bug(NamedTuple):
    name: str
    module: str
    old: str
    new: str
    first: int  # storm
    failures: str = "atomic"
    causal: bool = False


BUGS = [
    Bug(
        "takes submissions in the order they come",
        "primary",
        "        place = self._places.following(group, source)\n        self._submissions.",
        "        place = min(self._submissions._stream(group, source).early, default=0)\n        self._submissions.",
        0,
    ),
    Bug(
        "members below an extra node are forgotten",
        "graph",
        "if relay != forest.primary[place] and forest.parent[relay] == site:",
        "if relay in forest.groups[place] and forest.parent[relay] == site and relay != forest.primary[place]:",
        89,
    ),
    Bug(
        "takes a message without keeping it",
        "order",
        "        self._records.persist(record)\n        self.note(stage, record)\n",
        "        self.note(stage, record)\n",
        0,
    ),
    Bug(
        "a gap is never filled",
        "children",
        "for number in wanted(ack.missing, max(edge.acked, edge.floor), edge.next_send, self._window):",
        "for number in wanted(ack.missing, edge.next_send, edge.next_send, self._window):",
        0,
    ),
    Bug(
        "a child takes messages as they come",
        "parent",
        "            number = inward.following()\n            message = inward.early[number]",
        "            number = max(inward.early)\n            message = inward.early[number]",
        0,
    ),
    Bug(
        "an acknowledgement speaks for what has not come",
        "parent",
        "        settled = stage.settled_inward()\n        inward.acknowledge(settled)",
        "        following += len(inward.early)\n        settled = following\n        inward.acknowledge(settled)",
        0,
    ),
    Bug(
        "forgets what a child has not got",
        "stage",
        "found = min(found, self.edges[child].first_unsettled(self.end()))",
        "found = min(found, self.end())",
        0,
    ),
    Bug(
        "the manager closes before its own parent does",
        "atomic",
        "        while self._is_above_all():\n",
        "        while True:\n",
        0,
    ),
    Bug(
        "a new member orders without asking how far the sources are",
        "places",
        "                self._uncounted[group] = graph.number\n",
        "                pass\n",
        0,
    ),
    Bug(
        "what does not count is kept",
        "closing",
        "removed = self._graphs.present.take_back(decision.finals)",
        "removed = self._graphs.present.take_back(tuple([1 << 40 for _ in decision.finals]))",
        0,
        "non_atomic",
    ),
    Bug(
        "what is missing is installed group by group",
        "fetching",
        "        late.sort(key=_key)\n",
        "",
        0,
        "non_atomic",
    ),
    Bug(
        "goes on after its report",
        "deciding",
        "        self.next = None\n        self._graphs.present.stop()\n",
        "        self.next = None\n",
        0,
        "non_atomic",
    ),
    Bug(
        "a source is not asked again for what was taken back",
        "closing",
        "            self._places.take_back(record)\n",
        "",
        29,
        "non_atomic",
    ),
    Bug(
        "decides about a group of which nobody reports",
        "votes",
        "finals.append(OPEN if live_members(present, group) else 0)",
        "finals.append(0)",
        25,
        "non_atomic",
    ),
    Bug(
        "a primary destination says that everybody has what only it has",
        "submissions",
        "        final = self._places.final(group, source)\n        stream = ",
        "        final = end\n        stream = ",
        1,
        "non_atomic",
    ),
    Bug(
        "sources do not start over in a new graph",
        "message_passing",
        "        self.places.start_graph(self.graphs.present.graph)\n        self.outlets.start_graph()\n",
        "        self.places.start_graph(self.graphs.present.graph)\n",
        0,
        "non_atomic",
    ),
    Bug(
        "who is left out and does not know it is told that all is well",
        "non_atomic",
        "self._decided.send_after(source, null.graph)",
        "self._outbox.send(source, Ack(null.graph, 0, null.end, null.end, null.stable, ()))",
        28,
        "non_atomic",
    ),
    Bug(
        "new members know nothing of the sources",
        "places",
        "            self._following[(group, source)] = max(self.following(group, source), place)\n",
        "            self._following[(group, source)] = self.following(group, source)\n",
        0,
        "non_atomic",
    ),
    Bug(
        "own messages to other groups are not waited for",
        "sources",
        "            if other.at(other.settled).seqno < record.seqno:\n                return False\n",
        "",
        0,
        causal=True,
    ),
    Bug(
        "delivered messages of other groups are not waited for",
        "sources",
        "if entry is not None and entry.group != outlet.group and self._application.hears(stage, entry.group):",
        "if entry is None and self._causal and number < 0:",
        6,
        causal=True,
    ),
]


def is_caught(bug: Bug) -> bool:
    protocol = (
        msgspec.structs.replace(PROTOCOL, guarantees=(*PROTOCOL.guarantees, "causal")) if bug.causal else PROTOCOL
    )
    mutant = mutated(protocol, HERE + bug.module, bug.old, bug.new)
    options = {"failures": bug.failures, "causal": bug.causal}
    return any(violation(mutant, seed, options) is not None for seed in range(bug.first, bug.first + STORMS))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_caught(bug: Bug) -> None:
    assert is_caught(bug)


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_without_a_bug_nothing_is_caught(failures: str) -> None:
    for seed in range(STORMS):
        assert violation(PROTOCOL, seed, {"failures": failures}) is None, f"storm {seed}"
