"""What any network does to messages: delay, loss, duplication, reordering, partitions."""

from abc import ABC, abstractmethod
from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.rng import Rng

TAIL_SHAPE: Final = 1.5  # a Pareto tail with a mean and without a variance: rare delays of 100 times the median
SLOW_LOSS: Final = 0.9  # of what is sent to a slow site: it receives a tenth
TAIL_MAX: Final = 1000.0  # no delay beyond this multiple of the smallest, so that runs end


class Delay(ABC):
    """A distribution of delays in microseconds: never negative."""

    @abstractmethod
    def draw(self, rng: Rng) -> int: ...


class Constant(Delay):
    def __init__(self, delay_us: int) -> None:
        self._delay_us = delay_us

    def draw(self, rng: Rng) -> int:
        return self._delay_us


class Uniform(Delay):
    def __init__(self, low_us: int, high_us: int) -> None:
        self._low_us = low_us
        self._high_us = high_us

    def draw(self, rng: Rng) -> int:
        return rng.between(self._low_us, self._high_us)


class Exponential(Delay):
    def __init__(self, low_us: int, mean_us: int) -> None:
        self._low_us = low_us  # always there
        self._mean_us = float(mean_us)  # of the random part

    def draw(self, rng: Rng) -> int:
        return self._low_us + int(rng.exponential(self._mean_us))


class LongTail(Delay):
    def __init__(self, low_us: int) -> None:
        self._low_us = low_us  # the smallest

    def draw(self, rng: Rng) -> int:
        tail = float((1.0 - rng.random()) ** (-1.0 / TAIL_SHAPE))
        return int(self._low_us * min(tail, TAIL_MAX))


class Conditions:
    """What the network does to messages at present. Faults change it while a run goes on."""

    def __init__(self, sites: int, delay: Delay, rng: Rng) -> None:
        self.delay = delay
        self.loss = 0.0  # probability that a copy is lost, independent per receiver
        self.duplicate = 0.0  # probability that a copy arrives twice
        self.reorder = 0.0  # probability that a copy is held up …
        self.reorder_us = 0  # … by up to this much
        self.rng = rng
        self._sites = sites
        self.divided = False  # whether there is a partition or a cut at all: spares most messages the question
        self.slow: set[SiteId] = set()  # who receives a tenth of what is sent to it
        self._part: list[int] = [0] * sites  # by site: its side of the partition
        self._split = False
        self._cuts: set[int] = set()  # one-way cuts, as source * sites + target
        self._dead: set[int] = set()  # cuts that nothing heals, in the same way

    def connected(self, source: SiteId, target: SiteId) -> bool:
        """Whether messages pass from source to target now."""
        if self._split and self._part[source] != self._part[target]:
            return False
        link = source * self._sites + target
        return link not in self._cuts and link not in self._dead

    def dead_count(self) -> int:
        """Ways of links, cut or dead, over which nothing passes."""
        return len(self._cuts | self._dead)

    def partition(self, parts: list[list[SiteId]]) -> None:
        """Split the sites; those not named are each alone."""
        self._split = True
        self.divided = True
        for site in range(self._sites):
            self._part[site] = -1 - site
        for number in range(len(parts)):
            for site in parts[number]:
                self._part[site] = number

    def cut(self, source: SiteId, target: SiteId) -> None:
        """Lose everything from source to target; the other direction works."""
        self.divided = True
        self._cuts.add(source * self._sites + target)

    def kill(self, source: SiteId, target: SiteId) -> None:
        """Lose everything from source to target for the rest of the run."""
        self.divided = True
        self._dead.add(source * self._sites + target)

    def heal(self) -> None:
        """End the partition and every cut; a dead link stays dead."""
        self.divided = len(self._dead) > 0
        self._split = False
        self._cuts.clear()

    def calm(self) -> None:
        """No more loss, duplication and reordering."""
        self.loss = 0.0
        self.duplicate = 0.0
        self.reorder = 0.0

    def is_missed(self, target: SiteId) -> bool:
        """Whether a slow site fails to receive one copy."""
        return target in self.slow and self.rng.chance(SLOW_LOSS)

    def hold_up_us(self) -> int:
        """The extra delay of one copy."""
        if self.reorder > 0.0 and self.rng.chance(self.reorder):
            return self.rng.between(0, self.reorder_us)
        return 0
