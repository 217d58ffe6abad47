"""A small seeded generator: the same numbers compiled and interpreted, on every machine.

The generator is Doty-Humphrey's sfc32: three 32-bit words and a counter, sums, shifts and a rotation. Every
intermediate value stays below 2^62, so that compiled code never leaves machine integers. A fork depends on the seed
and the label only, never on how many numbers were drawn: one more draw in the network does not shift a protocol.
"""

import hashlib
from math import log
from typing import Final

from mypy_extensions import i64

_MASK: Final = 0xFFFFFFFF
_SCALE: Final = 1.0 / 4294967296.0  # 2^-32
_WARM_UP: Final = 12  # rounds after seeding; the author's own number


class Rng:
    """Numbers from a seed. `fork` makes an independent generator for each component."""

    def __init__(self, seed: int) -> None:
        self._identity = str(seed)  # the path of labels from the root seed; forks hash it
        self._a: i64 = 0  # machine integers where compiled
        self._b: i64 = 0
        self._c: i64 = 0
        self._counter: i64 = 1
        self._seed()

    def _seed(self) -> None:
        digest = hashlib.blake2b(self._identity.encode(), digest_size=12).digest()
        self._a = int.from_bytes(digest[0:4], "little")
        self._b = int.from_bytes(digest[4:8], "little")
        self._c = int.from_bytes(digest[8:12], "little")
        self._counter = 1
        for _ in range(_WARM_UP):
            self.bits()

    def fork(self, label: str) -> "Rng":
        """An independent generator; the same label gives the same one, whatever was drawn here before."""
        child = Rng(0)
        child._identity = self._identity + "/" + label
        child._seed()
        return child

    def bits(self) -> int:
        """32 random bits."""
        b = self._b
        c = self._c
        result = (self._a + b + self._counter) & _MASK
        self._counter += 1
        self._a = b ^ (b >> 9)
        self._b = (c * 9) & _MASK
        self._c = ((c << 21) + (c >> 11) + result) & _MASK
        return result

    def random(self) -> float:
        """A float in [0, 1), a multiple of 2^-32."""
        return self.bits() * _SCALE

    def chance(self, probability: float) -> bool:
        """True with the given probability; 0 never draws, so that a network without loss costs nothing."""
        return probability > 0.0 and self.bits() * _SCALE < probability

    def below(self, bound: int) -> int:
        """An integer in [0, bound); bound at most 2^30 (bias below 2^-2 per million)."""
        drawn: i64 = self.bits()
        return (drawn * bound) >> 32

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], both included; wide ranges take a second draw."""
        width = high - low + 1
        if width <= 1073741824:
            drawn: i64 = self.bits()
            return low + ((drawn * width) >> 32)
        return low + int((self.bits() + self.bits() * _SCALE) * _SCALE * width)

    def exponential(self, mean: float) -> float:
        """An exponential variate of the given mean."""
        return -log(1.0 - self.bits() * _SCALE) * mean

    def shuffle(self, items: list[int]) -> None:
        """Shuffle integers in place."""
        for index in range(len(items) - 1, 0, -1):
            drawn: i64 = self.bits()
            other = (drawn * (index + 1)) >> 32
            items[index], items[other] = items[other], items[index]

    def sample(self, population: int, count: int) -> list[int]:
        """`count` different integers of [0, population), in increasing order."""
        chosen: set[int] = set()
        while len(chosen) < count:
            chosen.add(self.below(population))
        return sorted(chosen)
