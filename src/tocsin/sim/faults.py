"""Faults: what goes wrong, to whom, and when. `Simulation.apply` makes it happen."""

from typing import Final

from tocsin.core.machine import GroupId, Micros, SiteId

CRASH: Final = "crash"
RECOVER: Final = "recover"
PARTITION: Final = "partition"
CUT: Final = "cut"
HEAL: Final = "heal"
FAIL: Final = "fail"
REPAIR: Final = "repair"
PAUSE: Final = "pause"
RESUME: Final = "resume"
LEAVE: Final = "leave"
JOIN: Final = "join"
CHANGE: Final = "change"
CALM: Final = "calm"


class Fault:
    """One thing that happens at one time; which lists matter depends on `what`."""

    def __init__(self, at: Micros, what: str) -> None:
        self.at = at
        self.what = what
        self.sites: list[SiteId] = []  # crash, recover, pause, resume, leave, join; members for change
        self.parts: list[list[SiteId]] = []  # partition
        self.pairs: list[tuple[SiteId, SiteId]] = []  # cut: from, to
        self.links: list[int] = []  # fail, repair
        self.group: GroupId = 0  # change
        self.asked: SiteId = 0  # change: the site that is asked
