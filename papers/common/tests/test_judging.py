"""The rules by which all papers are judged."""

import math

from papers.common.judging import (
    Range,
    about,
    agreeing,
    alike,
    below,
    constant,
    every,
    falls,
    less,
    near,
    quotient,
    rises,
    rises_and_falls,
    size,
    slope,
    some,
    within,
)
from papers.common.paper import AGREES, DIFFERS, NOT_DECIDED, NOT_REPRODUCED, verdict
from papers.common.table import Point


def points(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(mean, half, 3) for mean, half in pairs]


def test_a_line_rises_when_its_ends_do_and_nothing_between_goes_down() -> None:
    assert rises(points((1, 0.1), (2, 0.1), (1.95, 0.1), (3, 0.1)))
    assert not rises(points((1, 0.1), (2, 0.1), (1.5, 0.1), (3, 0.1))), "surely down in between"
    assert not rises(points((1, 0.1), (2.5, 0.3), (2.1, 0.3), (1.7, 0.3), (3, 0.1))), "down, if not in one step"
    assert not rises(points((1, 1.0), (2, 1.0))), "too uncertain"
    assert not rises(points((1, 0.1))) and not rises([])
    assert falls(points((3, 0.1), (2, 0.1))) and not falls(points((2, 0.1), (3, 0.1)))


def test_how_densely_a_line_was_measured_does_not_matter() -> None:
    few = points((1, 0.4), (3, 0.4), (5, 0.4))
    many = points(*[(1 + number / 4, 0.4) for number in range(17)])
    assert rises(few) and rises(many), "though neighbours overlap"


def test_a_line_rises_and_falls_when_something_lies_above_both_ends() -> None:
    assert rises_and_falls(points((1, 0.1), (2, 0.1), (1.5, 0.1)))
    assert not rises_and_falls(points((1, 0.1), (2, 0.1), (1.85, 0.1)))
    assert not rises_and_falls(points((1, 0.1), (2, 0.1)))


def test_near_is_within_the_interval_or_the_tolerance_but_not_both_together() -> None:
    assert near(Point(4.15, 0.2, 3), 4) and near(Point(4.15, 0.0, 3), 4) and not near(Point(4.25, 0.0, 3), 4)
    assert near(Point(4.3, 0.1, 3), 4, 0.1) and not near(Point(4.45, 0.1, 3), 4, 0.1)
    assert near(Point(4.45, 0.1, 3), 4, 0.1, slack=0.1)


def test_two_measured_points_are_compared_by_both_intervals() -> None:
    assert alike(Point(1.0, 0.01, 3), Point(1.04, 0.02, 3)) is True
    assert alike(Point(1.0, 0.1, 3), Point(1.25, 0.2, 3)) is None, "too uncertain to be told apart, or to be the same"
    assert alike(Point(1.0, 0.1, 3), Point(1.4, 0.2, 3)) is False
    assert constant(points((1, 0.01), (1.04, 0.01))) and not constant(points((1, 0.01), (1.2, 0.01)))
    assert below(Point(1, 0.1, 3), Point(1.3, 0.1, 3)) and not below(Point(1, 0.2, 3), Point(1.3, 0.1, 3))


def test_an_interval_wider_than_what_is_asked_decides_nothing() -> None:
    assert near(Point(1.0, 0.01, 3), 1.02) is True and near(Point(1.0, 0.01, 3), 1.2) is False
    assert near(Point(1.0, 0.5, 3), 1.02) is None and near(Point(1.0, 0.5, 3), 1.6) is False
    assert near(Point(1.0, 0.1, 3), 1.0, slack=0.1) is True, "what the value itself may be off by"
    assert within(Point(1.0, 0.2, 3), 0.5, 1.5) is True and within(Point(1.0, 0.2, 3), 1.3, 2.0) is False
    assert within(Point(1.0, 0.6, 3), 0.5, 2.0) is None
    assert less(Point(1, 0.1, 3), Point(2, 0.1, 3)) is True and less(Point(2, 0.1, 3), Point(1, 0.1, 3)) is False
    assert less(Point(1, 0.9, 3), Point(2, 0.9, 3)) is None
    assert less(Point(1, 0.01, 3), Point(1, 0.01, 3)) is False, "surely no effect"
    assert (
        about(Point(1, 0.1, 3), Point(1.5, 0.1, 3), 2) is True and about(Point(1, 0.1, 3), Point(3, 0.1, 3), 2) is False
    )
    assert about(Point(1, 0.9, 3), Point(1, 0.9, 3), 2) is None and about(Point(1, 2, 3), Point(1, 2, 3), 2) is None


def test_answers_together() -> None:
    assert every([True, True]) is True and every([True, None]) is None and every([None, False]) is False
    assert some([False, True]) is True and some([None, False]) is None and some([False, False]) is False
    assert agreeing([True, None, False, True]) == 2
    assert (
        quotient(Point(2, 1, 3), Point(4, 2, 3)) == (1 / 6, 1.5) and quotient(Range(1, 2), Range(0, 1)).high == math.inf
    )
    assert size(Point(-2, 1, 3)) == (1, 3) and size(Point(1, 2, 3)) == (0, 3)


def test_a_slope_and_a_verdict() -> None:
    assert slope(list(enumerate(points((1, 0), (3, 0), (5, 0))))) == 2.0
    assert [verdict(True), verdict(False, "why"), verdict(False)] == [AGREES, DIFFERS, NOT_REPRODUCED]
    assert verdict(None) == verdict(None, "why") == NOT_DECIDED
