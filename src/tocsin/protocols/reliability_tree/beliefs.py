"""Beliefs about a probability of failure (section 4.3, Algorithm 5), kept in two integers.

The paper keeps U = 100 beliefs, one for each interval of probability, and multiplies each by p (a failure was seen)
or 1 - p (a success). From equal beliefs, s successes and f failures in any order lead to beliefs in proportion to
p^f (1 - p)^s: a function of the two numbers. So the two numbers are kept, sent and corrected, exactly;
`beliefs` gives the paper's array for anyone who wants it. With ever more intervals the beliefs become the beta
distribution of parameters f + 1 and s + 1, whose mode and deviation are used for planning.
"""

import math
from typing import Final

INTERVALS: Final = 100  # the paper's U
ZOOM_INTERVALS: Final = 1_000  # of a credible interval: its ends are right to a hundredth of the deviation
ZOOM_DEVIATIONS: Final = 12.0  # beyond which no belief is left that a double can tell from 0
PACKED_MAX: Final = 65_535


def beliefs(
    successes: int, failures: int, intervals: int = INTERVALS, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """For each interval of [low, high] the belief that the probability lies in it; their sum is 1."""
    width = (high - low) / intervals
    weights: list[float] = []
    largest = -math.inf
    for place in range(intervals):
        middle = low + (place + 0.5) * width
        weight = failures * math.log(middle) + successes * math.log1p(-middle)
        weights.append(weight)
        largest = max(largest, weight)
    total = 0.0
    for place in range(intervals):
        weights[place] = math.exp(weights[place] - largest)
        total += weights[place]
    return [weight / total for weight in weights]


def mean(successes: int, failures: int) -> float:
    """The mean of the belief."""
    return (failures + 1) / (successes + failures + 2)


def most_believed(successes: int, failures: int) -> float:
    """Where the belief is highest; 0 before anything was seen."""
    total = successes + failures
    return failures / total if total > 0 else 0.0


def deviation(successes: int, failures: int) -> float:
    """The standard deviation of the belief."""
    expected = mean(successes, failures)
    return math.sqrt(expected * (1.0 - expected) / (successes + failures + 3))


def are_alike(successes: int, failures: int, other_successes: int, other_failures: int) -> bool:
    """Whether two lots of evidence could well be of one probability: their means lie within both deviations. Of equal
    probabilities, five in six pairs do; of those that do, pooled evidence is off by less than one deviation."""
    apart = abs(mean(successes, failures) - mean(other_successes, other_failures))
    return apart <= deviation(successes, failures) + deviation(other_successes, other_failures)


def credible_interval(successes: int, failures: int, level: float) -> tuple[float, float]:
    """The interval that the probability lies in with belief `level`, the rest being shared equally by both sides."""
    centre = mean(successes, failures)
    spread = ZOOM_DEVIATIONS * deviation(successes, failures)
    low = max(0.0, centre - spread)
    high = min(1.0, centre + spread)
    held = beliefs(successes, failures, ZOOM_INTERVALS, low, high)
    width = (high - low) / ZOOM_INTERVALS
    outside = (1.0 - level) / 2.0
    first = low
    below = 0.0
    for place in range(ZOOM_INTERVALS):
        after = below + held[place]
        if below <= outside < after:
            first = low + width * (place + (outside - below) / held[place])
        if below < 1.0 - outside <= after:
            return first, low + width * (place + (1.0 - outside - below) / held[place])
        below = after
    return first, high


def packed(successes: int, failures: int) -> tuple[int, int]:
    """The same proportion in numbers of 16 bits each: more than 65,535 observations count as half as many."""
    while successes > PACKED_MAX or failures > PACKED_MAX:
        successes = (successes + 1) >> 1
        failures >>= 1
    return successes, failures


class Evidence:
    """Successes and failures that were seen, and at most `memory` of them remembered (0: all)."""

    def __init__(self, memory: int) -> None:
        self.successes = 0
        self.failures = 0
        self._memory = memory
        self._half_success = 0  # 0 or 1: what halving left over, so that rounding does not favour either
        self._half_failure = 0

    def add(self, successes: int, failures: int) -> None:
        self.successes += successes
        self.failures += failures
        if self._memory > 0:
            while self.successes + self.failures > self._memory:
                self._halve()

    def take_back_failure(self) -> None:
        """What was taken for lost arrived after all."""
        if self.failures > 0:
            self.failures -= 1

    def clear(self) -> None:
        self.successes = 0
        self.failures = 0

    def _halve(self) -> None:
        successes = self.successes + self._half_success
        failures = self.failures + self._half_failure
        self.successes = successes >> 1
        self.failures = failures >> 1
        self._half_success = successes & 1
        self._half_failure = failures & 1


def is_news(successes: int, failures: int, told_successes: int, told_failures: int, growth: float) -> bool:
    """Whether an estimate has changed enough since it was told that it is worth telling again."""
    total = successes + failures
    told = told_successes + told_failures
    if successes == told_successes and failures == told_failures:
        return False
    if told_successes == 0 or successes == 0 or total < told or total - told >= growth * told:
        return True
    moved = mean(successes, failures) - mean(told_successes, told_failures)
    return abs(moved) > deviation(told_successes, told_failures)
