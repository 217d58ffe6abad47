"""The exhaustive explorer: every order of a small scenario's events, with a budget of things that go wrong.

Breadth first over global states: the state of each site (see `local_states.py`), the messages in flight, what is left
of the budgets, the clock. In a state anything can happen that could: a message arrives, is lost or arrives twice; a
sender broadcasts; a site crashes or comes back; the scenario's next fault happens. Timers fire when nothing is in
flight and nobody can broadcast (the earliest first; the clock moves to its deadline), and up to `early` times at any
point.

Safety properties are checked whenever an application saw something new, all promised properties at every end: nothing
in flight, nothing to broadcast, no fault left, and no timer within the scenario's `duration_us` after the last
broadcast, loss, crash, recovery or fault: that long the protocol has to put things right. Breadth first, so that the
first violation has the fewest steps.
"""

from array import array
from collections import deque
from collections.abc import Callable

from tocsin.check import AT_THE_END, FAIL, check
from tocsin.core.machine import SiteId
from tocsin.core.message import Message
from tocsin.sim import faults as fault_kinds
from tocsin.sim import stage
from tocsin.sim.exploration import Exploration, Limits, Step, Violation, count_executions
from tocsin.sim.local_states import Local, LocalStates, Transition
from tocsin.sim.scenario import Scenario
from tocsin.sim.stage import Input, StageSite
from tocsin.traces.buffer import TraceBuffer

MESSAGE, DOWN, UP = range(3)  # what a flight is: a message, or word of the perfect detector
Flight = tuple[int, SiteId, SiteId, Message | None]  # what, source, target, message

Key = tuple[
    tuple[int, ...],  # local states by site
    tuple[int, ...],  # flights, sorted, repeated where several are equal
    tuple[int, ...],  # broadcasts done, by sender
    tuple[int, int, int, int],  # losses, crashes, early firings, repeats so far
    int,  # faults of the scenario that have happened
    tuple[int, int],  # the clock, and when something last went wrong or was asked for
]


class Explorer:
    """Explores one scenario."""

    def __init__(self, scenario: Scenario, limits: Limits, watch: Callable[[int, int], None] | None = None) -> None:
        self._scenario = scenario
        self._limits = limits
        self._watch = watch
        self._protocol = scenario.protocol
        self._sites = len(scenario.names)
        self._absent = [site for f in scenario.faults if f.what == fault_kinds.JOIN for site in f.sites]
        self._locals = LocalStates(self._make_site, self._sites)
        self._flights: list[Flight] = []
        self._flight_number: dict[Flight, int] = {}
        self._senders, self._turns = self._plan_broadcasts()
        self._detector = scenario.config.network.detect_us is not None
        self._keys: list[Key] = []
        self._found: dict[Key, int] = {}
        self._parent = array("q")
        self._steps: list[Step | None] = []
        self._edges = array("q")
        self._checked: dict[tuple[object, ...], str | None] = {}
        self._queue: deque[int] = deque()

    def _make_site(self, site: SiteId) -> StageSite:
        scenario = self._scenario
        founders = [other for other in range(self._sites) if other not in self._absent]
        return StageSite(
            site,
            self._protocol,
            scenario.options,
            self._sites,
            founders,
            scenario.groups,
            scenario.topology,
            self._limits.seed,
        )

    def _plan_broadcasts(self) -> tuple[list[SiteId], list[list[tuple[int, bytes]]]]:
        """Who broadcasts what: the workload's messages, dealt round the senders, each to the next group in turn."""
        config = self._scenario.config.workload
        names = self._scenario.names
        senders = sorted(names.index(name) for name in (config.senders or names))
        turns: list[list[tuple[int, bytes]]] = [[] for _ in senders]
        groups = [self._scenario.group_names.index(group) for group in config.groups or self._scenario.group_names]
        for number in range(config.messages):
            turns[number % len(senders)].append((groups[number % len(groups)], f"m{number}".encode()))
        return senders, turns

    # The search

    def run(self) -> Exploration:
        violation = self._begin()
        finished = True
        ends: list[int] = []
        while self._queue and violation is None:
            if len(self._keys) >= self._limits.states_max:
                finished = False
                break
            index = self._queue.popleft()
            if self._watch is not None and index % 1024 == 0:
                self._watch(index, len(self._keys))
            is_end, violation = self._expand(index)
            if is_end:
                ends.append(index)
        return Exploration(
            states=len(self._keys),
            local_states=len(self._locals.states),
            transitions=len(self._edges) // 2,
            ends=len(ends),
            executions=count_executions(len(self._keys), self._edges, ends) if violation is None and finished else None,
            finished=finished and violation is None,
            violation=violation,
        )

    def _begin(self) -> Violation | None:
        """Start the founding sites, in order, at time 0."""
        states = list(self._locals.first)
        flights: list[int] = []
        for site in range(self._sites):
            if site not in self._absent:
                transition = self._locals.step(states[site], Input(stage.START, 0))
                states[site] = transition.target
                flights.extend(self._sent(site, transition))
        key: Key = (tuple(states), tuple(sorted(flights)), (0,) * len(self._senders), (0, 0, 0, 0), 0, (0, 0))
        self._add(-1, None, key)
        return self._check(0, False)

    def _add(self, parent: int, step: Step | None, key: Key) -> int | None:
        """Note a state; its number if it is new."""
        key = self._without_the_lost(key)
        known = self._found.get(key)
        index = len(self._keys) if known is None else known
        if parent >= 0:
            self._edges.append(parent)
            self._edges.append(index)
        if known is not None:
            return None
        self._found[key] = index
        self._keys.append(key)
        self._parent.append(parent)
        self._steps.append(step)
        self._queue.append(index)
        return index

    def _without_the_lost(self, key: Key) -> Key:
        """The state without what is in flight to sites that are down for good: it changes nothing any more."""
        states = key[0]
        if self._limits.recoveries is None or all(self._locals.states[state].up for state in states):
            return key
        if self._may_recover(states):
            return key
        kept = tuple([f for f in key[1] if self._locals.states[states[self._flights[f][2]]].up])
        return (states, kept, *key[2:]) if len(kept) < len(key[1]) else key

    def _expand(self, index: int) -> tuple[bool, Violation | None]:
        """Everything that can happen next. Whether this state is an end, and a violation if one was found."""
        key = self._keys[index]
        for step, following, seen in self._next(key):
            new = self._add(index, step, following)
            if new is not None and seen:
                violation = self._check(new, False)
                if violation is not None:
                    return False, violation
        if self._is_end(key):
            return True, self._check(index, True)
        return False, None

    def _is_end(self, key: Key) -> bool:
        states, flights, done, _, faults_done, clock = key
        if flights or faults_done < len(self._scenario.faults) or self._can_broadcast(states, done):
            return False
        locals_ = [self._locals.states[state] for state in states]
        if self._protocol.assumptions.crashes_recover and not all(local.up for local in locals_):
            return False
        return not self._due(locals_, clock)

    # What can happen

    def _next(self, key: Key) -> list[tuple[Step, Key, bool]]:
        found: list[tuple[Step, Key, bool]] = []
        self._next_flights(key, found)
        self._next_broadcasts(key, found)
        self._next_crashes(key, found)
        self._next_faults(key, found)
        self._next_timers(key, found)
        return found

    def _next_flights(self, key: Key, found: list[tuple[Step, Key, bool]]) -> None:
        states, flights, done, budget, faults_done, clock = key
        losses, crashes, early, repeats = budget
        now = clock[0]
        disturbed = (now, now)
        cut = self._cut(faults_done)
        last = -1
        for place, flight in enumerate(flights):
            if flight == last:
                continue  # equal to the one before
            last = flight
            what, source, target, message = self._flights[flight]
            rest = flights[:place] + flights[place + 1 :]
            step = Step("arrive", source, target, message, "", what)
            if not self._locals.states[states[target]].up or (what == MESSAGE and cut(source, target)):
                found.append((step.but("vanish"), (states, rest, done, budget, faults_done, clock), False))
                continue
            happening = self._arrival(what, source, message, now)
            following, seen = self._apply(key, target, happening, rest)
            found.append((step, following, seen))
            if what != MESSAGE:
                continue
            if losses < self._limits.losses:
                less = (losses + 1, crashes, early, repeats)
                found.append((step.but("lose"), (states, rest, done, less, faults_done, disturbed), False))
            if repeats < self._limits.repeats:
                again, seen = self._apply(key, target, happening, flights)
                more = (losses, crashes, early, repeats + 1)
                found.append((step.but("repeat"), (again[0], again[1], done, more, faults_done, disturbed), seen))

    def _arrival(self, what: int, source: SiteId, message: Message | None, now: int) -> Input:
        happening = Input((stage.RECEIVE, stage.PEER_DOWN, stage.PEER_UP)[what], now)
        happening.peer = source
        happening.message = message
        return happening

    def _next_broadcasts(self, key: Key, found: list[tuple[Step, Key, bool]]) -> None:
        states, flights, done, budget, faults_done, (now, _) = key
        for place, site in enumerate(self._senders):
            local = self._locals.states[states[site]]
            if done[place] < len(self._turns[place]) and local.up and local.has_room:
                group, payload = self._turns[place][done[place]]
                happening = Input(stage.BROADCAST, now)
                happening.number = group
                happening.payload = payload
                following, seen = self._apply(key, site, happening, flights)
                more = (*done[:place], done[place] + 1, *done[place + 1 :])
                text = f"{self._scenario.group_names[group]} {payload.decode()}"
                found.append(
                    (
                        Step("broadcast", site, site, None, text),
                        (following[0], following[1], more, budget, faults_done, (now, now)),
                        seen,
                    )
                )

    def _next_crashes(self, key: Key, found: list[tuple[Step, Key, bool]]) -> None:
        states, flights, done, budget, faults_done, (now, _) = key
        losses, crashes, early, repeats = budget
        for site in range(self._sites):
            local = self._locals.states[states[site]]
            if local.up and crashes < self._limits.crashes:
                following, _ = self._apply(key, site, Input(stage.CRASH, now), flights)
                following = self._tell(following, self._detected(following[1], site, DOWN))
                more = (losses, crashes + 1, early, repeats)
                step = Step("crash", site, site)
                found.append((step, (following[0], following[1], done, more, faults_done, (now, now)), True))
            elif not local.up and local.history and self._may_recover(states):
                following, _ = self._apply(key, site, Input(stage.START, now), flights)
                in_flight = self._told(self._detected(following[1], site, UP), site, states)
                following = self._tell(following, in_flight)
                step = Step("recover", site, site)
                found.append((step, (following[0], following[1], done, budget, faults_done, (now, now)), True))

    def _detected(self, flights: tuple[int, ...], site: SiteId, what: int) -> tuple[int, ...]:
        """The perfect detector sends word of a crash or recovery to everybody; older word of this site is void."""
        if not self._detector:
            return flights
        kept = [f for f in flights if self._flights[f][0] == MESSAGE or self._flights[f][1] != site]
        word = [self._number((what, site, other, None)) for other in range(self._sites) if other != site]
        return tuple(sorted(kept + word))

    def _tell(self, key: Key, flights: tuple[int, ...]) -> Key:
        """The state with the detector's words in flight; or, where it is prompt, after everybody has heard them."""
        key = (key[0], flights, *key[2:])
        if not self._limits.prompt_detector:
            return key
        for flight in flights:
            what, source, target, _ = self._flights[flight]
            if what != MESSAGE:
                rest = list(key[1])
                rest.remove(flight)
                key = (key[0], tuple(rest), *key[2:])
                if self._locals.states[key[0][target]].up:
                    key, _ = self._apply(key, target, self._arrival(what, source, None, key[5][0]), key[1])
        return key

    def _may_recover(self, states: tuple[int, ...]) -> bool:
        if self._limits.recoveries is None:
            return True
        done = 0
        for state in states:
            done += sum(1 for event in self._locals.states[state].story if event[0] == "recover")
        return done < self._limits.recoveries

    def _told(self, flights: tuple[int, ...], site: SiteId, states: tuple[int, ...]) -> tuple[int, ...]:
        """A site that has come back asks the perfect detector who is down."""
        if not self._detector:
            return flights
        down = [other for other in range(self._sites) if other != site and not self._locals.states[states[other]].up]
        word = [self._number((DOWN, other, site, None)) for other in down]
        return tuple(sorted([*flights, *[flight for flight in word if flight not in flights]]))

    def _next_faults(self, key: Key, found: list[tuple[Step, Key, bool]]) -> None:
        states, flights, done, budget, faults_done, (now, _) = key
        if faults_done >= len(self._scenario.faults):
            return
        fault = self._scenario.faults[faults_done]
        inputs = {
            fault_kinds.CRASH: stage.CRASH,
            fault_kinds.RECOVER: stage.START,
            fault_kinds.JOIN: stage.START,
            fault_kinds.LEAVE: stage.LEAVE,
        }
        step = Step(fault.what, -1, -1, None, " ".join(self._scenario.names[site] for site in fault.sites))
        following: Key = (states, flights, done, budget, faults_done + 1, (now, now))
        if fault.what == fault_kinds.CHANGE:
            happening = Input(stage.CHANGE, now)
            happening.number = fault.group
            happening.sites = sorted(fault.sites)
            following, _ = self._apply(following, fault.asked, happening, following[1])
        elif fault.what in inputs:
            for site in fault.sites:
                wanted_up = fault.what in (fault_kinds.CRASH, fault_kinds.LEAVE)
                if self._locals.states[following[0][site]].up == wanted_up:
                    happening = Input(inputs[fault.what], now)
                    following, _ = self._apply(following, site, happening, following[1])
        found.append((step, following, True))

    def _next_timers(self, key: Key, found: list[tuple[Step, Key, bool]]) -> None:
        states, flights, done, budget, faults_done, clock = key
        losses, crashes, early, repeats = budget
        now, since = clock
        locals_ = [self._locals.states[state] for state in states]
        if not flights and not self._can_broadcast(states, done):
            for deadline, site, name, number in self._due(locals_, clock):
                at = max(now, deadline)
                following, seen = self._apply(key, site, _timer(name, number, at), flights)
                step = Step("fire", site, site, None, f"{name}/{number}")
                found.append((step, (following[0], following[1], done, budget, faults_done, (at, since)), seen))
        elif early < self._limits.early:
            for local in locals_:
                for _, name, number in local.timers:
                    following, seen = self._apply(key, local.site, _timer(name, number, now), flights)
                    more = (losses, crashes, early + 1, repeats)
                    step = Step("fire", local.site, local.site, None, f"{name}/{number}")
                    found.append((step, (following[0], following[1], done, more, faults_done, (now, now)), seen))

    def _due(self, locals_: list[Local], clock: tuple[int, int]) -> list[tuple[int, SiteId, str, int]]:
        """The timers that may fire next: all that share the earliest deadline, if that comes soon enough."""
        now, since = clock
        armed = [(max(now, at), local.site, name, key) for local in locals_ for at, name, key in local.timers]
        if not armed:
            return []
        earliest = min(armed)[0]
        if earliest > since + self._scenario.config.duration_us:
            return []
        return [timer for timer in armed if timer[0] == earliest]

    def _can_broadcast(self, states: tuple[int, ...], done: tuple[int, ...]) -> bool:
        for place, site in enumerate(self._senders):
            local = self._locals.states[states[site]]
            if done[place] < len(self._turns[place]) and local.up and local.has_room:
                return True
        return False

    def _cut(self, faults_done: int) -> Callable[[SiteId, SiteId], bool]:
        """Whether messages from one site to another vanish, after the first faults of the scenario."""
        parts: list[list[SiteId]] = []
        pairs: list[tuple[SiteId, SiteId]] = []
        for fault in self._scenario.faults[:faults_done]:
            if fault.what == fault_kinds.PARTITION:
                parts = fault.parts
            elif fault.what == fault_kinds.CUT:
                pairs = pairs + fault.pairs
            elif fault.what == fault_kinds.HEAL:
                parts, pairs = [], []

        def is_cut(source: SiteId, target: SiteId) -> bool:
            if parts and not any(source in part and target in part for part in parts):
                return True
            return (source, target) in pairs

        return is_cut

    def _apply(self, key: Key, site: SiteId, happening: Input, flights: tuple[int, ...]) -> tuple[Key, bool]:
        """The state after an input at a site, `flights` being in flight besides what it sends."""
        states, _, done, budget, faults_done, clock = key
        transition = self._locals.step(states[site], happening)
        states = (*states[:site], transition.target, *states[site + 1 :])
        if transition.sends:
            flights = tuple(sorted([*flights, *self._sent(site, transition)]))
        return (states, flights, done, budget, faults_done, clock), transition.seen

    def _sent(self, site: SiteId, transition: Transition) -> list[int]:
        return [self._number((MESSAGE, site, target, message)) for target, message in transition.sends]

    def _number(self, flight: Flight) -> int:
        number = self._flight_number.get(flight)
        if number is None:
            number = len(self._flights)
            self._flight_number[flight] = number
            self._flights.append(flight)
        return number

    # Checking

    def _check(self, index: int, at_the_end: bool) -> Violation | None:
        """The first promised property that does not hold in a state; each combination of stories is checked once."""
        locals_ = [self._locals.states[state] for state in self._keys[index][0]]
        seen: tuple[object, ...] = (at_the_end, *[(local.story, local.received) for local in locals_])
        if seen not in self._checked:
            self._checked[seen] = self._judge(locals_, at_the_end)
        why = self._checked[seen]
        return None if why is None else Violation(why, self._path(index))

    def _judge(self, locals_: list[Local], at_the_end: bool) -> str | None:
        scenario = self._scenario
        trace = TraceBuffer("exploration", scenario.names)
        for local in locals_:
            for origin, seqno in sorted(local.received):
                trace.append(local.site, 0, "receive", None, scenario.names[origin], seqno, "data")
            for event, group, origin, seqno, view, members in local.story:
                trace.append(
                    local.site,
                    0,
                    event,
                    None if group is None else scenario.group_names[group],
                    None if origin is None else scenario.names[origin],
                    seqno,
                    view=view,
                    members=None if members is None else [scenario.names[site] for site in members],
                )
        groups = {
            name: [scenario.names[site] for site in m]
            for name, m in zip(scenario.group_names, scenario.groups, strict=False)
        }
        promised = [name for name in self._protocol.guarantees if at_the_end or name not in AT_THE_END]
        report = check(trace.rows(), groups, properties=promised)
        for name, verdict in report.properties.items():
            if verdict.verdict == FAIL:
                return f"{name}: {verdict.why}"
        return None

    def _path(self, index: int) -> list[Step]:
        steps: list[Step] = []
        while index >= 0:
            step = self._steps[index]
            if step is not None:
                steps.append(step)
            index = self._parent[index]
        return steps[::-1]


def _timer(name: str, number: int, now: int) -> Input:
    happening = Input(stage.TIMER, now)
    happening.timer = name
    happening.number = number
    return happening


def explore(scenario: Scenario, limits: Limits, watch: Callable[[int, int], None] | None = None) -> Exploration:
    """Visit every order of the scenario's events within the limits."""
    return Explorer(scenario, limits, watch).run()
