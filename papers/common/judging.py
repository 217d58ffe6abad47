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
| `within(range, low, high)` | the whole interval lies between two bounds                                            |
| `about(a, b, factor)`      | neither is more than so many times the other                                          |
| `less(a, b)`               | `below`; where the intervals overlap and the two are not alike, it is not decided     |

The words from `near` on have three answers: yes, no, and None, "not decided": the interval is wider than what is asked
about. An interval that holds a bound inside it does not decide on which side of the bound the truth lies, and
replicates that spread by more than 5 % do not show that a value is met to within 5 %. `every` of several answers is no
if one is no, else not decided if one is not. Noise can never make a claim agree.

`rises` does not ask that every step rises. How many points a line has is our choice and not the paper's: the more
there are, the closer the neighbours, until the intervals of some overlap on the steepest line. A line that surely goes
down anywhere does not rise.

`near` takes the larger of half-width and tolerance, not their sum: few replications must not buy tolerance twice. A
claim that says "about" may name a wider tolerance than 5 %, where it is judged.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from papers.common.table import Point

TOLERANCE = 0.05  # of a formula's value: a twentieth more or less is still what the formula says

Series = Sequence[tuple[Any, Point]]  # over the values of one parameter
Answer = bool | None  # None: not decided


class Range(NamedTuple):
    """What an interval says of a number that is computed from measured ones."""

    low: float
    high: float


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


def near(point: Point, value: float, tolerance: float = TOLERANCE, slack: float = 0.0) -> Answer:
    """`tolerance` is a part of the value; `slack` is in its unit: what the value itself may be off by."""
    allowed = tolerance * abs(value)
    if abs(point.mean - value) > max(point.half_width, allowed) + slack:
        return False
    return True if point.half_width <= allowed + slack else None


def alike(a: Point, b: Point) -> Answer:
    allowed = TOLERANCE * abs(b.mean)
    if abs(a.mean - b.mean) > max(a.half_width, allowed) + b.half_width:
        return False
    return True if max(a.half_width, b.half_width) <= allowed else None


def constant(points: Sequence[Point]) -> Answer:
    return len(points) > 1 and every(alike(a, b) for a in points for b in points)


def every(answers: Iterable[Answer]) -> Answer:
    """Of several questions: whether the answer to all is yes."""
    found = list(answers)
    if any(answer is False for answer in found):
        return False
    return None if None in found else True


def some(answers: Iterable[Answer]) -> Answer:
    """Of several questions: whether the answer to one is yes."""
    found = list(answers)
    if any(found):
        return True
    return None if None in found else False


def agreeing(answers: Iterable[Answer]) -> int:
    """To how many questions the answer is yes."""
    return sum(answer is True for answer in answers)


def within(found: Point | Range, low: float, high: float) -> Answer:
    """Whether it lies between two bounds, these included."""
    if found.high < low or found.low > high:
        return False
    return True if low <= found.low and found.high <= high else None


def less(a: Point, b: Point) -> Answer:
    if below(a, b):
        return True
    return False if below(b, a) or alike(a, b) else None


def size(point: Point) -> Range:
    """How large it is, whatever its sign."""
    if point.low <= 0 <= point.high:
        return Range(0.0, max(-point.low, point.high))
    return Range(min(abs(point.low), abs(point.high)), max(abs(point.low), abs(point.high)))


def quotient(a: Point | Range, b: Point | Range) -> Range:
    """Of two numbers that cannot be negative: from the smallest to the largest that the intervals allow."""
    return Range(max(0.0, a.low) / b.high if b.high > 0 else 0.0, a.high / b.low if b.low > 0 else math.inf)


def about(a: Point, b: Point, factor: float) -> Answer:
    return within(quotient(a, b), 1 / factor, factor)


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
