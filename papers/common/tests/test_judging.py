"""The rules by which all papers are judged."""

from papers.common.judging import alike, below, constant, falls, near, rises, rises_and_falls, slope
from papers.common.paper import AGREES, DIFFERS, NOT_REPRODUCED, verdict
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
    assert alike(Point(1.0, 0.1, 3), Point(1.25, 0.2, 3)) and not alike(Point(1.0, 0.1, 3), Point(1.4, 0.2, 3))
    assert constant(points((1, 0.01), (1.04, 0.01))) and not constant(points((1, 0.01), (1.2, 0.01)))
    assert below(Point(1, 0.1, 3), Point(1.3, 0.1, 3)) and not below(Point(1, 0.2, 3), Point(1.3, 0.1, 3))


def test_a_slope_and_a_verdict() -> None:
    assert slope(list(enumerate(points((1, 0), (3, 0), (5, 0))))) == 2.0
    assert [verdict(True), verdict(False, "why"), verdict(False)] == [AGREES, DIFFERS, NOT_REPRODUCED]
