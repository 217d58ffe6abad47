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
        "sourcing",
        "place = self._places.get((group, source), 0)\n        while place in stream.early:",
        "place = min(stream.early, default=0)\n        while place in stream.early:",
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
        "passing",
        "        self._persist(record)\n        self._note(stage, record)\n",
        "        self._note(stage, record)\n",
        0,
    ),
    Bug(
        "a gap is never filled",
        "passing",
        "for number in wanted(ack.missing, max(edge.acked, edge.floor), edge.next_send, self._window):",
        "for number in wanted(ack.missing, edge.next_send, edge.next_send, self._window):",
        0,
    ),
    Bug(
        "a child takes messages as they come",
        "passing",
        "            number = stage.next_inward()\n            message = stage.early.pop(number)",
        "            number = max(stage.early)\n            message = stage.early.pop(number)",
        0,
    ),
    Bug(
        "an acknowledgement speaks for what has not come",
        "passing",
        "        settled = stage.settled_inward()\n        stage.said = (following, settled)",
        "        following += len(stage.early)\n        settled = following\n        stage.said = (following, settled)",
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
        "changing",
        "while following is not None and self._stage.parent < 0 and self._maybe_close(now, following):",
        "while following is not None and self._maybe_close(now, following):",
        0,
    ),
    Bug(
        "a new member orders without asking how far the sources are",
        "changing",
        "                self._uncounted[group] = decision.number\n",
        "                pass\n",
        0,
    ),
    Bug(
        "what does not count is kept",
        "recovering",
        "removed = self._stage.take_back(decision.finals)",
        "removed = self._stage.take_back(tuple([1 << 40 for _ in decision.finals]))",
        0,
        "non_atomic",
    ),
    Bug(
        "what is missing is installed group by group",
        "recovering",
        "        late.sort(key=_key)\n",
        "",
        0,
        "non_atomic",
    ),
    Bug(
        "goes on after its report",
        "deciding",
        "        self._next = None\n        self._stopped = True\n",
        "        self._next = None\n",
        0,
        "non_atomic",
    ),
    Bug(
        "a source is not asked again for what was taken back",
        "recovering",
        "            self._places[(record.group, record.origin)] = record.place\n",
        "",
        23,
        "non_atomic",
    ),
    Bug(
        "a vote of its own is a majority",
        "deciding",
        "if decision is None or self._learned is not None or 2 * len(self._accepts) <= self._sites:",
        "if decision is None or self._learned is not None:",
        96,
        "non_atomic",
    ),
    Bug(
        "decides about a group of which nobody reports",
        "votes",
        "        if live and not [site for site in live if site in reporters]:\n            return False\n",
        "",
        25,
        "non_atomic",
    ),
    Bug(
        "a primary destination says that everybody has what only it has",
        "sourcing",
        "        final = self._final.get((group, source), 0)\n        stream = ",
        "        final = end\n        stream = ",
        1,
        "non_atomic",
    ),
    Bug(
        "sources do not start over in a new graph",
        "changing",
        "        for outlet in self._outlets.values():\n            outlet.start_over()\n",
        "",
        0,
        "non_atomic",
    ),
    Bug(
        "who is left out and does not know it is told that all is well",
        "watching",
        "        if not self._recovers:\n            super()._on_older_null(source, null)\n",
        "        if True:\n            super()._on_older_null(source, null)\n",
        0,
        "non_atomic",
    ),
    Bug(
        "new members know nothing of the sources",
        "recovering",
        "            self._places[(group, source)] = max(known, place)\n",
        "            self._places[(group, source)] = known\n",
        0,
        "non_atomic",
    ),
    Bug(
        "own messages to other groups are not waited for",
        "sourcing",
        "            if other.at(other.settled).seqno < record.seqno:\n                return False\n",
        "",
        0,
        causal=True,
    ),
    Bug(
        "delivered messages of other groups are not waited for",
        "sourcing",
        "if entry is not None and entry.group != outlet.group and self._delivers(self._stage, entry.group):",
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
