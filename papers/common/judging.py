"""How measured numbers are judged against the sentences of a paper: by their 95 % intervals, never by eye.

Every paper is judged by these rules. The interval of a point is its mean ± its half-width.

| word                       | rule                                                                                  |
|----------------------------|---------------------------------------------------------------------------------------|
| `below(a, b)`              | the interval of a lies below that of b                                                |
| `rises(points)`            | the last interval lies above the first, and none lies below any earlier one           |
| `falls(points)`            | the same, turned over                                                                 |
| `rises_and_falls(points)`  | some interval in between lies above the first and above the last                      |
| `near(point, value)`       | mean and value differ by no more than the half-width, or 5 % of the value if larger   |
| `alike(a, b)`              | a is near the mean of b, give or take the half-width of b                             |
| `constant(points)`         | any two are alike                                                                     |

`rises` does not ask that every step rises. How many points a line has is our choice and not the paper's: the more
there are, the closer the neighbours, until the intervals of some overlap on the steepest line. A line that surely goes
down anywhere does not rise.

`near` takes the larger of half-width and tolerance, not their sum: few replications must not buy tolerance twice. A
claim that says "about" may name a wider tolerance than 5 %, where it is judged.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from papers.common.table import Point

TOLERANCE = 0.05  # of a formula's value: a twentieth more or less is still what the formula says

Series = Sequence[tuple[Any, Point]]  # over the values of one parameter


def points_of(series: Series) -> list[Point]:
    return [point for _, point in series]


def below(a: Point, b: Point) -> bool:
    return a.high < b.low


def rises(points: Sequence[Point]) -> bool:
    return (
        len(points) > 1
        and below(points[0], points[-1])
        and not any(below(later, earlier) for earlier, later in combinations(points, 2))
    )


def falls(points: Sequence[Point]) -> bool:
    return rises(points[::-1])


def rises_and_falls(points: Sequence[Point]) -> bool:
    return any(below(points[0], point) and below(points[-1], point) for point in points[1:-1])


def near(point: Point, value: float, tolerance: float = TOLERANCE, slack: float = 0.0) -> bool:
    """`tolerance` is a part of the value; `slack` is in its unit: what the value itself may be off by."""
    return abs(point.mean - value) <= max(point.half_width, tolerance * abs(value)) + slack


def alike(a: Point, b: Point) -> bool:
    return near(a, b.mean, slack=b.half_width)


def constant(points: Sequence[Point]) -> bool:
    return len(points) > 1 and all(alike(a, b) for a in points for b in points)


def slope(series: Series) -> float:
    """Of the straight line that fits best."""
    xs = [float(x) for x, _ in series]
    ys = [point.mean for _, point in series]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - middle_x) ** 2 for x in xs)


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's, of two curves over the same places."""
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    both = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    spread = sum((x - x_mean) ** 2 for x in xs) * sum((y - y_mean) ** 2 for y in ys)
    return float(both / spread**0.5) if spread > 0 else 0.0
