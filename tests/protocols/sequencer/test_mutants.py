"""Planted bugs in `sequencer`: the explorer, random walks or a story finds each."""

from pathlib import Path
from typing import Any

import pytest

from tests.mutation import mutated
from tests.protocols.small import is_caught, small
from tests.protocols.stories import acts_otherwise
from tests.protocols.walks import first_wrong_walk
from tocsin.core.config import decode_config
from tocsin.protocols.baselines.sequencer import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

FOLDER = "tocsin.protocols.baselines.sequencer."
MOVING: dict[str, Any] = {"rotate": True}
HASTY: dict[str, Any] = {"suspect_after": 1}  # elections all the time
PATIENT: dict[str, Any] = {"suspect_after": 1, "delivery": "committed"}

MUTANTS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "follows a sequencer that knows less": (
        "election",
        "ahead = (seek.last_term, seek.end) >= max(self.floor, self.reach())",
        "ahead = True",
        PATIENT,
    ),
    "keeps its order against the new sequencer's": (
        "repair",
        "        if log.order.term_at(log.matched) != item.term:\n",
        "        if log.order.term_at(log.matched) < 0:\n",
        HASTY,
    ),
    "does not tell the application what it takes back": (
        "application",
        "            self._outbox.rollback(item.group, item.origin, item.seqno)\n",
        "            pass\n",
        HASTY,
    ),
    "a minority is enough to lead": (
        "election",
        "len(self._votes) >= self._terms.majority",
        "len(self._votes) >= 1",
        PATIENT,
    ),
    "votes twice in a term": ("election", "if terms.voted in (NOBODY, source) and ahead", "if ahead", PATIENT),
    "forgets to persist the order": ("log", "        self._records.persist(Appended(item))\n", "", {}),
    "orders a message twice": (
        "order",
        "            self.next_seqnos[item.origin] = item.seqno + 1\n",
        "            self.next_seqnos[item.origin] = max(self.next_seqnos[item.origin], item.seqno)\n",
        {},
    ),
    "takes the token again after a restart": ("ordering_site", "        self.token.bar()\n", "", MOVING),
    "takes the token without what it orders": (
        "ordering_site",
        "        return self.log.matched >= max(token.have)\n",
        "        return True\n",
        MOVING,
    ),
    "stops the others' elections": (
        "ordering_site",
        "        if self.token.orderer == NOBODY:\n            self.election.wait(now, 1)",
        "        if False:\n            self.election.wait(now, 1)",
        PATIENT,
    ),
}

SLOW_TO_REPAIR = {
    "never asks again": (
        "token_site",
        "            self._outbox.multicast(behind, self.status(True))\n",
        "            pass\n",
    ),
    "never submits again": (
        "source",
        "            self.submit(item)\n        return len(again) > 0\n",
        "            pass\n        return False\n",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught_walking(name: str) -> None:
    module, old, new, options = MUTANTS[name]
    assert first_wrong_walk(mutated(PROTOCOL, FOLDER + module, old, new), 4, 6, range(1_500), options) is not None


@pytest.mark.parametrize("name", SLOW_TO_REPAIR)
def test_planted_bug_is_caught_by_the_explorer(name: str) -> None:
    module, old, new = SLOW_TO_REPAIR[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    assert is_caught(mutant, [(small(mutant, 3, 1, 600_000), Limits(losses=1))], range(40))


def test_a_token_that_nobody_may_use_is_caught_by_the_walk_that_first_showed_it() -> None:
    old = "        if self.token.barred and self.token.orderer == self._site:\n"
    mutant = mutated(PROTOCOL, FOLDER + "ordering_site", old, "        if False:\n")
    options = {"suspect_after": 1, "rotate": True}
    assert first_wrong_walk(mutant, 3, 4, range(1_771, 1_772), options) is not None
    assert first_wrong_walk(PROTOCOL, 3, 4, range(1_771, 1_772), options) is None


def test_a_vote_forgotten_in_a_crash_is_told_by_the_story() -> None:
    """Two candidates of one term, a crash between two votes: too rare for walks, so the story arranges it."""
    old = "        self._records.persist(Termed(self.term, site))\n"
    assert acts_otherwise(mutated(PROTOCOL, FOLDER + "terms", old, ""), "sequencer/a-vote-survives")


def delivered_without_the_first(protocol: Protocol, options: dict[str, Any]) -> int:
    """Deliveries when the first sequencer dies for good before b and c broadcast one message each."""
    document = {
        "protocol": "sequencer",
        "sites": 3,
        "duration_us": 15_000_000,
        "options": options,
        "workload": {"messages": 2, "every_us": 1, "senders": ["b", "c"], "start_us": 10_000},
        "faults": [{"at_us": 5_000, "crash": ["a"]}],
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "takeover"), "takeover", Path(), protocol)
    return without_trace(scenario, 1).world.tally.deliveries


@pytest.mark.parametrize("options", [{}, {"delivery": "committed"}, MOVING], ids=str)
def test_a_majority_goes_on_without_its_sequencer_and_a_mutant_does_not(options: dict[str, Any]) -> None:
    assert delivered_without_the_first(PROTOCOL, options) == 4
    old = "        self.election.suspect(self.token.orderer)\n        return self._seek(now)\n"
    nobody = mutated(PROTOCOL, FOLDER + "ordering_site", old, "        return False\n")
    assert delivered_without_the_first(nobody, options) == 0


def test_a_token_list_with_a_dead_site_on_it_stops_everybody() -> None:
    old = "        return [site for site in self._suspects if site not in self._votes]\n"
    stubborn = mutated(PROTOCOL, FOLDER + "election", old, "        return []\n")
    assert delivered_without_the_first(stubborn, MOVING) == 0
