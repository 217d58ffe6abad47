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
WIPE: Final = "wipe"
SAVE: Final = "save"
RESTORE: Final = "restore"
TEAR: Final = "tear"
DAMAGE: Final = "damage"
DEAD: Final = "dead"
SLOW: Final = "slow"
QUICK: Final = "quick"
ADD: Final = "add"
REMOVE: Final = "remove"
JUMP: Final = "jump"
RESTART: Final = "restart"  # only counted: a restart is a crash and a recovery in one instant

COUNTED: Final = (  # in the answer of a run: how often each happened
    CRASH,
    RECOVER,
    RESTART,
    WIPE,
    SAVE,
    RESTORE,
    TEAR,
    DAMAGE,
    LEAVE,
    JOIN,
    PAUSE,
    RESUME,
    PARTITION,
    CUT,
    DEAD,
    HEAL,
    CALM,
    SLOW,
    QUICK,
    FAIL,
    REPAIR,
    CHANGE,
    ADD,
    REMOVE,
    JUMP,
)

FIRST_UP: Final = -1  # a request that is made to no site in particular


class Fault:
    """One thing that happens at one time; which lists matter depends on `what`."""

    def __init__(self, at: Micros, what: str) -> None:
        self.at = at
        self.what = what
        self.counted_as = what  # "": not counted
        self.sites: list[SiteId] = []  # whom it happens to; change: the new members; add, remove: the voters
        self.parts: list[list[SiteId]] = []  # partition
        self.pairs: list[tuple[SiteId, SiteId]] = []  # cut, dead: from, to
        self.links: list[int] = []  # fail, repair
        self.group: GroupId = 0  # change
        self.asked: SiteId = FIRST_UP  # change, add, remove: the site that is asked
        self.by_us: Micros = 0  # jump: how much more the clock shows, or less
