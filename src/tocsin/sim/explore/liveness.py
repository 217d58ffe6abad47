"""Liveness of an explored graph: from every state a settled one can be reached when nothing more goes wrong.

Judged are the states behind the scenario's last fault in which the world allows to settle (`judging.py`). A state is
*good* if it is settled, or if a move without a fault (an arrival, a broadcast, a timer in its time) leads to a good
one: one sweep or a few backward over the edges, no run from each state. A state that is not good is a violation; the
one with the lowest number has the fewest steps.

What lies behind the end of the search is not known. A state of which the successors were not computed, because there
were too many states, counts as good. Of an end that is not settled, because a timer comes later than `duration_us`
allows, the fair continuation is run (`continuation.py`): it settles within the protocol's bound, or it is a violation.
Ends beyond the number of continuations, and those with too many timers, count as good. `unknown` says how many states
are good for no better reason. A sample of the other states is continued in the same way: there is not only a way to a
settled state, the fair one is.
"""

from collections.abc import Callable, Sequence

from tocsin.core.machine import Micros, SiteId
from tocsin.sim.explore.continuation import Continuation
from tocsin.sim.explore.flights import Flights
from tocsin.sim.explore.graph import Graph
from tocsin.sim.explore.judging import Judge
from tocsin.sim.explore.local_states import Local, LocalStates
from tocsin.sim.explore.script import Script
from tocsin.sim.explore.state import State, Turn


class Liveness:
    """Looks at each state as it is expanded, and judges when the search is over."""

    def __init__(
        self,
        locals_: LocalStates,
        flights: Flights,
        script: Script,
        judge: Judge,
        graph: Graph,
        senders: Sequence[SiteId],
        turns: Sequence[list[Turn]],
        bound_us: Micros,
    ) -> None:
        self.settled = 0  # states
        self.continued = 0
        self.given_up = 0  # continuations that took too long
        self.unknown = 0
        self.good = bytearray()  # by state: settled, or not to be judged; once judged: good
        self._locals = locals_
        self._flights = flights
        self._script = script
        self._judge = judge
        self._graph = graph
        self._senders = senders
        self._turns = turns
        self._bound_us = bound_us
        self._is_doomed = False  # what was found has no way to a settled state; else it is only late
        self._cut_off: list[int] = []  # ends that are not settled

    def look_at(self, state: State, is_end: bool) -> None:
        """The next state in the order of numbers was expanded."""
        good = not self._is_judged(state)
        if not good and not state.flights and self._judge.unsettled(self._locals_of(state)) is None:
            self.settled += 1
            good = True
        if not good and is_end:
            self._cut_off.append(len(self.good))
        self.good.append(good)

    def _locals_of(self, state: State) -> list[Local]:
        return [self._locals.states[number] for number in state.sites]

    def _is_judged(self, state: State) -> bool:
        if state.faults() < len(self._script.faults):
            return False
        return not self._judge.is_excused(self._locals_of(state), state.dead)

    def judge(self, states: int, state_of: Callable[[int], State], continuations: int) -> tuple[int, str] | None:
        """The first state from which no settled one can be reached, or is not by the fair continuation, and why."""
        judged = [index for index, good in enumerate(self.good) if not good]
        good = self.good
        unknown = self._cut_off[continuations:]
        for end in self._cut_off[:continuations]:
            before = self.given_up
            good[end] = self.continued_why(state_of(end)) is None
            if self.given_up > before:
                good[end] = 0
                unknown.append(end)
        expanded = len(good)
        good.extend(bytes(states - expanded))
        self._graph.lead_to(good)  # for certain
        certain = good.count(1)
        for index in [*unknown, *range(expanded, states)]:
            good[index] = 1
        self._graph.lead_to(good)
        self.unknown = good[:expanded].count(1) - certain
        doomed = good.find(0)
        if doomed >= 0:
            self._is_doomed = True
            why = self.continued_why(state_of(doomed))
            return doomed, f"nothing leads to a settled state any more{': ' + why if why is not None else ''}"
        left = max(0, continuations - len(self._cut_off))
        for index in judged[:: 1 + len(judged) // left] if left else ():
            why = self.lateness(state_of(index))
            if why is not None:
                return index, why
        return None

    def is_certain(self) -> bool:
        """Whether no state before the one that was found is unknown."""
        return self._is_doomed and self.unknown == 0

    def lateness(self, state: State) -> str | None:
        """That a state does not settle in time when nothing more goes wrong; None if it does, or is not judged."""
        why = self.continued_why(state) if self._is_judged(state) else None
        return None if why is None else f"not within {self._bound_us / 1e6:g} s when nothing more goes wrong: {why}"

    def continued_why(self, state: State) -> str | None:
        """Why the fair continuation of a state does not settle; None: it does, or that is not known."""
        self.continued += 1
        turns = {sender: list(self._turns[place][state.done[place] :]) for place, sender in enumerate(self._senders)}
        run = Continuation(state, self._locals, self._flights, self._script, self._judge, turns)
        why = run.settles(state.now + self._bound_us)
        if run.gave_up:
            self.given_up += 1
        return None if run.gave_up else why
