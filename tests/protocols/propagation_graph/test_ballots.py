"""Planted bugs in how graphs are decided that need two managers, or a crash, at one certain moment: told as stories."""

import re

import pytest

from tests.mutation import mutated
from tests.protocols.propagation_graph import test_votes
from tests.protocols.stories import STORIES, acts_otherwise
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.transcript import perform

HERE = "tocsin.protocols.propagation_graph."
HASTY = {"failures": "non_atomic", "null_us": 20_000, "suspect_after": 1, "grace_us": 20_000, "resend_us": 10_000}
FOUR = [[0, 1, 2, 3], [1, 2], [2, 3]]

NOT_KEPT = ("ballots", "        self._records.persist(Promised(number, ballot))\n", "")
NOT_READ = ("non_atomic", "            self._ballots.recall_promise(record)\n", "")
VOTES_FORGOTTEN = ("votes", "    if voted is not None:\n        return voted\n", "")
OWN_VOTE = ("proposal", "return 2 * len(self._accepts) > self._sites", "return True")
NO_MAJORITY = ("votes", "    return 2 * len(reporters) > sites\n", "    return True\n")
NOT_ENDED = ("stage", "        self.ended = True\n", "")


def graphs_decided(story: str, bug: tuple[str, str, str] | None) -> set[str]:
    """The different graphs that managers decided on in a story."""
    protocol = PROTOCOL if bug is None else mutated(PROTOCOL, HERE + bug[0], bug[1], bug[2])
    return set(re.findall(r"Decided\(.*\)", perform(story, protocol)))


@pytest.mark.parametrize("bug", [NOT_KEPT, NOT_READ], ids=["not kept", "not read back"])
def test_a_promise_lost_in_a_crash(bug: tuple[str, str, str]) -> None:
    """The site votes for two graphs, each of which has a majority then: there are two lines of graphs."""
    name = "propagation_graph/a-promise-survives-a-crash"
    assert acts_otherwise(mutated(PROTOCOL, HERE + bug[0], bug[1], bug[2]), name)
    story = (STORIES / f"{name}.txt").read_text()
    assert len(graphs_decided(story, None)) == 1
    answered = "arrive a -> b Accept\n\narrive b -> a Accepted\n"
    assert len(graphs_decided(story.replace("arrive a -> b Accept\n", answered), bug)) == 2


def test_a_manager_that_forgets_votes() -> None:
    name = "propagation_graph/votes-are-kept"
    assert acts_otherwise(mutated(PROTOCOL, HERE + "votes", VOTES_FORGOTTEN[1], VOTES_FORGOTTEN[2]), name)
    story = (STORIES / f"{name}.txt").read_text()
    assert len(graphs_decided(story, None)) == 1
    assert len(graphs_decided(story, VOTES_FORGOTTEN)) == 2


def test_a_vote_of_its_own_is_a_majority() -> None:
    """The manager decides alone, and the next one, who cannot know of it, decides on something else."""
    story = (STORIES / "propagation_graph/a-promise-survives-a-crash.txt").read_text()
    assert len(graphs_decided(story, None)) == 1
    assert len(graphs_decided(story, OWN_VOTE)) == 2


def test_edges_of_a_decided_graph_that_still_count() -> None:
    """The site would look in its log for what it has taken back."""
    mutant = mutated(PROTOCOL, HERE + "stage", NOT_ENDED[1], NOT_ENDED[2])
    with pytest.raises(IndexError):
        acts_otherwise(mutant, "propagation_graph/edges-of-a-decided-graph")


@pytest.mark.parametrize("bug", [VOTES_FORGOTTEN, NO_MAJORITY], ids=["votes forgotten", "no majority"])
def test_what_is_said_of_votes_catches_their_bugs(bug: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    source = (STORIES.parent.parent / "src/tocsin/protocols/propagation_graph/votes.py").read_text()
    assert source.count(bug[1]) == 1
    votes: dict[str, object] = {"__name__": "votes"}
    exec(compile(source.replace(bug[1], bug[2]), "<mutant of votes>", "exec"), votes)
    for name in ("may_decide", "next_decision", "counted_groups"):
        monkeypatch.setattr(test_votes, name, votes[name])
    caught = 0
    for said in (
        test_votes.test_a_majority_of_all_sites,
        test_votes.test_the_most_that_a_live_member_has_counts,
        test_votes.test_what_was_voted_for_in_the_largest_ballot_is_kept,
        test_votes.test_changes_in_the_order_of_their_askers_and_each_once,
    ):
        try:
            said()
        except AssertionError:
            caught += 1
    assert caught == 1
