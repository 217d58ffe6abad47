"""Trying planted bugs of one protocol, each in a process of its own.

First the *survey*: the protocol as it is goes through all runs of all catchers, and each run notes which bugs would
have mattered in it. A bug is then tried in those runs only; runs that the protocol itself does not pass count for
nothing. How many runs there are, and how many are tried, is fixed: the same sources give the same table.
"""

import math
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tests.mutation import import_sources, sources_of
from tests.planted import watch
from tests.planted.judging import Judge, Run, endless
from tests.planted.planting import LATE, Field, Plant
from tocsin.core.machine import Machine

if TYPE_CHECKING:
    from tests.planted.catchers import Catcher

T = TypeVar("T")

SURVEYED = {"plot": 900, "walk": 600, "swarm": 120, "storm": 20}  # runs of a survey, times the effort; of others all
TRIED = {"plot": 200, "walk": 80, "swarm": 36, "storm": 10}  # runs in which a bug is tried, times the effort
SECONDS = {"test": 4.0, "exploration": 2.0}  # of the others: as many as took so long together, times the effort
MEMORY_MAX = 3 << 30  # bytes of address space of a process that tries a bug

# what became of a planted bug
CAUGHT = "caught"  # a promise is broken, or a test fails
TOLD = "told"  # a story is acted otherwise; no promise is broken
MISSED = "missed"  # it mattered, and nothing noticed
IDLE = "idle"  # it never mattered in any run
UNREACHED = "unreached"  # no run came by
DIED = "died"  # the process that tried it ended without an answer: neither caught nor missed


class Died(RuntimeError):
    """A process ended without an answer."""


class Survey(msgspec.Struct, frozen=True):
    runs: list[Run]

    def failed(self) -> list[Run]:
        """Those that the protocol itself does not pass."""
        return [run for run in self.runs if run.wrong is not None]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one planted bug."""

    name: str
    line: int
    outcome: str
    by: str | None  # the catcher and the run
    why: str | None
    story: str | None  # the first story that is acted otherwise
    mattered: int  # runs of the survey in which it mattered
    tried: int  # runs
    seconds: float  # of CPU


class Trials:
    """One protocol with every place watched."""

    def __init__(self, name: str, effort: float = 1.0) -> None:
        self.field = Field(sources_of(name))
        import_sources(self.field.watched)
        from tests.planted import catchers  # these import protocols
        from tocsin.protocols.registry import find_protocol

        protocol = find_protocol(name, "planted")
        for module in self.field.watched:
            loaded = sys.modules.get(module)  # not yet, where only tests import it
            for value in list(vars(loaded).values()) if loaded is not None else ():
                # not `issubclass`: compiled abstract classes share one memory of its answers, which others then trust
                if isinstance(value, type) and Machine in value.__mro__ and value.__module__ == module:
                    watch.watch_steps(value)
        self.catchers: list[Catcher] = [kind(protocol) for kind in catchers.ALL]
        self._effort = effort

    def survey(self) -> Survey:
        """All runs of the protocol as it is; each catcher in a process of its own."""
        runs: list[Run] = []
        for catcher in self.catchers:
            runs += apart(partial(self._surveyed, catcher), list[Run])
        return Survey(runs)

    def _surveyed(self, catcher: "Catcher") -> list[Run]:
        names = catcher.names()
        count = SURVEYED[catcher.name] * self._effort if catcher.name in SURVEYED else len(names) * min(1, self._effort)
        names = names[: math.ceil(count)]
        judge = Judge(catcher.name, catcher.to_the_letter, {}, False)
        catcher.judge(names, judge)
        return judge.runs

    def trial(self, plant: Plant, survey: Survey) -> Trial:
        """What becomes of a bug. One that ends the process that tries it ends nothing else."""
        try:
            return apart(partial(self._tried, plant, survey), Trial)
        except Died as died:
            return Trial(
                name=plant.name,
                line=plant.line,
                outcome=DIED,
                by=None,
                why=str(died),
                story=None,
                mattered=sum(watch.key(plant.place, plant.mode) in run.mattered for run in survey.runs),
                tried=0,
                seconds=0.0,
            )

    def _tried(self, plant: Plant, survey: Survey) -> Trial:
        began = time.process_time()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        bug = watch.key(plant.place, plant.mode)
        tearing = {catcher.name for catcher in self.catchers if catcher.tears or plant.mode != LATE}
        runs = [run for run in survey.runs if run.wrong is None and run.catcher in tearing]
        fit = [run for run in runs if bug in run.mattered]
        watch.plant(plant)
        story: str | None = None
        caught: Run | None = None
        tried = 0
        for catcher in self.catchers:
            runs = sorted((run for run in fit if run.catcher == catcher.name), key=_cheapest)
            runs = self._affordable(catcher.name, runs)
            limits = {run.name: endless(run.seconds) for run in runs}
            judge = Judge(catcher.name, catcher.to_the_letter, limits, True)
            catcher.judge([run.name for run in runs], judge)
            tried += len(judge.runs)
            wrong = [run for run in judge.runs if run.wrong is not None]
            if wrong and catcher.name == "story":
                story = wrong[0].name
            elif wrong:
                caught = wrong[0]
                break
        reached = any(plant.place in run.reached for run in survey.runs)
        if caught is not None:
            outcome = CAUGHT
        else:
            outcome = TOLD if story is not None else MISSED if fit else IDLE if reached else UNREACHED
        return Trial(
            name=plant.name,
            line=plant.line,
            outcome=outcome,
            by=None if caught is None else f"{caught.catcher} {caught.name}",
            why=None if caught is None else caught.wrong,
            story=story,
            mattered=len(fit),
            tried=tried,
            seconds=round(time.process_time() - began, 1),
        )

    def _affordable(self, catcher: str, runs: list[Run]) -> list[Run]:
        """The first ones, as many as there is time for."""
        if catcher in TRIED:
            return runs[: round(TRIED[catcher] * self._effort)]
        spent = 0.0
        found: list[Run] = []
        for run in runs:
            spent += run.seconds
            if catcher in SECONDS and spent > SECONDS[catcher] * self._effort:
                break
            found.append(run)
        return found


def _cheapest(run: Run) -> tuple[int, float]:
    """Tests and stories: the quickest first; runs that were drawn: as they were drawn."""
    return (0, run.seconds) if run.catcher in ("test", "exploration") else (1, 0.0)


def apart(work: Callable[[], T], kind: type[T]) -> T:
    """The answer of some work that is done in a process of its own: whatever it does to modules, memory and signals."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(msgspec.json.encode(work()))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise Died(f"the process that tried it ended with {status}")
    return msgspec.json.decode(answer, type=kind)
