"""reach: where broadcasts are planned for a probability of reaching everybody (`Protocol.plans_reach`), no more of them
miss somebody than was promised.

A promise speaks of surroundings that are as they were learned. So a broadcast counts if the network was as it is for a
while before it, and its sites either stay up or have crashed and come back often enough to be known for it. Nothing is
learned in a moment, and nothing is proven by one miss: a run fails when misses as many as these would be rarer than
`CHANCE`, had the promises been kept.
"""

from math import exp
from typing import Final

from tocsin.core.machine import Micros, SiteId
from tocsin.sim import faults
from tocsin.sim.duties.notes import Notes, Promised
from tocsin.sim.faults import Fault

STEADY_US: Final = 10_000_000  # the network is the same for so long: a hundred heartbeats of the default options
OFTEN: Final = 10  # so many crashes are a habit
CHANCE: Final = 1e-6  # of a false alarm, in a run
AWAY: Final = (faults.CRASH, faults.TEAR)
BACK: Final = (faults.RECOVER, faults.RESTART)


def unkept(notes: Notes, schedule: list[Fault], travel_us: Micros) -> tuple[int, str]:
    """How many promises count, and how far they were not kept; "" if they were. `travel_us`: how long a broadcast may
    be under way."""
    has = _holders(notes)
    counted = 0
    missed = 0
    allowed = 0.0
    for name, promised in notes.promised.items():
        if _is_as_learned(promised, schedule, travel_us):
            counted += 1
            allowed += 1.0 - promised.reach
            if not has.get(name, set()).issuperset(promised.members):
                missed += 1
    if missed == 0 or _at_least(missed, allowed) >= CHANCE:
        return counted, ""
    return counted, (
        f"{missed} of {counted} broadcasts did not reach everybody; what was promised allows {allowed:.3g} "
        f"(a reach of {1.0 - allowed / counted:.5f}, and it was {1.0 - missed / counted:.5f})"
    )


def _holders(notes: Notes) -> dict[int, set[SiteId]]:
    """By message: who has delivered it."""
    found: dict[int, set[SiteId]] = {}
    for site in range(len(notes.logs)):
        for names in notes.logs[site].told.values():
            for name in names:
                found.setdefault(name, set()).add(site)
    return found


def _is_as_learned(promised: Promised, schedule: list[Fault], travel_us: Micros) -> bool:
    """Whether a broadcast was made in surroundings that there was time to learn, and was under way in them."""
    if promised.at < STEADY_US:
        return False
    crashes: dict[SiteId, int] = {}  # before it, by site
    fresh: set[SiteId] = set()  # who crashes or comes back while it is under way
    for fault in schedule:
        if fault.at > promised.at + travel_us:
            continue
        if fault.what in AWAY or fault.what in BACK:
            for site in fault.sites:
                if fault.at <= promised.at and fault.what in AWAY:
                    crashes[site] = crashes.get(site, 0) + 1
                fresh.add(site)
        elif fault.at > promised.at - STEADY_US:
            return False  # the network changes, a process stands still, a disk is lost
    return all(crashes.get(site, 0) >= OFTEN for site in fresh)


def _at_least(count: int, mean: float) -> float:
    """The probability of at least so many rare things, where so many are expected (Poisson)."""
    term = exp(-mean)
    below = term
    for number in range(1, count):
        term *= mean / number
        below += term
    return max(0.0, 1.0 - below)
