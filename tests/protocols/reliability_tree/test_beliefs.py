"""Two integers instead of a hundred beliefs: the same beliefs, and what follows from them."""

import math

import pytest

from tests.protocols.reliability_tree.paper_beliefs import Beliefs
from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree.beliefs import (
    PACKED_MAX,
    Evidence,
    beliefs,
    credible_interval,
    deviation,
    is_news,
    mean,
    most_believed,
    packed,
)


@pytest.mark.parametrize("seed", range(6))
def test_the_two_integers_are_the_papers_belief_array(seed: int) -> None:
    """Any sequence of increases and decreases leads to the beliefs that its two sums give."""
    rng = Rng(seed)
    loss = rng.random() * 0.5
    paper = Beliefs()
    successes = failures = 0
    for _ in range(400):
        times = rng.between(1, 3)
        if rng.chance(loss):
            paper.decrease_reliability(times)
            failures += times
        else:
            paper.increase_reliability(times)
            successes += times
    ours = beliefs(successes, failures)
    assert ours == pytest.approx(paper.belief, rel=1e-9, abs=1e-250)
    assert mean(successes, failures) == pytest.approx(paper.mean(), abs=1e-3)


def test_increase_does_not_undo_decrease_in_the_papers_array_but_subtraction_does_in_ours() -> None:
    """p and 1 - p do not cancel: a false suspicion that a success makes good is still held against the link."""
    paper = Beliefs()
    paper.increase_reliability(50)
    before = paper.mean()
    paper.decrease_reliability(1)
    paper.increase_reliability(1)
    assert paper.mean() > before * 1.5
    evidence = Evidence(0)
    evidence.add(50, 0)
    evidence.add(0, 1)
    evidence.take_back_failure()
    assert (evidence.successes, evidence.failures) == (50, 0)


def test_more_intervals_come_closer_to_the_limit_that_planning_uses() -> None:
    for successes, failures in ((95, 5), (9, 0), (400, 20)):
        errors = []
        for intervals in (10, 100, 1000):
            held = beliefs(successes, failures, intervals)
            middle = sum(belief * (place + 0.5) / intervals for place, belief in enumerate(held))
            errors.append(abs(middle - mean(successes, failures)))
        assert errors[2] < errors[0] and errors[2] < 1e-6


def test_moments_of_the_belief() -> None:
    assert most_believed(0, 0) == 0.0 and most_believed(95, 5) == 0.05
    assert mean(0, 0) == 0.5 and mean(8, 0) == 0.1
    assert deviation(0, 0) == pytest.approx(math.sqrt(1 / 12))  # of a uniform distribution


def test_credible_intervals_where_arithmetic_knows_them() -> None:
    assert credible_interval(0, 0, 0.9) == pytest.approx((0.05, 0.95), abs=1e-3)
    low, high = credible_interval(9, 0, 0.9)  # the distribution function is 1 - (1 - x)^10
    assert low == pytest.approx(1 - 0.95 ** (1 / 10), abs=1e-4)
    assert high == pytest.approx(1 - 0.05 ** (1 / 10), abs=1e-4)
    low, high = credible_interval(95_000, 5_000, 0.95)  # as good as normal
    assert (low, high) == pytest.approx((0.05 - 1.96 * 6.89e-4, 0.05 + 1.96 * 6.89e-4), abs=2e-5)


def test_credible_intervals_hold_as_often_as_they_say() -> None:
    """Probabilities drawn from what is believed at first, that is, evenly from 0 to 1."""
    rng = Rng(5)
    inside = 0
    rounds = 2_000
    for _ in range(rounds):
        truth = rng.random()
        failures = sum(rng.chance(truth) for _ in range(40))
        low, high = credible_interval(40 - failures, failures, 0.9)
        inside += low <= truth <= high
    assert abs(inside / rounds - 0.9) < 3.3 * math.sqrt(0.09 / rounds)


def test_packed_keeps_the_proportion() -> None:
    assert packed(95, 5) == (95, 5)
    successes, failures = packed(10_000_000, 500_000)
    assert successes <= PACKED_MAX and failures / (successes + failures) == pytest.approx(1 / 21, rel=1e-3)
    assert packed(10_000_000, 0)[1] == 0


def test_forgetting_bounds_the_evidence_and_favours_neither_side() -> None:
    rng = Rng(2)
    evidence = Evidence(256)
    total = 0.0
    for step in range(60_000):
        lost = rng.chance(0.03)
        evidence.add(0 if lost else 1, 1 if lost else 0)
        assert evidence.successes + evidence.failures <= 256
        if step >= 1_000:
            total += most_believed(evidence.successes, evidence.failures)
    assert total / 59_000 == pytest.approx(0.03, abs=0.002)


def test_news_are_what_has_grown_or_moved_enough() -> None:
    assert not is_news(100, 5, 100, 5, 0.125)
    assert not is_news(110, 5, 100, 5, 0.125)
    assert is_news(114, 5, 100, 5, 0.125)  # grown by an eighth
    assert is_news(100, 9, 100, 5, 0.125)  # moved by more than its deviation
    assert is_news(0, 0, 100, 5, 0.125) and is_news(1, 0, 0, 0, 0.125)  # went, came
    assert is_news(101, 5, 100, 5, 0.0)  # the paper tells everything
