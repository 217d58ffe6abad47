"""The fair continuation of an explored state: no more faults, every message arrives, in the order of sending, what is
left of the workload is broadcast, and timers fire in the order of their deadlines.

It runs the sites themselves, replayed once; its states are not part of the search.
"""

from collections import deque
from typing import Final

from tocsin.core.effects import Effect, sent
from tocsin.core.machine import Micros, SiteId
from tocsin.sim import manual_site
from tocsin.sim.explore.flights import MESSAGE, Flight, Flights
from tocsin.sim.explore.judging import Judge
from tocsin.sim.explore.local_states import Local, LocalStates, live_through
from tocsin.sim.explore.script import Script
from tocsin.sim.explore.state import State, Turn
from tocsin.sim.manual_site import Input, ManualSite

ARRIVALS_MAX: Final = 10_000  # without a moment in which nothing is under way: they never end
TIMERS_MAX: Final = 5_000  # that fire in one continuation; what is not settled then is not known
REST_TIMERS: Final = 50  # that fire after a group has settled, while no view changes: then it stays so
UNRESTS_MAX: Final = 2  # a view more after it had settled is a late one; more are endless ones


class Continuation:
    """One state, continued."""

    def __init__(
        self,
        state: State,
        locals_: LocalStates,
        flights: Flights,
        script: Script,
        judge: Judge,
        turns: dict[SiteId, list[Turn]],
    ) -> None:
        self.now = state.now
        self.gave_up = False  # too many timers fired
        self._timers_left = TIMERS_MAX
        self._judge = judge
        self._turns = turns  # by sender: what is left to broadcast
        self._dead = state.dead
        self._cut = script.cut[state.faults()]
        self._sites: list[ManualSite] = []
        self._locals: list[Local] = []
        for number in state.sites:
            local = locals_.states[number]
            site = locals_.replayed(local)
            seen = Local(local.site, [], local.story, local.received)
            seen.view = local.view
            seen.look_at(site)
            self._sites.append(site)
            self._locals.append(seen)
        self._under_way: deque[Flight] = deque([flights.all[number] for number in state.flights])

    def settles(self, until: Micros) -> str | None:
        """Run until the group is settled and stays so, or to a time: why it is not settled by then, or None."""
        calm = 0  # timers that fired since it was settled, while no view changed
        unrests = 0  # how often views changed after it had been settled
        changes = self._view_changes()
        while True:
            if not self._come_to_rest():
                return "messages go on for ever, in no time"
            why = self._judge.unsettled(self._locals)
            views = self._view_changes()
            if views != changes and calm > 0:
                unrests += 1
            calm = calm + 1 if why is None and views == changes else 0
            changes = views
            timer = self._next_timer()
            self.gave_up = self._timers_left == 0
            if timer is None or calm > REST_TIMERS or self.gave_up:
                return why
            self._timers_left -= 1
            if timer[0] > until:
                return why or ("views go on changing" if calm == 0 or unrests > UNRESTS_MAX else None)
            self._fire(timer)

    def _fire(self, timer: tuple[Micros, SiteId, str, int]) -> None:
        at, site, name, key = timer
        self.now = max(self.now, at)
        happening = Input(manual_site.TIMER, self.now)
        happening.timer = name
        happening.number = key
        self._happen(site, happening)

    def _come_to_rest(self) -> bool:
        """Let everything arrive and be broadcast; whether that has an end."""
        arrivals = 0
        while self._under_way or self._broadcast():
            if self._under_way:
                flight = self._under_way.popleft()
                if self._arrives(flight):
                    arrivals += 1
                    self._happen(flight.target, flight.arrival(self.now))
            if arrivals > ARRIVALS_MAX:
                return False
        return True

    def _arrives(self, flight: Flight) -> bool:
        if not self._locals[flight.target].up:
            return False
        way = (flight.source, flight.target)
        link = flight.source * len(self._sites) + flight.target
        return flight.what != MESSAGE or (way not in self._cut and not (self._dead >> link) & 1)

    def _broadcast(self) -> bool:
        """Let a sender that has room make its next broadcast; whether there was one."""
        for site in sorted(self._turns):
            if self._turns[site] and self._locals[site].up and self._locals[site].has_room:
                turn = self._turns[site].pop(0)
                happening = Input(manual_site.BROADCAST, self.now)
                happening.number = turn.group
                happening.payload = turn.payload
                self._happen(site, happening)
                return True
        return False

    def _happen(self, site: SiteId, happening: Input) -> None:
        local, effects = live_through(self._locals[site], self._sites[site], happening)
        local.history = []  # the site itself is here
        local.look_at(self._sites[site])
        self._locals[site] = local
        self._send(site, effects)

    def _send(self, site: SiteId, effects: list[Effect]) -> None:
        for target, message in sent(effects):
            self._under_way.append(Flight(MESSAGE, site, target, message))

    def _next_timer(self) -> tuple[Micros, SiteId, str, int] | None:
        armed = [
            (deadline, local.site, name, key) for local in self._locals for deadline, name, key in local.timers[:1]
        ]
        return min(armed) if armed else None

    def _view_changes(self) -> int:
        return len([event for local in self._locals for event in local.story if event[0] == "view"])
