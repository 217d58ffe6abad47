"""Planted bugs in `totem_ring`: random walks, a bounded swarm or a story find each."""

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught
from tests.protocols.stories import acts_otherwise
from tests.protocols.walks import first_wrong_walk
from tocsin.protocols.baselines.totem_ring import PROTOCOL

FOLDER = "tocsin.protocols.baselines.totem_ring."

MUTANTS = {
    "one rotation is enough for safe": (
        "circulation",
        "ring.note_safe(min(self._last_aru, token.aru))",
        "ring.note_safe(max(self._last_aru, token.aru))",
    ),
    "forgets to persist what it stored": (
        "store",
        "            self._records.persist(Stored(place, item))\n",
        "            pass\n",
    ),
    "does not wait for the exchange": (
        "recovery",
        "        if commit.phase == 2 and self._exchange.lacking(commit):",
        "        if False:",
    ),
    "delivers nobody's messages beyond a gap": (
        "store",
        "if place < reached or item.origin in companions:",
        "if place < reached:",
    ),
    "forgets its queue in a new ring": (
        "store",
        "self._records.fold([*self._lasting(), *self.queue.records()])",
        "self._records.fold(self._lasting())",
    ),
    "leaves the old ring's rest undelivered": ("recovery", "        self._store.deliver_rest(companions)\n", ""),
    "answers no request": (
        "circulation",
        "self._outbox.multicast(list(others), Data(ring.number, ring.root, place, item))",
        "pass",
    ),
}

LOST_DISKS = {
    "tells nothing of what it has missed": (
        "absence",
        "                self._outbox.missed(THE_GROUP, origin, start, end - start)\n",
        "                pass\n",
    ),
    "numbers its messages from 0": ("store", "Queue(site, setup.first_seqno)", "Queue(site, 0)"),
    "forgets what was delivered in earlier rings": ("store", "History(self.history.marks())", "History(())"),
}


@pytest.mark.parametrize("name", LOST_DISKS)
def test_planted_bug_is_caught_by_walks_in_which_disks_are_lost(name: str) -> None:
    module, old, new = LOST_DISKS[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    assert first_wrong_walk(mutant, 3, 4, range(300), kinds=["wipe"]) is not None


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    module, old, new = MUTANTS[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    assert first_wrong_walk(mutant, 3, 4, range(300)) is not None or is_caught(mutant, [], range(100))


def test_what_stands_beyond_a_gap_is_told_by_the_story() -> None:
    """No property of one trace sees it: a site that never delivers the cause has not delivered the effect too early."""
    mutant = mutated(PROTOCOL, FOLDER + "store", "if place < reached or item.origin in companions:", "if place >= 0:")
    assert acts_otherwise(mutant, "totem_ring/beyond-a-gap")
