"""What can go wrong at sites, within the budgets: crashes and recoveries, disks that are lost or older, leaving and
coming back. The scenario's own faults (`script.py`) happen in the same ways."""

from tocsin.core.machine import FIRST_INCARNATION, SiteId
from tocsin.sim import faults as fault_kinds
from tocsin.sim import manual_site
from tocsin.sim.explore.flights import DOWN, MESSAGE, UP, Flights
from tocsin.sim.explore.local_states import Local, LocalStates, Transition
from tocsin.sim.explore.script import Script
from tocsin.sim.explore.state import (
    CRASHES,
    FAULTS_SHIFT,
    LEAVES,
    NO_LIMIT,
    RECOVERIES,
    RESTORES,
    RETURNS,
    SAVES,
    WIPES,
    Bounds,
    Move,
    Numbers,
    State,
    merged,
    one_more,
    replaced,
    spent_on,
)
from tocsin.sim.faults import Fault

_DISKS = (fault_kinds.WIPE, fault_kinds.RESTORE, fault_kinds.DAMAGE)


class SiteFaults:
    """Moves that happen to one site or to some, and are disturbances."""

    def __init__(
        self,
        locals_: LocalStates,
        flights: Flights,
        bounds: Bounds,
        script: Script,
        detector: bool,
        names: list[str],
    ) -> None:
        self._locals = locals_
        self._flights = flights
        self._bounds = bounds
        self._script = script
        self._detector = detector
        self._names = names
        self._site_count = len(names)
        budgets = [bounds.most[kind] for kind in (CRASHES, WIPES, SAVES, RESTORES, LEAVES)]
        self._nothing_happens = sum(budgets) == 0 and not script.faults

    # Within the budgets

    def of(self, state: State, found: list[Move]) -> None:
        if self._nothing_happens:
            return
        paused = self._script.paused[state.faults()]
        for site in range(self._site_count):
            if site in paused:
                continue
            local = self._locals.states[state.sites[site]]
            if local.up:
                self._of_one_up(state, site, local, found)
            elif local.history:
                self._of_one_down(state, site, local, found)

    def _of_one_up(self, state: State, site: SiteId, local: Local, found: list[Move]) -> None:
        if self._left(state, CRASHES):
            self._add(state, CRASHES, fault_kinds.CRASH, site, found)
        if self._left(state, LEAVES) and not local.left:
            self._add(state, LEAVES, fault_kinds.LEAVE, site, found)
        if self._left(state, RETURNS) and local.left:
            self._add(state, RETURNS, fault_kinds.RESTART, site, found)
        if self._left(state, WIPES):
            self._add(state, WIPES, fault_kinds.WIPE, site, found)
        if self._left(state, SAVES):  # of a site that is down: as when it was last up
            self._add(state, SAVES, fault_kinds.SAVE, site, found)
        if self._left(state, RESTORES) and local.saved:
            self._add(state, RESTORES, fault_kinds.RESTORE, site, found)

    def _of_one_down(self, state: State, site: SiteId, local: Local, found: list[Move]) -> None:
        if self.may_recover(state) and not (self._bounds.late and state.flights):
            self._add(state, RECOVERIES, fault_kinds.RECOVER, site, found)
        if self._left(state, WIPES) and local.history[-1].what != manual_site.WIPE:
            self._add(state, WIPES, fault_kinds.WIPE, site, found)
        if self._left(state, RESTORES) and local.saved and local.history[-1].what != manual_site.RESTORE:
            self._add(state, RESTORES, fault_kinds.RESTORE, site, found)

    def _left(self, state: State, kind: int) -> bool:
        return spent_on(state.spent, kind) < self._bounds.most[kind]

    def _add(self, state: State, kind: int, what: str, site: SiteId, found: list[Move]) -> None:
        after = State(
            state.sites,
            state.flights,
            state.done,
            state.spent if self._bounds.most[kind] == NO_LIMIT else one_more(state.spent, kind),
            state.dead,
            state.now,
            state.since if what == fault_kinds.SAVE else state.now,
        )
        lines = [f"{what} {self._names[site]}"]
        self._happen(after, what, site, lines)
        found.append(Move(what, site, site, -1, "\n".join(lines), self.without_the_lost(after), True))

    # The scenario's next fault

    def scripted(self, state: State, found: list[Move]) -> None:
        done = state.faults()
        if done >= len(self._script.faults) or (self._bounds.late_faults and state.flights):
            return
        fault = self._script.faults[done]
        spent = state.spent + (1 << FAULTS_SHIFT)
        after = State(state.sites, state.flights, state.done, spent, state.dead, state.now, state.now)
        if fault.what == fault_kinds.CHANGE:
            sites = self._ask(after, fault)
        else:
            sites = [site for site in fault.sites if self._can_happen(after, fault.what, site)]
        lines: list[str] = []
        if fault.what == fault_kinds.CHANGE or not sites:
            lines.append(self._script.told(fault, sites))
        else:
            for site in sites:
                lines.append(self._script.told(fault, [site]))
                self._happen(after, fault.what, site, lines)
        found.append(Move(fault.what, -1, -1, -1, "\n".join(lines), self.without_the_lost(after), True))

    def _ask(self, state: State, fault: Fault) -> list[SiteId]:
        """Ask for a change of a group; whom, if there was anybody."""
        up = [site for site in range(self._site_count) if self._locals.states[state.sites[site]].up]
        asked = up[0] if up and fault.asked == fault_kinds.FIRST_UP else fault.asked
        if asked not in up:
            return []
        self._take(state, asked, self._locals.change(state.sites[asked], fault.group, sorted(fault.sites), state.now))
        return [asked]

    def _can_happen(self, state: State, what: str, site: SiteId) -> bool:
        up = self._locals.states[state.sites[site]].up
        if what in (fault_kinds.CRASH, fault_kinds.TEAR, fault_kinds.LEAVE):
            return up
        if what in (fault_kinds.RECOVER, fault_kinds.JOIN):
            return not up
        return what == fault_kinds.SAVE or what in _DISKS

    # What happens to a site; `state` is not yet shared

    def _happen(self, state: State, what: str, site: SiteId, lines: list[str]) -> None:
        """`lines`: what a transcript is told besides."""
        was_up = self._locals.states[state.sites[site]].up
        if what == fault_kinds.LEAVE or what == fault_kinds.SAVE:
            kind = manual_site.LEAVE if what == fault_kinds.LEAVE else manual_site.SAVE
            self._put(state, site, kind)
            return
        if was_up:  # here all is durable at once: a crash has nothing to tear
            self._put(state, site, manual_site.CRASH)
        if what in _DISKS:
            before = self._locals.states[state.sites[site]].incarnation
            kind = manual_site.RESTORE if what == fault_kinds.RESTORE else manual_site.WIPE
            self._put(state, site, kind)
            if self._locals.states[state.sites[site]].incarnation != before:
                state.flights = self._without_those_of(state.flights, site)
        if what in (fault_kinds.RECOVER, fault_kinds.JOIN, fault_kinds.RESTART):
            self._put(state, site, manual_site.START)
            state.flights = self._who_is_down(state, self._with_word(state.flights, site, UP), site)
            for other in range(self._site_count):
                self._maybe_introduce(state, other, site, lines)
                self._maybe_introduce(state, site, other, lines)
        elif was_up:
            state.flights = self._with_word(state.flights, site, DOWN)
        self._tell(state, lines)

    def _without_those_of(self, flights: Numbers, site: SiteId) -> Numbers:
        """What an earlier incarnation has sent does not arrive any more."""
        return tuple(f for f in flights if self._flights.all[f].what != MESSAGE or self._flights.all[f].source != site)

    def _maybe_introduce(self, state: State, told: SiteId, peer: SiteId, lines: list[str]) -> None:
        """A site that has begun anew is made known to those who are up, and to others when they start."""
        of = self._locals.states[state.sites[peer]]
        local = self._locals.states[state.sites[told]]
        if told != peer and local.up and of.has_started and local.known.get(peer, FIRST_INCARNATION) < of.incarnation:
            lines.append(f"renewed {self._names[told]} {self._names[peer]}")
            self._take(state, told, self._locals.renewed(state.sites[told], peer, of.incarnation, state.now))

    def _put(self, state: State, site: SiteId, what: str) -> None:
        self._take(state, site, self._locals.step(state.sites[site], what, state.now))

    def _take(self, state: State, site: SiteId, transition: Transition) -> None:
        state.sites = replaced(state.sites, site, transition.target)
        state.flights = self.with_sent(state, state.flights, transition.sends)

    # Who is down for good

    def everybody_is_up(self, state: State) -> bool:
        return all(self._locals.states[local].up for local in state.sites)

    def may_recover(self, state: State) -> bool:
        return self._left(state, RECOVERIES)

    def half_have_left(self, state: State) -> bool:
        """Whether those who stayed are no majority: who waits for a crashed site to come back waits for these, too."""
        stayed = [local for local in state.sites if not self._locals.states[local].left]
        return 2 * len(stayed) <= len(state.sites)

    def may_return(self, state: State) -> bool:
        return self._left(state, RETURNS)

    def without_the_lost(self, state: State) -> State:
        """Without what is in flight to sites that are down for good: it changes nothing any more."""
        if not self._script_brings_back(state) and not self.everybody_is_up(state) and not self.may_recover(state):
            kept = [f for f in state.flights if self._locals.states[state.sites[self._flights.all[f].target]].up]
            state.flights = tuple(kept)
        return state

    def with_sent(self, state: State, flights: Numbers, sends: list[int]) -> Numbers:
        """With what was sent, but not over dead links, and not to sites that are down for good."""
        if sends and state.dead:
            sends = [f for f in sends if not self.is_dead(state, f)]
        if (
            sends
            and not self.may_recover(state)
            and not self._script_brings_back(state)
            and not self.everybody_is_up(state)
        ):
            sends = [f for f in sends if self._locals.states[state.sites[self._flights.all[f].target]].up]
        return merged(flights, sends)

    def is_dead(self, state: State, flight: int) -> bool:
        """Whether a message is on its way over a dead link; word of the detector has its own ways."""
        way = self._flights.all[flight]
        return way.what == MESSAGE and (state.dead >> (way.source * self._site_count + way.target)) & 1 == 1

    def _script_brings_back(self, state: State) -> bool:
        """Whether the scenario still has faults to come: one of them may start a site."""
        return state.faults() < len(self._script.faults)

    # The perfect detector

    def _with_word(self, flights: Numbers, site: SiteId, what: int) -> Numbers:
        """It sends word of a crash or recovery to everybody; older word of this site is void."""
        if not self._detector:
            return flights
        kept = [f for f in flights if self._flights.all[f].what == MESSAGE or self._flights.all[f].source != site]
        word = [self._flights.number(what, site, other, None) for other in range(self._site_count) if other != site]
        return tuple(sorted(kept + word))

    def _who_is_down(self, state: State, flights: Numbers, site: SiteId) -> Numbers:
        """A site that has come back asks it who is down."""
        if not self._detector:
            return flights
        word: list[int] = []
        for other in range(self._site_count):
            if other != site and not self._locals.states[state.sites[other]].up:
                number = self._flights.number(DOWN, other, site, None)
                if number not in flights:
                    word.append(number)
        return merged(flights, word)

    def _tell(self, state: State, lines: list[str]) -> None:
        """Where it is prompt, everybody hears at once what it has to say."""
        if not self._bounds.prompt:
            return
        for number in state.flights:
            flight = self._flights.all[number]
            if flight.what != MESSAGE:
                place = state.flights.index(number)
                state.flights = state.flights[:place] + state.flights[place + 1 :]
                if self._locals.states[state.sites[flight.target]].up:
                    word = "down" if flight.what == DOWN else "up"
                    lines.append(f"detect {self._names[flight.target]} {word} {self._names[flight.source]}")
                    transition = self._locals.arrive(state.sites[flight.target], number, state.now)
                    state.sites = replaced(state.sites, flight.target, transition.target)
                    state.flights = self.with_sent(state, state.flights, transition.sends)
