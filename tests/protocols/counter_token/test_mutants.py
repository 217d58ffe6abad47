"""Planted bugs in `counter_token`: a bounded swarm finds each, or a few random walks, or a story told for it."""

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.mutation import mutated
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.counter_token import PROTOCOL
from tocsin.sim.swarm.swarm import first_failure
from tocsin.sim.transcript import perform

FOLDER = "tocsin.protocols.counter_token."
SEEDS = range(120)

MUTANTS = {
    "counts an entry again in every turn": (
        "circulation",
        "if slot is None or slot.counted:",
        "if slot is None or slot.sender == self._site:",
    ),
    "counts without having all": (
        "circulation",
        "if slot.missing or (not slot.destination and entry.counter < slot.first):",
        "if not slot.destination and entry.counter < slot.first:",
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
        "context",
        "self.needs_majority: bool = options.needs_majority()",
        "self.needs_majority = False",
    ),
    "goes on in its view after a crash": (
        "recalling",
        "        self._order.recall_shown()\n",
        "        self._order.recall_shown()\n        self._context.status = 'active'\n",
    ),
    "uses numbers again after a crash": (
        "sending",
        "        self._numbers.recall(data.seqno)\n",
        "        pass\n",
    ),
    "delivers new messages before old ones": (
        "order",
        "        self.lagging = self.is_behind()\n\n    def is_behind",
        "        self.lagging = False\n\n    def is_behind",
    ),
}


RARE = {"deletes an entry before all have counted it"}  # half a minute of seeds before one shows it


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in RARE else name for name in MUTANTS]
)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    assert first_failure(mutated(PROTOCOL, FOLDER + module, old, new), SEEDS) is not None


Walks = tuple[int, int, list[list[int]] | None, Collection[str]]  # sites, messages, groups, kinds of things
SOME = 40
EVERYTHING = ("leave", "wipe", "restore", "dead")
WALKED: dict[str, tuple[str, str, str, Walks]] = {
    "forgets after a crash what was ordered": (
        "recalling",
        "                self._circulation.settle(slot, ring.view)\n",
        "",
        (3, 6, None, ()),
    ),
    "never sends the token again": (
        "circulation",
        """\
        if self._unanswered == ROUND_REISSUE:
            self._relay.flood([following], token)
        else:
            self._send_token(token)
""",
        "",
        (4, 6, None, EVERYTHING),
    ),
}


@pytest.mark.parametrize("name", WALKED)
def test_planted_bug_is_caught_by_walks(name: str) -> None:
    module, old, new, (sites, messages, groups, kinds) = WALKED[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    assert first_wrong_walk(mutant, sites, messages, range(SOME), {}, groups, kinds) is not None


def test_ignores_what_was_voted_for() -> None:
    """It takes two coordinators, one decided and unheard."""
    story = (Path(__file__).parents[2] / "golden" / "counter_token" / "an-accepted-proposal-wins.txt").read_text()
    old = "        if accepted is not None and (best is None or accepted.ballot > best.ballot):\n"
    mutant = mutated(PROTOCOL, FOLDER + "views", old, old.replace("accepted.ballot > best", "accepted.ballot < best"))
    assert perform(story) == story
    assert "after 0: b c" in perform(story, mutant)
