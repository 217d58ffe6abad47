"""Every order of events among a few hosts of `coordinator_tree`, for ever: a finite graph with cycles.

The explorer of the product follows a clock to the end of a scenario. Coordinator trees have to be right in the long
run, so here time is relative: a state holds how long each timer still runs, not when it ends. A machine that does not
measure round trips knows no absolute time, so the graph of states is finite, and what goes on for ever is a cycle.

Messages arrive, or are lost within a budget, in every order; time passes when nothing is in flight. The partition and
its end happen at any moment, the broadcasts together at any moment; or, `scripted`: the first message before the
partition, the second in it, and the partition comes and goes at any moment at which nothing is in flight.
"""

from collections import deque
from copy import copy
from typing import Any

import msgspec

from tests.sim.plain_state import plain
from tocsin.core.config import decode_config
from tocsin.core.effects import sent
from tocsin.core.message import Message
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.coordinator_tree.stream import NIL
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

OPTIONS: dict[str, Any] = {
    "delta_us": 8,
    "probe_us": 8,
    "gap_us": 1,
    "fill_us": 0,
    "silence": 2,
    "patience": 2,
    "report_periods": 0,
    "measure_periods": 0,
    "relays": False,  # a site that seeks ways knows the time
}
SOURCE = 0
SEED = 9  # the clocks of four sites then tick one after another

State = tuple[
    tuple[int, ...],  # local states by site
    tuple[int, ...],  # messages in flight, by number, sorted
    int,  # broadcasts done
    int,  # losses so far
    int,  # 0 before the partition, 1 in it, 2 after it
]


class TooManyStatesError(Exception):
    """The graph is larger than expected: nothing is proved, neither good nor bad."""


class Local:
    """A state of one site; `history` is one list of inputs that leads to it, `clock` the time it has reached."""

    def __init__(self, site: int, history: list[Input], clock: int, made: ManualSite) -> None:
        self.site = site
        self.history = history
        self.clock = clock
        self.timers = sorted((deadline - clock, name, key) for (name, key), deadline in made.timers.items())
        self.delivered = made.disk.end(0)
        self.coordinator = NIL
        self.probing = False
        self.received: tuple[tuple[int, int], ...] = ()
        self.inside = repr((site, _unordered(plain(made.machine)), self.delivered))
        machine = made.machine
        stream = machine.stream(0, SOURCE) if machine is not None and hasattr(machine, "stream") else None
        if stream is not None:
            self.coordinator = stream.seat.coordinator
            self.probing = stream.seat.probing
            self.received = tuple(stream.received.ranges())

    def later(self, span: int) -> "Local":
        """The same after some time in which nothing happens."""
        after = copy(self)
        after.clock = self.clock + span
        after.timers = [(left - span, name, key) for left, name, key in self.timers]
        return after

    def identity(self) -> tuple[str, tuple[tuple[int, str, int], ...]]:
        return self.inside, tuple(self.timers)


class Graph:
    """All states within the budgets, and the steps between them."""

    def __init__(
        self,
        parts: list[list[int]],
        messages: int,
        losses: int,
        scripted: bool = False,
        protocol: Protocol = PROTOCOL,
    ) -> None:
        self.sites = sum(len(part) for part in parts)
        self.parts = parts
        self.messages = messages
        self.losses = losses
        self.scripted = scripted
        self.protocol = protocol
        self._options = decode_config(OPTIONS, protocol.options, "exhaustive")
        self.locals: list[Local] = []
        self.states: list[State] = []
        self.following: list[list[int]] = []
        self._local_number: dict[object, int] = {}
        self._after: dict[tuple[int, object], tuple[int, list[int]]] = {}
        self._flights: list[tuple[int, int, Message]] = []
        self._flight_number: dict[tuple[int, int, bytes], int] = {}
        self._number: dict[State, int] = {}
        self._queue: deque[int] = deque()
        self._reaches: dict[object, bool] = {}

    def explore(self, states_max: int) -> None:
        """Visit everything; gives up when there is more than `states_max`."""
        states: list[int] = []
        flights: list[int] = []
        for site in range(self.sites):
            self._add_local(Local(site, [], 0, self._make(site)))
            target, sent = self._step(len(self.locals) - 1, Input(manual_site.START, 0))
            states.append(target)
            flights += sent
        self._add((tuple(states), tuple(sorted(flights)), 0, 0, 0))
        while self._queue:
            if len(self.states) > states_max:
                raise TooManyStatesError(f"more than {states_max} states")
            index = self._queue.popleft()
            self.following[index] = [self._add(state) for state in self._next(self.states[index])]

    def _make(self, site: int) -> ManualSite:
        everybody = list(range(self.sites))
        return ManualSite(site, self.protocol, self._options, self.sites, everybody, [everybody], None, SEED)

    def _add(self, state: State) -> int:
        known = self._number.get(state)
        if known is not None:
            return known
        index = len(self.states)
        self._number[state] = index
        self.states.append(state)
        self.following.append([])
        self._queue.append(index)
        return index

    def _add_local(self, local: Local) -> int:
        identity = local.identity()
        number = self._local_number.get(identity)
        if number is None:
            number = len(self.locals)
            self._local_number[identity] = number
            self.locals.append(local)
        return number

    # What happens to one site

    def _step(self, number: int, happening: Input) -> tuple[int, list[int]]:
        """The local state that an input leads to, and the messages it sends."""
        local = self.locals[number]
        happening.now = local.clock
        key = (number, happening.identity())
        known = self._after.get(key)
        if known is None:
            made = self._replayed(local)
            flights = [self._flight(local.site, target, message) for target, message in sent(made.apply(happening))]
            after = self._add_local(Local(local.site, [*local.history, happening], local.clock, made))
            known = (after, flights)
            self._after[key] = known
        return known

    def _wait(self, number: int, span: int) -> int:
        """The local state after some time in which nothing happens."""
        key = (number, span)
        known = self._after.get(key)
        if known is None:
            known = (self._add_local(self.locals[number].later(span)), [])
            self._after[key] = known
        return known[0]

    def _replayed(self, local: Local) -> ManualSite:
        made = self._make(local.site)
        for earlier in local.history:
            made.apply(earlier)
        return made

    def _flight(self, source: int, target: int, message: Message) -> int:
        key = (source, target, msgspec.msgpack.encode(message))
        number = self._flight_number.get(key)
        if number is None:
            number = len(self._flights)
            self._flight_number[key] = number
            self._flights.append((source, target, message))
        return number

    # What happens to all

    def _next(self, state: State) -> list[State]:
        locals_, flights, done, losses, weather = state
        if weather == 1:
            inside = tuple([flight for flight in flights if not self._is_cut(flight)])
            if inside != flights:
                return [(locals_, inside, done, losses, weather)]  # when they vanish makes no difference to anybody
        found: list[State] = []
        only = NIL
        if self.scripted or (weather == 2 and done == self.messages):
            only = self._lonely_target(locals_, flights)
        for place, flight in enumerate(flights):
            if place and flights[place - 1] == flight:
                continue  # the same message twice
            if only not in (NIL, self._flights[flight][1]):
                continue
            rest = flights[:place] + flights[place + 1 :]
            arrived, sent = self._arrive(locals_, flight)
            found.append((arrived, tuple(sorted([*rest, *sent])), done, losses, weather))
            if losses < self.losses:
                found.append((locals_, rest, done, losses + 1, weather))
        if done < self.messages and (not self.scripted or (not flights and done == weather)):
            happening = Input(manual_site.BROADCAST, 0)
            happening.payload = b"%d" % done
            after = self._apply(state, SOURCE, happening, flights)
            found.append((after[0], after[1], done + 1, losses, weather))
        if weather < 2 and (not self.scripted or (not flights and done == weather + 1)):
            found.append((locals_, flights, done, losses, weather + 1))
        if not flights and (done > min(weather, 1) if self.scripted else done in (0, self.messages)):
            found += self._pass_time(state)
        return found

    def _pass_time(self, state: State) -> list[State]:
        """The earliest timers fire, in any order; until then time passes for all."""
        locals_, flights, done, losses, weather = state
        span = max(0, min(self.locals[number].timers[0][0] for number in locals_))
        if span > 0:
            later = tuple([self._wait(number, span) for number in locals_])
            return [(later, flights, done, losses, weather)]
        found: list[State] = []
        for site, number in enumerate(locals_):
            for left, name, key in self.locals[number].timers:
                if left <= 0:
                    happening = Input(manual_site.TIMER, 0)
                    happening.timer = name
                    happening.number = key
                    found.append(self._apply(state, site, happening, flights))
        return found

    def _apply(self, state: State, site: int, happening: Input, flights: tuple[int, ...]) -> State:
        locals_, _, done, losses, weather = state
        target, sent = self._step(locals_[site], happening)
        locals_ = (*locals_[:site], target, *locals_[site + 1 :])
        return (locals_, tuple(sorted([*flights, *sent])), done, losses, weather)

    def _arrive(self, locals_: tuple[int, ...], flight: int) -> tuple[tuple[int, ...], list[int]]:
        source, target, message = self._flights[flight]
        happening = Input(manual_site.RECEIVE, 0)
        happening.peer = source
        happening.message = message
        after, sent = self._step(locals_[target], happening)
        return (*locals_[:target], after, *locals_[target + 1 :]), sent

    # Partial order reduction

    def _lonely_target(self, locals_: tuple[int, ...], flights: tuple[int, ...]) -> int:
        """A site to which nothing can be sent as long as it gets nothing itself; NIL if there is none.

        What arrives there commutes with what arrives elsewhere, so it is enough to let it arrive first, in every order
        of its own. Timers wait until nothing is in flight. A partition does not commute with an arrival, nor does a
        broadcast with one at the source: while those may happen with messages in flight, nothing is left out.
        """
        for target in sorted({self._flights[flight][1] for flight in flights}):
            others = tuple([flight for flight in flights if self._flights[flight][1] != target])
            if not self._may_reach(locals_, others, target):
                return target
        return NIL

    def _may_reach(self, locals_: tuple[int, ...], flights: tuple[int, ...], target: int) -> bool:
        """Whether some of these messages, in some order, make somebody send to the target."""
        if not flights:
            return False
        key = (tuple([number for site, number in enumerate(locals_) if site != target]), flights, target)
        known = self._reaches.get(key)
        if known is None:
            known = False
            for place, flight in enumerate(flights):
                rest = flights[:place] + flights[place + 1 :]
                after, sent = self._arrive(locals_, flight)
                known = known or any(self._flights[new][1] == target for new in sent)
                known = known or self._may_reach(after, tuple(sorted([*rest, *sent])), target)
                known = known or self._may_reach(locals_, rest, target)
                if known:
                    break
            self._reaches[key] = known
        return known

    def _is_cut(self, flight: int) -> bool:
        source, target, _ = self._flights[flight]
        return self._part(source) != self._part(target)

    def _part(self, site: int) -> int:
        return next(number for number, part in enumerate(self.parts) if site in part)

    # What the graph shows

    def lasting(self, chosen: list[int]) -> set[int]:
        """Those of the chosen states that are on a cycle of chosen states, or follow one without a further loss."""
        inside = set(chosen)
        waiting = dict.fromkeys(chosen, 0)  # edges from states that are still inside
        for index in chosen:
            for other in self._lossless(index, inside):
                waiting[other] += 1
        ready = [index for index in chosen if waiting[index] == 0]
        while ready:
            index = ready.pop()
            inside.discard(index)
            for other in self._lossless(index, inside):
                waiting[other] -= 1
                if waiting[other] == 0:
                    ready.append(other)
        return inside

    def _lossless(self, index: int, inside: set[int]) -> list[int]:
        losses = self.states[index][3]
        return [other for other in self.following[index] if other in inside and self.states[other][3] == losses]


def _unordered(value: Any) -> Any:
    """The machine sorts whatever it sends, so that the order of its dicts makes no difference."""
    if isinstance(value, tuple):
        inner = tuple([_unordered(item) for item in value])
        if len(inner) == 2 and inner[0] == "map":
            return ("map", tuple(sorted(inner[1], key=repr)))
        return inner
    return value
