"""Means with 95 % confidence intervals."""

import math
from statistics import NormalDist

_Z = NormalDist().inv_cdf(0.975)
# Student's t, 97.5 %, for 1 to 10 degrees of freedom
_SMALL = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


def student_quantile(degrees: int) -> float:
    """Student's t quantile at 97.5 %: a table for few degrees of freedom, Hill's expansion (error < 1e-4) for more."""
    if degrees <= len(_SMALL):
        return _SMALL[degrees - 1]
    z, n = _Z, float(degrees)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def mean_and_half_width(values: list[float]) -> tuple[float, float]:
    """The mean and the half-width of its 95 % confidence interval; infinite for a single value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, math.inf
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student_quantile(count - 1) * math.sqrt(variance / count)
