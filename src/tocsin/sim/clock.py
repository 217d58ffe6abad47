"""A site's own clock: it runs at its own rate, and may jump.

A machine's `now` and its timers' deadlines are of this clock; everything else (the network, disks, faults, traces) has
the run's one time. The clock is monotonic, as the live one is: it jumps forward while its site is up (a virtual machine
that stood still), backward only while it is down (a reboot).
"""

from typing import Final

from mypy_extensions import i64

from tocsin.core.machine import Micros

MILLION: Final = 1_000_000


class Clock:
    """Turns the run's time into a site's, and deadlines of the site's into the run's."""

    def __init__(self, drift_ppm: int) -> None:
        self._rate_ppm = MILLION + drift_ppm  # own microseconds in a second of the run
        self._since: Micros = 0  # in the run's time: when it last jumped …
        self._shown: Micros = 0  # … and what it showed then

    def shows(self, now: Micros) -> Micros:
        """What the clock shows at a time of the run."""
        return self._shown + _scaled(now - self._since, self._rate_ppm, MILLION)

    def comes_at(self, deadline: Micros) -> Micros:
        """The first time of the run at which the clock shows the deadline; before the last jump, that time."""
        ahead = deadline - self._shown
        return self._since - _scaled(-ahead, MILLION, self._rate_ppm) if ahead > 0 else self._since

    def jump(self, now: Micros, by_us: int) -> None:
        """Show so much more, or less, from now on; never less than nothing."""
        self._shown = max(0, self.shows(now) + by_us)
        self._since = now


def _scaled(span_us: Micros, times: int, parts: int) -> Micros:
    """`span_us * times // parts`, without a product that leaves machine integers."""
    span: i64 = span_us
    each: i64 = parts
    factor: i64 = times
    return span // each * factor + span % each * factor // each
