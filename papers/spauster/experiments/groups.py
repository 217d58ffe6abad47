"""Random groups, as Garcia-Molina and Spauster draw them, and the loads that other protocols put on their members."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.rng import Rng

Sites = Annotated[int, Meta(ge=2, le=100_000)]
Groups = Annotated[int, Meta(ge=1, le=100_000)]
Size = Annotated[int, Meta(ge=2, le=10_000)]
Micros = Annotated[int, Meta(ge=1, le=10**6)]

# The paper does not say how an exponential size becomes a whole number, nor whether a group of one counts
Distribution = Literal["fixed", "exponential", "exponential_from_2"]


def drawn_groups(sites: int, groups: int, size: int, distribution: Distribution, rng: Rng) -> list[list[int]]:
    """Section 4.1: groups of sites chosen uniformly, of one size or of exponential sizes with that mean."""
    return [rng.sample(sites, min(sites, _drawn_size(size, distribution, rng))) for _ in range(groups)]


def _drawn_size(size: int, distribution: Distribution, rng: Rng) -> int:
    if distribution == "fixed":
        return size
    least = 2 if distribution == "exponential_from_2" else 1
    mean = size - least + 1
    if mean <= 1:
        return least
    # rounded up, an exponential variate of this scale has the mean `mean`
    return least - 1 + max(1, math.ceil(rng.exponential(-1.0 / math.log(1.0 - 1.0 / mean))))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def two_phase_loads(sites: int, groups: list[list[int]]) -> list[int]:
    """By receiver, when one message goes to every group: the message, the priority sent back, the final one."""
    loads = [0] * sites
    for members in groups:
        for member in members:
            loads[member] += 3
    return loads


def busiest_site(sites: int, groups: list[list[int]]) -> int:
    """The site in most groups, which has least to send as the central site."""
    counts = [0] * sites
    for members in groups:
        for member in members:
            counts[member] += 1
    return counts.index(max(counts))


def central_load(central: int, groups: list[list[int]]) -> int:
    """Of the central site: a message from every source, and one to every other member."""
    return sum(1 + len(members) - (central in members) for members in groups)
