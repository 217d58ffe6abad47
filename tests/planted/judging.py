"""Runs, and the judge that times them and notes how they went."""

import signal
import time
from types import FrameType

import msgspec

from tests.planted import watch

RUN_SECONDS_MAX = 6.0  # of CPU, of a run of the protocol as it is: longer ones are left out
ENDLESS_TIMES = 10.0  # a planted bug makes a run endless when it takes so many times as long, and ...
ENDLESS_SECONDS = 10.0  # ... at least so long


class Run(msgspec.Struct, frozen=True):
    """One run and how it was judged."""

    catcher: str
    name: str
    wrong: str | None  # why
    seconds: float  # of CPU
    mattered: list[str] = []  # bugs, as `watch.key` has them, which would have mattered in it
    reached: list[int] = []  # places


class Endless(BaseException):
    """The run took too long."""


class Judge:
    """Times runs and notes how they went."""

    def __init__(self, catcher: str, to_the_letter: bool, seconds_max: dict[str, float], stops: bool) -> None:
        self.runs: list[Run] = []
        self._catcher = catcher
        self._to_the_letter = to_the_letter
        self._seconds_max = seconds_max  # by run; others: RUN_SECONDS_MAX
        self._stops = stops  # at the first that is wrong
        self._began = 0.0
        signal.signal(signal.SIGPROF, _give_up)

    def begin(self, name: str) -> None:
        watch.begin_run()
        self._began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self._seconds_max.get(name, RUN_SECONDS_MAX))

    def end(self, name: str, wrong: str | None) -> bool:
        """Whether to go on."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - self._began
        told = watch.mattered(self._to_the_letter)
        self.runs.append(Run(self._catcher, name, wrong, round(seconds, 3), told, watch.reached()))
        return wrong is None or not self._stops


def _give_up(number: int, frame: FrameType | None) -> None:
    raise Endless


def endless(seconds: float) -> float:
    """After so many seconds a run that took `seconds` is endless."""
    return max(ENDLESS_SECONDS, ENDLESS_TIMES * seconds)
