"""Dynamic reordering (section 5.1): priority lists in the order of measured round trips.

Reordering never changes who is on a list, so acyclicity and joint completeness stand. A host that was never measured
keeps its place; the measured ones share the places they have, nearest first.
"""

from typing import Final

from tocsin.core.machine import Micros, SiteId

ROUND_TRIP_US_MAX: Final = 60_000_000  # an answer older than a minute measures a pause, not a path
AGE_US_MAX: Final = 60_000_000  # a round trip that was measured longer ago says nothing of the network as it is now
WEIGHT: Final = 8  # a new sample counts one eighth: Jacobson's choice for TCP


class RoundTrips:
    """Smoothed round trips from this site to others."""

    def __init__(self) -> None:
        self._smoothed_us: dict[SiteId, int] = {}
        self._measured_at: dict[SiteId, Micros] = {}

    def note(self, now: Micros, site: SiteId, stamp: Micros) -> None:
        """An answer came to what was sent at `stamp`; 0 measures nothing."""
        sample = now - stamp
        if stamp <= 0 or not 0 <= sample <= ROUND_TRIP_US_MAX:
            return
        known = self._smoothed_us.get(site, -1)
        if now - self._measured_at.get(site, now) > AGE_US_MAX:
            known = -1
        self._measured_at[site] = now
        self._smoothed_us[site] = sample if known < 0 else known + (sample - known) // WEIGHT

    def smoothed_us(self, site: SiteId) -> int:
        """The smoothed round trip, -1 where none was measured."""
        return self._smoothed_us.get(site, -1)

    def ordered(self, now: Micros, priorities: list[SiteId]) -> list[SiteId]:
        """The list in the order of measured cost."""
        for site in sorted(self._measured_at):
            if now - self._measured_at[site] > AGE_US_MAX:
                del self._measured_at[site]
                del self._smoothed_us[site]
        measured: list[tuple[int, int, SiteId]] = []
        for place in range(len(priorities)):
            cost = self._smoothed_us.get(priorities[place], -1)
            if cost >= 0:
                measured.append((cost, place, priorities[place]))
        measured.sort()
        result = list(priorities)
        taken = 0
        for place in range(len(priorities)):
            if priorities[place] in self._smoothed_us:
                result[place] = measured[taken][2]
                taken += 1
        return result
