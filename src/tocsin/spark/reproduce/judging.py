"""How the shape of a measured line is judged: by its intervals, never by eye."""

import itertools
from collections.abc import Sequence
from typing import Any

from tocsin.spark.reproduce.table import Point

Series = Sequence[tuple[Any, Point]]


def rises(series: Series) -> bool:
    """From first to last surely, and nowhere surely down."""
    points = [point for _, point in series]
    steps = itertools.pairwise(points)
    return (
        len(points) > 1 and points[-1].low > points[0].high and all(later.high >= sooner.low for sooner, later in steps)
    )


def falls(series: Series) -> bool:
    return rises([(x, Point(-point.mean, point.half_width, point.replications)) for x, point in series])


def near(point: Point, value: float, part: float) -> bool:
    """Whether the interval comes within that part of a value."""
    return point.low <= value * (1 + part) and point.high >= value * (1 - part)


def slope(series: Series) -> float:
    """Of the straight line that fits best."""
    xs = [float(x) for x, _ in series]
    ys = [point.mean for _, point in series]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - middle_x) ** 2 for x in xs)


def replications(series: Series) -> str:
    """`5 replications`, or `5 to 20 replications`."""
    counts = [point.replications for _, point in series]
    low, high = min(counts), max(counts)
    return f"{low} replications" if low == high else f"{low} to {high} replications"
