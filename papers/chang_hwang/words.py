"""How the numbers of Chang and Hwang are told."""

from collections.abc import Sequence

from papers.common.table import Point, short

NAMES = {
    "centralized": "centralized",
    "two_phase": "two-phase",
    "optimistic": "optimistic",
    "fast_message": "fast message",
    "totem": "fast message, 50 a visit",
    "counter_based": "counter-based",
}
MODELS = {"lan": "broadcast network", "mesh": "point-to-point network"}


def ratios(pairs: Sequence[tuple[Point, float]]) -> str:
    """`0.98 to 1.03`, of measured and expected values."""
    found = [point.mean / value for point, value in pairs]
    low, high = short(min(found), 3), short(max(found), 3)
    return low if low == high else f"{low} to {high}"


def widest(points: Sequence[Point]) -> str:
    """The largest half-width of the intervals, as a part of the mean."""
    return f"intervals within {100 * max(point.half_width / point.mean for point in points if point.mean):.2g} %"
