"""How the sentences of Chang and Hwang are judged, and how they are told."""

from collections.abc import Sequence
from itertools import pairwise

from tocsin.spark.reproduce.table import Point, Table, short

TOLERANCE = 0.05  # of a formula's value: beyond it and beyond the interval, a measured mean differs

NAMES = {
    "centralized": "centralized",
    "two_phase": "two-phase",
    "optimistic": "optimistic",
    "fast_message": "fast message",
    "totem": "fast message, 50 a visit",
    "counter_based": "counter-based",
}
MODELS = {"lan": "broadcast network", "mesh": "point-to-point network"}


def near(point: Point, value: float, slack: float = 0.0) -> bool:
    """Whether the interval, widened by the tolerance, holds the value."""
    return abs(point.mean - value) <= max(point.half_width, TOLERANCE * abs(value)) + slack


def falls(points: Sequence[Point]) -> bool:
    """Each interval lies below the one before."""
    return len(points) > 1 and all(b.high < a.low for a, b in pairwise(points))


def rises(points: Sequence[Point]) -> bool:
    return len(points) > 1 and all(a.high < b.low for a, b in pairwise(points))


def constant(points: Sequence[Point]) -> bool:
    """No two intervals are further apart than the tolerance."""
    return len(points) > 1 and all(near(a, b.mean, b.half_width) for a in points for b in points)


def below(a: Point, b: Point) -> bool:
    """The interval of a lies below that of b."""
    return a.high < b.low


def ratios(pairs: Sequence[tuple[Point, float]]) -> str:
    """`0.98 to 1.03 times the formula`."""
    found = [point.mean / value for point, value in pairs]
    low, high = short(min(found), 3), short(max(found), 3)
    return low if low == high else f"{low} to {high}"


def widest(points: Sequence[Point]) -> str:
    """The largest half-width of the intervals, as a part of the mean."""
    return f"intervals within {100 * max(point.half_width / point.mean for point in points if point.mean):.2g} %"


def counted(table: Table) -> str:
    """How many replications stand behind a table. (A short run may be without a number that needs a long one.)"""
    runs: dict[str, int] = {}
    for row in table.rows:
        key = str(sorted(row.parameters.items()))
        runs[key] = max(runs.get(key, 0), row.point.replications)
    low, high = min(runs.values()), max(runs.values())
    return f"{low} replications" if low == high else f"{low} to {high} replications"
