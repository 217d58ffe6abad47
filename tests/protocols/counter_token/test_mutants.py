"""Planted bugs in `counter_token`: a bounded swarm finds each, or a few random walks, or a story told for it."""

from pathlib import Path

import pytest

from tests.mutation import mutated
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.sim.swarm.swarm import first_failure
from tocsin.sim.transcript import perform

FOLDER = "tocsin.protocols.counter_token."
SEEDS = range(120)

COUNTING = """\
        if slot.missing:
            if not slot.kept:
                slot.kept = True
                noted.append(TurnSlot(slot.place, slot.group, slot.sender, False, slot.ranges))
            return False
        held = self._held[slot.sender]
        for start, end in slot.numbers:
            for seqno in range(start, end):
                self._persist_kept(held[seqno])
"""

MUTANTS = {
    "counts an entry again in every turn": (
        "circulation",
        "if slot is None or not slot.destination or slot.counted:",
        "if slot is None or not slot.destination or slot.sender == self._site:",
    ),
    "counts what it has not on disk": (
        "circulation",
        "                self._persist_kept(held[seqno])\n",
        "                pass\n",
    ),
    "counts without having all": (
        "circulation",
        COUNTING,
        "",
    ),
    "commits before the counter is full": (
        "ring",
        "if entry.counter >= slot.expected:",
        "if entry.counter + 1 >= slot.expected:",
    ),
    "forgets rule 2": ("ring", "                if slot.place not in known:\n", "                if False:\n"),
    "accepts a token again": ("circulation", "        if turn <= ring.turn:\n", "        if turn < ring.turn - 1:\n"),
    "deletes an entry before all have counted it": (
        "circulation",
        "return slot is None or slot.full  # not known",
        "return True  # not known",
    ),
    "installs a list without a majority": (
        "foundation",
        "self._needs_majority: bool = options.needs_majority()",
        "self._needs_majority = False",
    ),
    "keeps what a destination lacks": (
        "consensus",
        "                elif place not in counted[member]:\n",
        "                elif False:\n",
    ),
    "delivers in the old view what not all of it have": (
        "consensus",
        "        if all_present:\n",
        "        if True:\n",
    ),
    "goes on in its view after a crash": (
        "machine",
        "            self._status = FROZEN\n",
        "            self._status = ACTIVE\n",
    ),
    "uses numbers again after a crash": (
        "machine",
        "            self._numbers.recall(record.seqno)\n",
        "            pass\n",
    ),
    "uses positions again after a crash": (
        "machine",
        "if 0 < slot.count <= delivered[slot.group]:",
        "if slot.count < 0:",
    ),
    "delivers new messages before old ones": (
        "installing",
        "        self._lagging = self._is_behind()\n",
        "        self._lagging = False\n",
    ),
    "never answers a request": (
        "sending",
        "            self._answer_own(now, source, request.number, numbers)\n",
        "            pass\n",
    ),
    "never sends the token again": (
        "circulation",
        "        self._unanswered += 1\n        self._send_token(token)\n",
        "        self._unanswered += 1\n",
    ),
    "the receiver of a promise forgets the entries": (
        "installing",
        "            if slot.destination:\n                items.append(",
        "            if slot.full:\n                items.append(",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    assert first_failure(mutated(PROTOCOL, FOLDER + module, old, new), SEEDS) is not None


PAIRS = [
    [0, 1],
    [1, 2],
    [0, 2],
]  # a group that its coordinator is not in: otherwise no entry is full without the coordinator


def test_goes_on_counting_after_a_promise() -> None:
    old = "        else:\n            self._freeze()\n            if ballot >"
    mutant = mutated(PROTOCOL, FOLDER + "membership", old, old.replace("            self._freeze()\n", ""))
    assert first_wrong_walk(PROTOCOL, 3, 6, range(20), groups=PAIRS) is None
    assert first_wrong_walk(mutant, 3, 6, range(20), groups=PAIRS) is not None


def test_ignores_an_accepted_proposal() -> None:
    """Two views of one number: it takes two coordinators, one decided and unheard; no walk or seed has met that."""
    story = (Path(__file__).parents[2] / "golden" / "counter_token" / "an-accepted-proposal-wins.txt").read_text()
    old = "        proposal = None if change.best is None else change.best.accepted\n"
    mutant = mutated(PROTOCOL, FOLDER + "membership", old, "        proposal = None\n")
    assert perform(story) == story
    assert "view 1: b c" in perform(story, mutant)
