"""The exhaustive explorer: every order of a small scenario's events, with a budget of things that go wrong.

Breadth first over global states: the state of each site (see `local_states.py`), the messages in flight, what is left
of the budgets, the clock. In a state anything can happen that could (`successors.py`): a message arrives, is lost or
arrives twice; a sender broadcasts; a site crashes, comes back, loses its disk, leaves, returns; a link dies; the
scenario's next fault happens. Timers fire when nothing is in flight and nobody can broadcast (the earliest first; the
clock moves to its deadline), and up to `early` times at any point.

Safety properties are checked whenever an application saw something new, all promised properties at every end: nothing
in flight, nothing to broadcast, no fault left, and no timer within the scenario's `duration_us` after the last
broadcast, loss, crash, recovery or fault: that long the protocol has to put things right. Breadth first, so that the
first violation has the fewest steps. Liveness is judged when the search is over (`liveness.py`).
"""

from array import array
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from tocsin.core.errors import InputError
from tocsin.core.machine import SiteId
from tocsin.sim import faults as fault_kinds
from tocsin.sim.explore.exploration import UNSETTLED, Exploration, Limits, Step, Violation
from tocsin.sim.explore.flights import Flights
from tocsin.sim.explore.graph import Graph
from tocsin.sim.explore.judging import Judge
from tocsin.sim.explore.liveness import Liveness
from tocsin.sim.explore.local_states import Local, LocalStates, SiteMaker
from tocsin.sim.explore.script import NOT_EXPLORED, Script
from tocsin.sim.explore.state import (
    CRASHES,
    DEAD_LINKS,
    EARLY,
    FAULTS_MOST,
    KINDS,
    LEAVES,
    LOSSES,
    MOST,
    NO_LIMIT,
    RECOVERIES,
    REPEATS,
    RESTORES,
    RETURNS,
    SAVES,
    WIPES,
    Bounds,
    Move,
    State,
    Turn,
    state_of_key,
)
from tocsin.sim.explore.successors import Successors
from tocsin.sim.explore.symmetry import Asymmetric, Mirrors, interchangeable, permuted
from tocsin.sim.manual_site import ManualSite
from tocsin.sim.scenario import Scenario

BUDGETS = (
    "losses",
    "crashes",
    "recoveries",
    "wipes",
    "restores",
    "leaves",
    "returns",
    "dead_links",
    "early",
    "repeats",
)
COUNTED_MAX = 2_000_000  # states of which the executions are counted; beyond, the numbers would need too much memory
WITHOUT_FAULT: Final = ("arrive", "vanish", "broadcast", "fire")


class _ScenarioSites(SiteMaker):
    def __init__(self, scenario: Scenario, seed: int, absent: list[SiteId]) -> None:
        self._scenario = scenario
        self._seed = seed
        self._founders = [site for site in range(len(scenario.names)) if site not in absent]

    def make(self, site: SiteId) -> ManualSite:
        scenario = self._scenario
        return ManualSite(
            site,
            scenario.protocol,
            scenario.options,
            len(scenario.names),
            self._founders,
            scenario.groups,
            scenario.topology,
            self._seed,
        )


class Explorer:
    """Explores one scenario."""

    def __init__(self, scenario: Scenario, limits: Limits, watch: Callable[[int, int], None] | None = None) -> None:
        for fault in scenario.faults:
            if fault.what in NOT_EXPLORED:
                raise InputError(f"{scenario.source}: `faults`: `{fault.what}` is simulated, not explored")
        if len(scenario.faults) > FAULTS_MOST:
            found = len(scenario.faults)
            raise InputError(f"{scenario.source}: `faults`: expected at most {FAULTS_MOST} to explore, found {found}")
        self._scenario = scenario
        self._limits = limits
        self._watch = watch
        self._protocol = scenario.protocol
        self._absent = [site for f in scenario.faults if f.what == fault_kinds.JOIN for site in f.sites]
        self._flights = Flights()
        maker = _ScenarioSites(scenario, limits.seed, self._absent)
        self._locals = LocalStates(maker, len(scenario.names), self._flights)
        self._senders, self._turns = self._plan_broadcasts()
        script = Script(scenario.faults, scenario.names, scenario.group_names)
        self.successors = Successors(
            self._locals,
            self._flights,
            _bounds(limits),
            self._senders,
            self._turns,
            script,
            scenario.config.network.detect_us is not None,
            scenario.config.duration_us,
            scenario.names,
        )
        self.judge = Judge(scenario, script)
        self._graph = Graph()
        self.liveness = Liveness(
            self._locals,
            self._flights,
            script,
            self.judge,
            self._graph,
            self._senders,
            self._turns,
            scenario.protocol.liveness_us,
        )
        self._mirrors = self._find_mirrors() if limits.symmetry else None
        self._stands_for = 0  # states of a search without symmetry
        self._found: dict[bytes, int] = {}  # states by key, in the order of their numbers
        self._parent = array("q")
        self._queue: deque[State] = deque()

    def _plan_broadcasts(self) -> tuple[list[SiteId], list[list[Turn]]]:
        """Who broadcasts what: the workload's messages, dealt round the senders, each to the next group in turn."""
        config = self._scenario.config.workload
        names = self._scenario.names
        group_names = self._scenario.group_names
        senders = sorted(names.index(name) for name in (config.senders or names))
        turns: list[list[Turn]] = [[] for _ in senders]
        groups = [group_names.index(group) for group in config.groups or group_names]
        for number in range(config.messages):
            group = groups[number % len(groups)]
            turns[number % len(senders)].append(Turn(group, group_names[group], f"m{number}".encode()))
        return senders, turns

    def _find_mirrors(self) -> Mirrors | None:
        """What maps states to states that differ by names, where some sites have no part of their own."""
        scenario = self._scenario
        count = len(scenario.names)
        if scenario.topology is not None:
            return None
        apart = {self._senders[place] for place in range(len(self._senders)) if self._turns[place]}
        for fault in scenario.faults:
            apart.update(fault.sites)
            apart.add(fault.asked)
            apart.update([site for part in fault.parts for site in part])
            apart.update([site for pair in fault.pairs for site in pair])
        founders = [site for site in range(count) if site not in self._absent]
        group = permuted(count, interchangeable(count, scenario.groups, apart, founders))
        if len(group) == 1:
            return None
        mirrors = Mirrors(self._locals, self._flights, group)
        self._locals.watcher = mirrors
        return mirrors

    # The search

    def run(self) -> Exploration:
        first = self.successors.first(self._absent)
        self._add(-1, first)
        violation = self._check(0, first, False)
        finished = True
        ends: list[int] = []
        index = -1
        while self._queue and violation is None:
            if len(self._found) >= self._limits.states_max:
                finished = False
                break
            index += 1
            if self._watch is not None and index % 1024 == 0:
                self._watch(index, len(self._found))
            is_end, violation = self._expand(index, self._queue.popleft())
            if is_end:
                ends.append(index)
        if violation is None and self._limits.liveness:
            violation = self._judge_liveness()
        counted = violation is None and finished and len(self._found) <= COUNTED_MAX
        return Exploration(
            states=len(self._found),
            local_states=len(self._locals.states),
            transitions=self._graph.edge_count(),
            ends=len(ends),
            executions=self._graph.executions(len(self._found), ends) if counted else None,
            finished=finished and violation is None,
            settled=self.liveness.settled,
            continued=self.liveness.continued,
            unknown=self.liveness.unknown,
            stands_for=self._stands_for,
            violation=violation,
        )

    def _add(self, parent: int, state: State) -> int:
        """Note a state; its number, negative (-1 - number) if it was known."""
        index = len(self._found)
        state = self._canonical(state)
        known = self._found.setdefault(state.key(), index)
        if known < index:
            return -1 - known
        self._stands_for += 1 if self._mirrors is None else self._mirrors.orbit(state)
        self._parent.append(parent)
        self._queue.append(state)
        return index

    def _canonical(self, state: State) -> State:
        """Of the states that differ from this one by names of interchangeable sites only, one stands for all."""
        return state if self._mirrors is None else self._mirrors.canonical(state)

    def _expand(self, index: int, state: State) -> tuple[bool, Violation | None]:
        """Everything that can happen next. Whether this state is an end, and a violation if one was found."""
        self._graph.begin()
        for move in self.successors.of(state):
            new = self._add(index, move.to)
            self._graph.add(
                new if new >= 0 else -1 - new, move.what not in WITHOUT_FAULT or move.text.endswith(" early")
            )
            if new >= 0 and move.seen:
                violation = self._check(new, move.to, False)
                if violation is not None:
                    return False, violation
        is_end = self.successors.is_end(state, self._protocol.assumptions.crashes_recover)
        if self._limits.liveness:
            self.liveness.look_at(state, is_end)
        return is_end, self._check(index, state, True) if is_end else None

    # Checking

    def _check(self, index: int, state: State, at_the_end: bool) -> Violation | None:
        """The first promised property that does not hold in a state."""
        why = self.judge.broken_promise(self.locals_of(state), at_the_end)
        if why is None:
            return None
        return self._shortest(index, why, True) if at_the_end else Violation(why, self.path(index))

    def _judge_liveness(self) -> Violation | None:
        keys = list(self._found)
        found = self.liveness.judge(len(keys), lambda index: self._decoded(keys[index]), self._limits.continuations)
        if found is None:
            return None
        index, why = found
        return self._shortest(index, f"{UNSETTLED}: {why}", self.liveness.is_certain())

    def _shortest(self, index: int, why: str, fewest: bool) -> Violation:
        """What is violated when a run has ended is often lost much earlier: at the first state on the way of which the
        fair continuation does not settle."""
        keys = list(self._found)
        for number in self._way(index)[:-1] if self._limits.liveness else ():
            late = self.liveness.lateness(self._decoded(keys[number]))
            if late is not None:
                return Violation(f"{UNSETTLED}: {late}", self.path(number), False)
        return Violation(why, self.path(index), fewest)

    # What was found, by number

    def states(self) -> list[State]:
        return [self._decoded(key) for key in self._found]

    def images(self, state: State) -> list[State]:
        """The states that differ from it only by names of interchangeable sites, itself among them."""
        return [state] if self._mirrors is None else self._mirrors.images(state)

    def locals_of(self, state: State) -> list[Local]:
        return [self._locals.states[number] for number in state.sites]

    def replayed(self, local: Local) -> ManualSite:
        return self._locals.replayed(local)

    def _decoded(self, key: bytes) -> State:
        return state_of_key(key, len(self._scenario.names), len(self._senders))

    def _way(self, index: int) -> list[int]:
        """The states that led to one, by number; the first and itself too."""
        numbers: list[int] = []
        while index >= 0:
            numbers.append(index)
            index = self._parent[index]
        numbers.reverse()
        return numbers

    def path(self, index: int) -> list[Step]:
        """The moves that led to a state: not kept, but found again from the states on the way."""
        keys = list(self._found)
        steps: list[Step] = []
        state = self.successors.first(self._absent)
        for after in self._way(index)[1:]:  # by the moves of one run: what stands for a state may have other names
            moves = self.successors.of(state)
            move = next(move for move in moves if self._canonical(move.to).key() == keys[after])
            steps.append(self._step(move))
            state = move.to
        return steps

    def _step(self, move: Move) -> Step:
        if move.flight < 0:
            return Step(move.what, move.source, move.target, None, move.text)
        flight = self._flights.all[move.flight]
        return Step(move.what, move.source, move.target, flight.message, "", flight.what)


def _bounds(limits: Limits) -> Bounds:
    for name in BUDGETS:
        value = getattr(limits, name)
        if value is not None and not 0 <= value <= MOST:
            raise InputError(f"{name}: expected 0 to {MOST}, found {value}")
    most = [0] * KINDS
    most[LOSSES] = limits.losses
    most[CRASHES] = limits.crashes
    most[RECOVERIES] = NO_LIMIT if limits.recoveries is None else limits.recoveries
    most[EARLY] = limits.early
    most[REPEATS] = limits.repeats
    most[WIPES] = limits.wipes
    most[SAVES] = limits.restores
    most[RESTORES] = limits.restores
    most[LEAVES] = limits.leaves
    always = NO_LIMIT if limits.leaves else 0  # whom a scenario's fault made leave, its faults bring back
    most[RETURNS] = always if limits.returns is None else limits.returns
    most[DEAD_LINKS] = limits.dead_links
    return Bounds(most, limits.late_recoveries, limits.late_faults, limits.prompt_detector)


def explore(scenario: Scenario, limits: Limits, watch: Callable[[int, int], None] | None = None) -> Exploration:
    """Visit every order of the scenario's events within the limits."""
    try:
        return Explorer(scenario, limits, watch).run()
    except Asymmetric:
        return Explorer(scenario, msgspec.structs.replace(limits, symmetry=False), watch).run()
