"""What can happen next in an explored state: arrivals, losses, broadcasts, links that die, timers; and what can go
wrong at sites (`site_faults.py`).

Nothing here knows what was visited; a state is a value, and `Successors.of` a function of it.
"""

from tocsin.core.machine import Micros, SiteId
from tocsin.sim import manual_site
from tocsin.sim.explore.flights import MESSAGE, Flights
from tocsin.sim.explore.local_states import LocalStates
from tocsin.sim.explore.reach import everybody_reaches_everybody
from tocsin.sim.explore.script import Script
from tocsin.sim.explore.site_faults import SiteFaults
from tocsin.sim.explore.state import (
    DEAD_LINKS,
    EARLY,
    LOSSES,
    REPEATS,
    Bounds,
    Move,
    State,
    Turn,
    one_more,
    replaced,
    spent_on,
)


class Successors:
    """What can happen next."""

    def __init__(
        self,
        locals_: LocalStates,
        flights: Flights,
        bounds: Bounds,
        senders: list[SiteId],
        turns: list[list[Turn]],
        script: Script,
        detector: bool,
        duration_us: Micros,
        names: list[str],
    ) -> None:
        self._locals = locals_
        self._flights = flights
        self._bounds = bounds
        self._senders = senders
        self._turns = turns  # by sender: what it broadcasts, in order
        self._script = script
        self._faults = SiteFaults(locals_, flights, bounds, script, detector, names)
        self._duration_us = duration_us
        self._names = names
        self._site_count = len(names)

    def first(self, absent: list[SiteId]) -> State:
        """The founding sites started, in order, at time 0."""
        sites = list(self._locals.first)
        flights: list[int] = []
        for site in range(self._site_count):
            if site not in absent:
                transition = self._locals.step(sites[site], manual_site.START, 0)
                sites[site] = transition.target
                flights.extend(transition.sends)
        return State(tuple(sites), tuple(sorted(flights)), (0,) * len(self._senders), 0, 0, 0, 0)

    def of(self, state: State) -> list[Move]:
        """Everything that can happen next."""
        found: list[Move] = []
        self._arrivals(state, found)
        self._broadcasts(state, found)
        self._faults.of(state, found)
        self._faults.scripted(state, found)
        self._deaths(state, found)
        self._timers(state, found)
        return found

    def is_end(self, state: State, all_up: bool) -> bool:
        """Whether nothing more can happen soon enough to matter; `all_up`: not as long as a site may come back."""
        if self._is_under_way(state) or state.faults() < len(self._script.faults) or self._can_broadcast(state):
            return False
        if all_up and not self._faults.everybody_is_up(state) and self._faults.may_recover(state):
            return False
        if all_up and self._faults.half_have_left(state) and self._faults.may_return(state):
            return False
        return not self._due(state)

    # Messages

    def _arrivals(self, state: State, found: list[Move]) -> None:
        spent = state.spent
        now = state.now
        flights = state.flights
        cut = self._script.cut[state.faults()]
        paused = self._script.paused[state.faults()]
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
                gone = State(state.sites, rest, state.done, spent, state.dead, now, state.since)
                found.append(Move("vanish", source, target, number, "", gone, False))
                continue
            if target in paused:
                continue
            transition = self._locals.arrive(state.sites[target], number, now)
            sites = replaced(state.sites, target, transition.target)
            sent = self._faults.with_sent(state, rest, transition.sends)
            after = State(sites, sent, state.done, spent, state.dead, now, state.since)
            found.append(Move("arrive", source, target, number, "", after, transition.seen))
            if flight.what != MESSAGE:
                continue
            if spent_on(spent, LOSSES) < self._bounds.most[LOSSES]:
                lost = State(state.sites, rest, state.done, one_more(spent, LOSSES), state.dead, now, now)
                found.append(Move("lose", source, target, number, "", lost, False))
            if spent_on(spent, REPEATS) < self._bounds.most[REPEATS]:
                sent = self._faults.with_sent(state, flights, transition.sends)
                again = State(sites, sent, state.done, one_more(spent, REPEATS), state.dead, now, now)
                found.append(Move("repeat", source, target, number, "", again, transition.seen))

    def _is_under_way(self, state: State) -> bool:
        """Whether something is in flight to a process that is not stopped."""
        paused = self._script.paused[state.faults()]
        if not paused:
            return len(state.flights) > 0
        return any(self._flights.all[number].target not in paused for number in state.flights)

    def _deaths(self, state: State, found: list[Move]) -> None:
        """A link dies for good, in one direction or both, as long as everybody reaches everybody through others."""
        if spent_on(state.spent, DEAD_LINKS) >= self._bounds.most[DEAD_LINKS]:
            return
        cut = self._script.cut[len(self._script.faults)]
        for source in range(self._site_count):
            for target in range(self._site_count):
                one = 1 << (source * self._site_count + target)
                for bits in (one, one | 1 << (target * self._site_count + source)):
                    dead = state.dead | bits
                    if source == target or state.dead & one or (bits != one and source > target):
                        continue
                    if everybody_reaches_everybody(range(self._site_count), cut, dead, self._site_count):
                        found.append(self._dead(state, source, target, dead, bits != one))

    def _dead(self, state: State, source: SiteId, target: SiteId, dead: int, both_ways: bool) -> Move:
        spent = one_more(state.spent, DEAD_LINKS)
        after = State(state.sites, state.flights, state.done, spent, dead, state.now, state.now)
        after.flights = tuple([number for number in state.flights if not self._faults.is_dead(after, number)])
        names = self._names
        back = f", {names[target]} -> {names[source]}" if both_ways else ""
        text = f"# dead {names[source]} -> {names[target]}{back}"
        return Move("dead", source, target, -1, text, after, False)

    # Broadcasts

    def _broadcasts(self, state: State, found: list[Move]) -> None:
        done = state.done
        for place in range(len(self._senders)):
            if self._has_turn(state, place):
                site = self._senders[place]
                turn = self._turns[place][done[place]]
                transition = self._locals.broadcast(state.sites[site], turn.group, turn.payload, state.now)
                after = State(
                    replaced(state.sites, site, transition.target),
                    self._faults.with_sent(state, state.flights, transition.sends),
                    replaced(done, place, done[place] + 1),
                    state.spent,
                    state.dead,
                    state.now,
                    state.now,
                )
                found.append(Move("broadcast", site, site, -1, turn.text, after, transition.seen))

    def _has_turn(self, state: State, place: int) -> bool:
        site = self._senders[place]
        local = self._locals.states[state.sites[site]]
        if state.done[place] >= len(self._turns[place]) or not local.up or not local.has_room:
            return False
        return site not in self._script.paused[state.faults()]

    def _can_broadcast(self, state: State) -> bool:
        return any(self._has_turn(state, place) for place in range(len(self._senders)))

    # Time

    def _timers(self, state: State, found: list[Move]) -> None:
        if not self._is_under_way(state) and not self._can_broadcast(state):
            for at, site, name, number in self._due(state):
                found.append(self._fired(state, site, name, number, at, state.spent, state.since, ""))
        elif spent_on(state.spent, EARLY) < self._bounds.most[EARLY]:
            spent = one_more(state.spent, EARLY)
            for local in state.sites:
                for _, name, number in self._locals.states[local].timers:
                    site = self._locals.states[local].site
                    found.append(self._fired(state, site, name, number, state.now, spent, state.now, " early"))

    def _fired(
        self, state: State, site: SiteId, name: str, key: int, at: Micros, spent: int, since: Micros, early: str
    ) -> Move:
        transition = self._locals.fire(state.sites[site], name, key, at)
        sites = replaced(state.sites, site, transition.target)
        sent = self._faults.with_sent(state, state.flights, transition.sends)
        after = State(sites, sent, state.done, spent, state.dead, at, since)
        return Move("fire", site, site, -1, f"{name}/{key}{early}", after, transition.seen)

    def _due(self, state: State) -> list[tuple[Micros, SiteId, str, int]]:
        """The timers that may fire next: all that share the earliest deadline, if that comes soon enough."""
        paused = self._script.paused[state.faults()]
        armed: list[tuple[Micros, SiteId, str, int]] = []
        earliest = state.since + self._duration_us
        for number in state.sites:
            local = self._locals.states[number]
            if local.site in paused:
                continue
            for deadline, name, key in local.timers:
                at = max(state.now, deadline)
                if at <= earliest:
                    earliest = at
                    armed.append((at, local.site, name, key))
        return [timer for timer in armed if timer[0] == earliest]
