"""What can happen next in an explored state: arrivals, losses, broadcasts, crashes, faults, timers.

Nothing here knows what was visited; a state is a value, and `Successors.of` a function of it.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.sim import faults as fault_kinds
from tocsin.sim import manual_site
from tocsin.sim.explore.flights import DOWN, MESSAGE, UP, Flights
from tocsin.sim.explore.local_states import LocalStates
from tocsin.sim.explore.state import Bounds, Budget, Move, Numbers, State, Turn
from tocsin.sim.faults import Fault
from tocsin.sim.manual_site import Input


class Successors:
    """What can happen next."""

    def __init__(
        self,
        locals_: LocalStates,
        flights: Flights,
        bounds: Bounds,
        senders: list[SiteId],
        turns: list[list[Turn]],
        faults: list[Fault],
        fault_texts: list[str],
        detector: bool,
        duration_us: Micros,
    ) -> None:
        self._locals = locals_
        self._flights = flights
        self._bounds = bounds
        self._senders = senders
        self._turns = turns  # by sender: what it broadcasts, in order
        self._faults = faults
        self._fault_texts = fault_texts
        self._detector = detector
        self._duration_us = duration_us
        self._site_count = len(locals_.first)
        self._cut = [self._cut_pairs(faults[:done]) for done in range(len(faults) + 1)]  # by faults done

    def _cut_pairs(self, faults: list[Fault]) -> set[tuple[SiteId, SiteId]]:
        """Between which sites messages vanish, after some faults."""
        cut: set[tuple[SiteId, SiteId]] = set()
        dead: set[tuple[SiteId, SiteId]] = set()
        for fault in faults:
            if fault.what == fault_kinds.PARTITION:
                for source in range(self._site_count):
                    for target in range(self._site_count):
                        if not any(source in part and target in part for part in fault.parts):
                            cut.add((source, target))
            elif fault.what == fault_kinds.CUT:
                cut.update(fault.pairs)
            elif fault.what == fault_kinds.DEAD:
                dead.update(fault.pairs)
            elif fault.what == fault_kinds.HEAL:
                cut.clear()
        return cut | dead

    def first(self, absent: list[SiteId]) -> State:
        """The founding sites started, in order, at time 0."""
        sites = list(self._locals.first)
        flights: list[int] = []
        for site in range(self._site_count):
            if site not in absent:
                transition = self._locals.step(sites[site], Input(manual_site.START, 0))
                sites[site] = transition.target
                flights.extend(transition.sends)
        return State(tuple(sites), tuple(sorted(flights)), (0,) * len(self._senders), Budget(0, 0, 0, 0, 0), 0, 0)

    def of(self, state: State) -> list[Move]:
        """Everything that can happen next."""
        found: list[Move] = []
        self._arrivals(state, found)
        self._broadcasts(state, found)
        self._crashes(state, found)
        self._fault(state, found)
        self._timers(state, found)
        return found

    def is_end(self, state: State, all_up: bool) -> bool:
        """Whether nothing more can happen soon enough to matter; `all_up`: not as long as a site may come back."""
        if state.flights or state.budget.faults < len(self._faults) or self._can_broadcast(state):
            return False
        if all_up and not self._everybody_is_up(state) and self._may_recover(state):
            return False
        return not self._due(state)

    # Messages

    def _arrivals(self, state: State, found: list[Move]) -> None:
        budget = state.budget
        now = state.now
        flights = state.flights
        cut = self._cut[budget.faults]
        last = -1
        place = -1
        for number in flights:
            place += 1
            if number == last:
                continue  # equal to the one before
            last = number
            flight = self._flights.all[number]
            source = flight.source
            target = flight.target
            rest = flights[:place] + flights[place + 1 :]
            if not self._locals.states[state.sites[target]].up or (
                flight.what == MESSAGE and len(cut) > 0 and (source, target) in cut
            ):
                gone = State(state.sites, rest, state.done, budget, now, state.since)
                found.append(Move("vanish", source, target, number, "", gone, False))
                continue
            transition = self._locals.arrive(state.sites[target], number, now)
            sites = _replaced(state.sites, target, transition.target)
            after = State(sites, self._with_sent(state, rest, transition.sends), state.done, budget, now, state.since)
            found.append(Move("arrive", source, target, number, "", after, transition.seen))
            if flight.what != MESSAGE:
                continue
            if budget.losses < self._bounds.losses:
                less = Budget(budget.losses + 1, budget.crashes, budget.early, budget.repeats, budget.faults)
                found.append(
                    Move(
                        "lose", source, target, number, "", State(state.sites, rest, state.done, less, now, now), False
                    )
                )
            if budget.repeats < self._bounds.repeats:
                more = Budget(budget.losses, budget.crashes, budget.early, budget.repeats + 1, budget.faults)
                again = State(sites, self._with_sent(state, flights, transition.sends), state.done, more, now, now)
                found.append(Move("repeat", source, target, number, "", again, transition.seen))

    def _broadcasts(self, state: State, found: list[Move]) -> None:
        done = state.done
        for place in range(len(self._senders)):
            site = self._senders[place]
            local = self._locals.states[state.sites[site]]
            if done[place] < len(self._turns[place]) and local.up and local.has_room:
                turn = self._turns[place][done[place]]
                happening = Input(manual_site.BROADCAST, state.now)
                happening.number = turn.group
                happening.payload = turn.payload
                transition = self._locals.step(state.sites[site], happening)
                after = State(
                    _replaced(state.sites, site, transition.target),
                    self._with_sent(state, state.flights, transition.sends),
                    _replaced(done, place, done[place] + 1),
                    state.budget,
                    state.now,
                    state.now,
                )
                found.append(Move("broadcast", site, site, -1, turn.text, after, transition.seen))

    def _can_broadcast(self, state: State) -> bool:
        for place in range(len(self._senders)):
            local = self._locals.states[state.sites[self._senders[place]]]
            if state.done[place] < len(self._turns[place]) and local.up and local.has_room:
                return True
        return False

    # Crashes

    def _crashes(self, state: State, found: list[Move]) -> None:
        budget = state.budget
        for site in range(self._site_count):
            local = self._locals.states[state.sites[site]]
            if local.up and budget.crashes < self._bounds.crashes:
                after = self._put(state, site, Input(manual_site.CRASH, state.now))
                after.budget = Budget(budget.losses, budget.crashes + 1, budget.early, budget.repeats, budget.faults)
                after.flights = self._with_word(after.flights, site, DOWN)
                self._tell(after)
                found.append(Move("crash", site, site, -1, "", self._without_the_lost(after), True))
            elif (
                not local.up
                and local.history
                and self._may_recover(state)
                and not (self._bounds.late and state.flights)
            ):
                after = self._put(state, site, Input(manual_site.START, state.now))
                after.flights = self._who_is_down(state, self._with_word(after.flights, site, UP), site)
                self._tell(after)
                found.append(Move("recover", site, site, -1, "", self._without_the_lost(after), True))

    def _everybody_is_up(self, state: State) -> bool:
        return all(self._locals.states[local].up for local in state.sites)

    def _may_recover(self, state: State) -> bool:
        if self._bounds.recoveries < 0:
            return True
        return sum([self._locals.states[local].recoveries for local in state.sites]) < self._bounds.recoveries

    def _without_the_lost(self, state: State) -> State:
        """Without what is in flight to sites that are down for good: it changes nothing any more."""
        if not self._everybody_is_up(state) and not self._may_recover(state):
            kept = [f for f in state.flights if self._locals.states[state.sites[self._flights.all[f].target]].up]
            state.flights = tuple(kept)
        return state

    def _with_sent(self, state: State, flights: Numbers, sends: list[int]) -> Numbers:
        """With what was sent, but not to sites that are down for good."""
        if sends and self._bounds.recoveries >= 0 and not self._everybody_is_up(state) and not self._may_recover(state):
            sends = [f for f in sends if self._locals.states[state.sites[self._flights.all[f].target]].up]
        return _merged(flights, sends)

    def _with_word(self, flights: Numbers, site: SiteId, what: int) -> Numbers:
        """The perfect detector sends word of a crash or recovery to everybody; older word of this site is void."""
        if not self._detector:
            return flights
        kept = [f for f in flights if self._flights.all[f].what == MESSAGE or self._flights.all[f].source != site]
        word = [self._flights.number(what, site, other, None) for other in range(self._site_count) if other != site]
        return tuple(sorted(kept + word))

    def _who_is_down(self, before: State, flights: Numbers, site: SiteId) -> Numbers:
        """A site that has come back asks the perfect detector who is down."""
        if not self._detector:
            return flights
        word: list[int] = []
        for other in range(self._site_count):
            if other != site and not self._locals.states[before.sites[other]].up:
                number = self._flights.number(DOWN, other, site, None)
                if number not in flights:
                    word.append(number)
        return _merged(flights, word)

    def _tell(self, state: State) -> None:
        """Where the detector is prompt, everybody hears at once what it has to say; `state` is not yet shared."""
        if not self._bounds.prompt:
            return
        for number in state.flights:
            flight = self._flights.all[number]
            if flight.what != MESSAGE:
                place = state.flights.index(number)
                state.flights = state.flights[:place] + state.flights[place + 1 :]
                if self._locals.states[state.sites[flight.target]].up:
                    transition = self._locals.arrive(state.sites[flight.target], number, state.now)
                    state.sites = _replaced(state.sites, flight.target, transition.target)
                    state.flights = _merged(state.flights, transition.sends)

    def _put(self, state: State, site: SiteId, happening: Input) -> State:
        """The state after an input at a site, which is a disturbance."""
        transition = self._locals.step(state.sites[site], happening)
        return self._without_the_lost(
            State(
                _replaced(state.sites, site, transition.target),
                _merged(state.flights, transition.sends),
                state.done,
                state.budget,
                state.now,
                state.now,
            )
        )

    # The scenario's own faults

    def _fault(self, state: State, found: list[Move]) -> None:
        budget = state.budget
        if budget.faults >= len(self._faults):
            return
        fault = self._faults[budget.faults]
        more = Budget(budget.losses, budget.crashes, budget.early, budget.repeats, budget.faults + 1)
        after = State(state.sites, state.flights, state.done, more, state.now, state.now)
        if fault.what == fault_kinds.CHANGE:
            happening = Input(manual_site.CHANGE, state.now)
            happening.number = fault.group
            happening.sites = sorted(fault.sites)
            up = [site for site in range(len(state.sites)) if self._locals.states[state.sites[site]].up]
            asked = up[0] if up and fault.asked == fault_kinds.FIRST_UP else fault.asked
            if asked in up:
                after = self._put(after, asked, happening)
        else:
            kind = ""
            if fault.what in (fault_kinds.CRASH, fault_kinds.TEAR):  # here all is durable at once: nothing to tear
                kind = manual_site.CRASH
            elif fault.what == fault_kinds.LEAVE:
                kind = manual_site.LEAVE
            elif fault.what in (fault_kinds.RECOVER, fault_kinds.JOIN):
                kind = manual_site.START
            if kind:
                for site in fault.sites:
                    if self._locals.states[after.sites[site]].up == (kind != manual_site.START):
                        after = self._put(after, site, Input(kind, state.now))
        found.append(Move(fault.what, -1, -1, -1, self._fault_texts[budget.faults], after, True))

    # Time

    def _timers(self, state: State, found: list[Move]) -> None:
        budget = state.budget
        if not state.flights and not self._can_broadcast(state):
            for at, site, name, number in self._due(state):
                found.append(self._fired(state, site, name, number, at, budget, state.since))
        elif budget.early < self._bounds.early:
            more = Budget(budget.losses, budget.crashes, budget.early + 1, budget.repeats, budget.faults)
            for local in state.sites:
                for _, name, number in self._locals.states[local].timers:
                    site = self._locals.states[local].site
                    found.append(self._fired(state, site, name, number, state.now, more, state.now))

    def _fired(
        self, state: State, site: SiteId, name: str, number: int, at: Micros, budget: Budget, since: Micros
    ) -> Move:
        happening = Input(manual_site.TIMER, at)
        happening.timer = name
        happening.number = number
        transition = self._locals.step(state.sites[site], happening)
        sites = _replaced(state.sites, site, transition.target)
        after = State(sites, self._with_sent(state, state.flights, transition.sends), state.done, budget, at, since)
        return Move("fire", site, site, -1, f"{name}/{number}", after, transition.seen)

    def _due(self, state: State) -> list[tuple[Micros, SiteId, str, int]]:
        """The timers that may fire next: all that share the earliest deadline, if that comes soon enough."""
        armed: list[tuple[Micros, SiteId, str, int]] = []
        earliest = state.since + self._duration_us
        for number in state.sites:
            local = self._locals.states[number]
            for deadline, name, key in local.timers:
                at = max(state.now, deadline)
                if at <= earliest:
                    earliest = at
                    armed.append((at, local.site, name, key))
        return [timer for timer in armed if timer[0] == earliest]


def _replaced(numbers: Numbers, place: int, number: int) -> Numbers:
    return (*numbers[:place], number, *numbers[place + 1 :])


def _merged(flights: Numbers, more: list[int]) -> Numbers:
    return tuple(sorted([*flights, *more])) if more else flights
