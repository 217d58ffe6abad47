"""How long a silent owner is waited for: as the option says, and longer where that has proved too short.

A view that is followed by one with the same members was given up for nothing: the network, or the disks, are slower
than was thought. The time doubles then, up to a limit, and is halved again in a view that lasts.
"""

from typing import Final

from tocsin.core.machine import Micros, SiteId

REISSUE_US_MAX: Final = 200_000  # with 4 reissues, a failed owner is found within 6 s
LASTING_CYCLES: Final = 256  # of the token: such a view lasts


class Patience:
    """The time before a token is sent again."""

    def __init__(self, reissue_us: Micros) -> None:
        self._least_us = reissue_us
        self.reissue_us = reissue_us
        self._members: list[SiteId] = []
        self._calm_cycle = LASTING_CYCLES  # of the present view: then it has lasted, once more

    def start_view(self, members: list[SiteId]) -> None:
        if sorted(members) == self._members and 2 * self.reissue_us <= max(REISSUE_US_MAX, self._least_us):
            self.reissue_us *= 2
        self._members = sorted(members)
        self._calm_cycle = LASTING_CYCLES

    def note_turn(self, cycle: int) -> None:
        if cycle >= self._calm_cycle:
            self._calm_cycle = cycle + LASTING_CYCLES
            self.reissue_us = max(self._least_us, self.reissue_us // 2)
