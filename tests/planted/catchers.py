"""What may catch a planted bug, cheapest first. Each has runs with names; a run is judged right, or wrong and why.

They know a protocol by its name only: stories of `tests/golden/NAME`, tests of `tests/protocols/NAME`, and what works
with any protocol.
"""

import contextlib
import importlib
import importlib.util
import io
import tomllib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

from tests.known_failures import left_out
from tests.planted.judging import Endless, Judge
from tests.planted.plots import Plot, Story
from tests.protocols.small import small
from tests.protocols.stories import STORIES, acts_otherwise
from tests.protocols.walks import first_wrong_walk
from tocsin.core.files import read_document
from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.swarm.swarm import run_document, run_seed

ROOT = Path(__file__).parents[2]
SWARM = ROOT / "tests" / "swarm"
OVERLAPPING = [[0, 1, 2], [1, 2, 3], [0, 3], [2]]


class Catcher(ABC):
    """A kind of runs."""

    name: str
    to_the_letter = False  # whether it compares all that a machine asks for, not only what an application sees
    tears = True  # whether a site may crash before the records of a step are durable: only then may a record be late

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    @abstractmethod
    def names(self) -> list[str]:
        """Its runs, in a defined order; maybe very many."""

    @abstractmethod
    def wrong(self, name: str) -> str | None:
        """What is wrong in that run, or None."""

    def judge(self, names: list[str], judge: Judge) -> None:
        for name in names:
            judge.begin(name)
            wrong: str | None
            try:
                wrong = self.wrong(name)
            except Endless:
                wrong = "does not end"
            except Exception as error:
                wrong = f"raised {type(error).__name__}: {error}"
            if not judge.end(name, wrong):
                return


class Stories(Catcher):
    """Golden transcripts. They tell that a machine acts otherwise, not that anything is wrong with it."""

    name = "story"
    to_the_letter = True

    def names(self) -> list[str]:
        return sorted(path.stem for path in (STORIES / self.protocol.name).glob("*.txt"))

    def wrong(self, name: str) -> str | None:
        return "acts otherwise" if acts_otherwise(self.protocol, f"{self.protocol.name}/{name}") else None


class Tests(Catcher):
    """The protocol's own tests, without the long ones and those of planted bugs."""

    name = "test"
    to_the_letter = True

    def names(self) -> list[str]:
        found = _Collected()
        self._pytest([str(self._folder())], found)
        return found.names

    def wrong(self, name: str) -> str | None:
        raise NotImplementedError("they are judged together")

    def judge(self, names: list[str], judge: Judge) -> None:
        self._pytest([str(ROOT / name) for name in names], _Judging(judge))

    def _folder(self) -> Path:
        return ROOT / "tests" / "protocols" / self.protocol.name

    def _pytest(self, arguments: list[str], plugin: object) -> None:
        ways = ["--rootdir", str(ROOT), "-m", "not long", "--ignore-glob", "*test_mutants.py"]
        if arguments:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                pytest.main([*ways, *arguments], plugins=[plugin])


class _Collected:
    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = [item.nodeid for item in session.items]

    def pytest_runtestloop(self) -> bool:
        return True  # none is run


class _Judging:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._wrong: str | None = None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._wrong = None
        self._judge.begin(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._wrong is None:
            self._wrong = str(report.longrepr).strip().splitlines()[-1]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        answer = yield
        if not self._judge.end(item.nodeid, self._wrong):
            item.session.shouldstop = "caught"
        return answer


class Walks(Catcher):
    """Random walks of a few sites, with the options' variations in every other."""

    name = "walk"
    tears = False

    def names(self) -> list[str]:
        forms = ["3", "4", "5", *(["overlapping"] if self.protocol.assumptions.several_groups else [])]
        return [f"{form} {seed}" for seed in range(1_000) for form in forms]

    def wrong(self, name: str) -> str | None:
        form, _, number = name.partition(" ")
        seed = int(number)
        options = varied(self.protocol, seed) if seed % 2 else {}
        if form == "overlapping":
            return first_wrong_walk(self.protocol, 4, 8, range(seed, seed + 1), options, OVERLAPPING)
        sites = int(form)
        return first_wrong_walk(self.protocol, sites, 2 * sites - 2, range(seed, seed + 1), options)


class Plots(Catcher):
    """The stories as schedules, told on at random."""

    name = "plot"

    def names(self) -> list[str]:
        stories = sorted(path.stem for path in (STORIES / self.protocol.name).glob("*.txt"))
        return [f"{story} {seed}" for seed in range(1_000) for story in stories]

    def wrong(self, name: str) -> str | None:
        story, _, seed = name.partition(" ")
        text = (STORIES / self.protocol.name / f"{story}.txt").read_text()
        return Plot(self.protocol, Story(text), int(seed)).wrong()


class Swarm(Catcher):
    """Seeds that once failed, then one after the other."""

    name = "swarm"

    def names(self) -> list[str]:
        kept: list[int] = tomllib.loads((SWARM / "seeds.toml").read_text()).get(self.protocol.name, [])
        return [f"kept {seed}" for seed in kept] + [str(seed) for seed in range(1_000)]

    def wrong(self, name: str) -> str | None:
        seed = int(name.removeprefix("kept "))
        scenario = SWARM / "kept" / f"{self.protocol.name}-{seed}.json"
        if name.startswith("kept") and scenario.exists():  # the draw has changed since
            return run_document(self.protocol, read_document(scenario), seed).violated
        return run_seed(self.protocol, seed, left_out(self.protocol.name)).violated


class Storms(Catcher):
    """Where a protocol has storms of its own."""

    name = "storm"

    def _storms(self) -> Any:
        module = f"tests.protocols.{self.protocol.name}.storms"
        return importlib.import_module(module) if importlib.util.find_spec(module) is not None else None

    def names(self) -> list[str]:
        return [str(seed) for seed in range(300)] if self._storms() is not None else []

    def wrong(self, name: str) -> str | None:
        found: str | None = self._storms().violation(self.protocol, int(name), varied(self.protocol, int(name)))
        return found


class Explorations(Catcher):
    """The first states of small scenarios with the default options."""

    name = "exploration"
    tears = False
    STATES_MAX = 4_000
    BUDGETS = {
        "crash": Limits(crashes=1, losses=1, states_max=STATES_MAX),
        "hasty": Limits(losses=1, early=2, states_max=STATES_MAX),
        "repeats": Limits(repeats=2, states_max=STATES_MAX),
    }

    def names(self) -> list[str]:
        return [f"{sites} {messages} {budget}" for sites in (2, 3) for messages in (1, 2) for budget in self.BUDGETS]

    def wrong(self, name: str) -> str | None:
        sites, messages, budget = name.split()
        scenario = small(self.protocol, int(sites), int(messages), self.protocol.liveness_us)
        violation = explore(scenario, self.BUDGETS[budget]).violation
        return None if violation is None else violation.why


ALL: tuple[type[Catcher], ...] = (Stories, Plots, Walks, Swarm, Storms, Tests, Explorations)


def varied(protocol: Protocol, seed: int) -> dict[str, Any]:
    """Options as the swarm draws them."""
    rng = Rng(seed).fork("planted")
    return {name: values[rng.below(len(values))] for name, values in sorted(protocol.variations.items())}
