"""A voter's promises and votes."""

from tocsin.core.ballots import Ballots


def test_ballots_are_ordered_by_attempt_and_belong_to_one_site() -> None:
    ballots: Ballots[str] = Ballots(5)
    mine = ballots.ballot(2, 4)
    assert (ballots.attempt(mine), ballots.owner(mine)) == (2, 4)
    assert ballots.ballot(1, 4) < mine < ballots.ballot(3, 0)


def test_a_vote_promises_and_takes_no_larger_promise_back() -> None:
    ballots: Ballots[str] = Ballots(3)
    ballots.vote(ballots.ballot(1, 0), "a")
    assert ballots.promised == ballots.voted_in == 3
    back: Ballots[str] = Ballots(3)
    back.promise(9)  # a checkpoint: the promise, and the older vote
    back.vote(3, "a")
    assert (back.promised, back.voted_in, back.voted) == (9, 3, "a")
    back.start_over()
    assert (back.promised, back.voted_in, back.voted) == (0, 0, None)
