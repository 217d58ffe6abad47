"""A time that adapts to what is measured, such as a time-out that follows round trips.

A machine keeps it in an `Estimate`, not in a plain field, because the explorer must know it when it sees one: every
sample gives a new value, and hundreds of states would differ by microseconds alone. It tells estimates apart by their
octave (`octave`), and goes on with the first of those that it met (docs/design/2026-11-explorer-by-replay.md).
"""

from typing import Final

from tocsin.core.machine import Micros

WEIGHT: Final = 8  # a new sample counts one eighth: Jacobson's choice for TCP


class Estimate:
    def __init__(self, us: Micros, least_us: Micros, most_us: Micros) -> None:
        self.us = us
        self._least_us = least_us
        self._most_us = most_us

    def note(self, sample_us: Micros) -> None:
        """Something was measured."""
        smoothed = ((WEIGHT - 1) * self.us + sample_us) // WEIGHT
        self.us = max(self._least_us, min(self._most_us, smoothed))

    def octave(self) -> int:
        """The power of two that it is below."""
        return self.us.bit_length()
