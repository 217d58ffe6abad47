"""The exhaustive explorer: every order of a small scenario's events, with a budget of things that go wrong.

Breadth first over global states: the state of each site (see `local_states.py`), the messages in flight, what is left
of the budgets, the clock. In a state anything can happen that could (`successors.py`): a message arrives, is lost or
arrives twice; a sender broadcasts; a site crashes or comes back; the scenario's next fault happens. Timers fire when
nothing is in flight and nobody can broadcast (the earliest first; the clock moves to its deadline), and up to `early`
times at any point.

Safety properties are checked whenever an application saw something new, all promised properties at every end: nothing
in flight, nothing to broadcast, no fault left, and no timer within the scenario's `duration_us` after the last
broadcast, loss, crash, recovery or fault: that long the protocol has to put things right. Breadth first, so that the
first violation has the fewest steps.
"""

from array import array
from collections import deque
from collections.abc import Callable

from tocsin.core.errors import InputError
from tocsin.core.machine import SiteId
from tocsin.sim import faults as fault_kinds
from tocsin.sim.explore.exploration import Exploration, Limits, Step, Violation, broken_promise, count_executions
from tocsin.sim.explore.flights import Flights
from tocsin.sim.explore.local_states import LocalStates, SiteMaker
from tocsin.sim.explore.state import Bounds, Move, State, Turn, state_of_key
from tocsin.sim.explore.successors import Successors
from tocsin.sim.manual_site import ManualSite
from tocsin.sim.scenario import Scenario

COUNTED_MAX = 2_000_000  # states of which the executions are counted; beyond, the edges would need too much memory
NOT_EXPLORED = (
    fault_kinds.WIPE,
    fault_kinds.SAVE,
    fault_kinds.RESTORE,
    fault_kinds.DAMAGE,
    fault_kinds.SLOW,
    fault_kinds.QUICK,
)


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
        self._scenario = scenario
        self._limits = limits
        self._watch = watch
        self._protocol = scenario.protocol
        self._absent = [site for f in scenario.faults if f.what == fault_kinds.JOIN for site in f.sites]
        self._flights = Flights()
        maker = _ScenarioSites(scenario, limits.seed, self._absent)
        self._locals = LocalStates(maker, len(scenario.names), self._flights)
        self._senders, turns = self._plan_broadcasts()
        self._successors = Successors(
            self._locals,
            self._flights,
            Bounds(
                limits.losses,
                limits.crashes,
                -1 if limits.recoveries is None else limits.recoveries,
                limits.late_recoveries,
                limits.prompt_detector,
                limits.early,
                limits.repeats,
            ),
            self._senders,
            turns,
            scenario.faults,
            [" ".join(scenario.names[site] for site in fault.sites) for fault in scenario.faults],
            scenario.config.network.detect_us is not None,
            scenario.config.duration_us,
        )
        self._found: dict[bytes, int] = {}  # states by key, in the order of their numbers
        self._parent = array("q")
        self._edges = array("q")
        self._transitions = 0
        self._checked: dict[tuple[object, ...], str | None] = {}
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

    # The search

    def run(self) -> Exploration:
        first = self._successors.first(self._absent)
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
        counted = violation is None and finished and len(self._found) <= COUNTED_MAX
        return Exploration(
            states=len(self._found),
            local_states=len(self._locals.states),
            transitions=self._transitions,
            ends=len(ends),
            executions=count_executions(len(self._found), self._edges, ends) if counted else None,
            finished=finished and violation is None,
            violation=violation,
        )

    def _add(self, parent: int, state: State) -> int:
        """Note a state; its number if it is new, otherwise -1."""
        index = len(self._found)
        known = self._found.setdefault(state.key(), index)
        if parent >= 0:
            self._transitions += 1
            if index <= COUNTED_MAX:
                self._edges.append(parent)
                self._edges.append(known)
        if known < index:
            return -1
        self._parent.append(parent)
        self._queue.append(state)
        return index

    def _expand(self, index: int, state: State) -> tuple[bool, Violation | None]:
        """Everything that can happen next. Whether this state is an end, and a violation if one was found."""
        for move in self._successors.of(state):
            new = self._add(index, move.to)
            if new >= 0 and move.seen:
                violation = self._check(new, move.to, False)
                if violation is not None:
                    return False, violation
        if self._successors.is_end(state, self._protocol.assumptions.crashes_recover):
            return True, self._check(index, state, True)
        return False, None

    # Checking

    def _check(self, index: int, state: State, at_the_end: bool) -> Violation | None:
        """The first promised property that does not hold in a state; each combination of stories is checked once."""
        locals_ = [self._locals.states[local] for local in state.sites]
        seen = (at_the_end, *[local.tale for local in locals_])
        if seen not in self._checked:
            self._checked[seen] = broken_promise(self._scenario, locals_, at_the_end)
        why = self._checked[seen]
        return None if why is None else Violation(why, self._path(index))

    def _path(self, index: int) -> list[Step]:
        """The moves that led to a state: not kept, but found again from the states on the way."""
        numbers: list[int] = []
        while index >= 0:
            numbers.append(index)
            index = self._parent[index]
        keys = list(self._found)
        steps: list[Step] = []
        for before, after in zip(numbers[:0:-1], numbers[-2::-1], strict=True):
            state = state_of_key(keys[before], len(self._scenario.names), len(self._senders))
            steps.append(self._step(next(m for m in self._successors.of(state) if m.to.key() == keys[after])))
        return steps

    def _step(self, move: Move) -> Step:
        if move.flight < 0:
            return Step(move.what, move.source, move.target, None, move.text)
        flight = self._flights.all[move.flight]
        return Step(move.what, move.source, move.target, flight.message, "", flight.what)


def explore(scenario: Scenario, limits: Limits, watch: Callable[[int, int], None] | None = None) -> Exploration:
    """Visit every order of the scenario's events within the limits."""
    return Explorer(scenario, limits, watch).run()
