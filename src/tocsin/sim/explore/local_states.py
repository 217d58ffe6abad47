"""The states that single machines can be in, and how inputs lead from one to another; each is computed once.

A machine is deterministic and hears of nothing but its inputs. So what it does with an input is a function of its own
state: the explorer meets the same pair (state of one machine, input) in thousands of global states, and looks it up
here. A pair that is new is computed by replaying the state's inputs on a fresh machine: machines need not be copied.
"""

from abc import ABC, abstractmethod
from typing import Any

from mypy_extensions import mypyc_attr

from tocsin.core.effects import Deliver, Effect, GroupView, Rollback, View, sent
from tocsin.core.machine import Micros, SiteId
from tocsin.sim import manual_site
from tocsin.sim.explore.fingerprint import fingerprint
from tocsin.sim.explore.flights import MESSAGE, Flights
from tocsin.sim.manual_site import Input, ManualSite

Event = tuple[Any, ...]  # what an application saw: event, group, origin, seqno, view, members


class Local:
    """A state of one site: its machine's, its disk's, and what its application has seen."""

    def __init__(
        self, site: SiteId, history: list[Input], story: tuple[Event, ...], received: frozenset[tuple[int, int]]
    ) -> None:
        self.site = site
        self.history = history  # one list of inputs that leads here
        self.story = story
        self.received = received  # (origin, seqno) that ever reached the site
        self.tale = -1  # number of the pair (story, received)
        self.recoveries = 0  # in its story
        self.view = -1
        self.up = False
        self.has_room = False
        self.timers: list[tuple[int, str, int]] = []  # deadline, name, key; sorted
        self.after: dict[object, Transition] = {}  # by the input's identity
        self.after_arrival: dict[tuple[int, Micros], Transition] = {}  # by the flight's number


class Transition:
    """What an input does to a site in a state."""

    def __init__(self, target: int, sends: list[int], seen: bool) -> None:
        self.target = target  # the state it leads to
        self.sends = sends  # flights, in order
        self.seen = seen  # whether the application saw something


@mypyc_attr(allow_interpreted_subclasses=True)
class SiteMaker(ABC):
    """Makes the sites of a scenario, as they are before their start."""

    @abstractmethod
    def make(self, site: SiteId) -> ManualSite: ...


class LocalStates:
    """All local states met so far, by number."""

    def __init__(self, maker: SiteMaker, sites: int, flights: Flights) -> None:
        self.states: list[Local] = []
        self._maker = maker
        self._flights = flights
        self._by_digest: dict[bytes, int] = {}
        self._tales: dict[tuple[tuple[Event, ...], frozenset[tuple[int, int]]], int] = {}
        self.first = [
            self._add(Local(site, [], (), frozenset()), maker.make(site)) for site in range(sites)
        ]  # down, with an empty disk

    def step(self, state: int, happening: Input) -> Transition:
        """What the input does in that state."""
        local = self.states[state]
        identity = happening.identity()
        known = local.after.get(identity)
        if known is None:
            known = self._compute(local, happening)
            local.after[identity] = known
        return known

    def arrive(self, state: int, flight: int, now: Micros) -> Transition:
        """What an arrival does in that state."""
        local = self.states[state]
        identity = (flight, now)
        known = local.after_arrival.get(identity)
        if known is None:
            known = self._compute(local, self._flights.all[flight].arrival(now))
            local.after_arrival[identity] = known
        return known

    def _compute(self, local: Local, happening: Input) -> Transition:
        site = self._maker.make(local.site)
        for earlier in local.history:
            site.apply(earlier)
        was_down_before = site.life > 0
        effects = site.apply(happening)
        story = list(local.story)
        received = local.received
        message = happening.message
        if message is not None:
            received = received.union(message.carries())
        if happening.what == manual_site.BROADCAST:
            story.append(("broadcast", happening.number, local.site, site.accepted, None, None))
        elif happening.what == manual_site.CRASH:
            story.append(("crash", None, None, None, None, None))
        elif happening.what == manual_site.START and was_down_before:
            story.append(("recover", None, None, None, None, None))
        view = local.view
        sends = [self._flights.number(MESSAGE, local.site, target, message) for target, message in sent(effects)]
        for effect in effects:
            if isinstance(effect, View):  # primary or not, as sim/site.py does
                view = effect.view
            _tell(effect, view, story)
        new = Local(local.site, [*local.history, happening], tuple(story), received)
        new.view = view
        return Transition(self._add(new, site), sends, len(story) > len(local.story))

    def _add(self, local: Local, site: ManualSite) -> int:
        digest = fingerprint(
            local.site,
            site.machine,
            site.life,
            site.disk.records,
            [site.disk.end(group) for group in range(site.disk.group_count())],
            sorted(site.timers.items()),
            local.story,
            sorted(local.received),
        )
        number = self._by_digest.get(digest, -1)
        if number < 0:
            number = len(self.states)
            self._by_digest[digest] = number
            local.up = site.machine is not None
            local.has_room = site.machine is not None and site.machine.room() > 0
            local.timers = sorted([(deadline, name, key) for (name, key), deadline in site.timers.items()])
            local.tale = self._tales.setdefault((local.story, local.received), len(self._tales))
            local.recoveries = len([event for event in local.story if event[0] == "recover"])
            self.states.append(local)
        return number


def _tell(effect: Effect, view: int, story: list[Event]) -> None:
    """Put what the application sees into its story."""
    if isinstance(effect, Deliver):
        story.append(("deliver", effect.group, effect.origin, effect.seqno, view if view >= 0 else None, None))
    elif isinstance(effect, Rollback):
        story.append(("rollback", effect.group, effect.origin, effect.seqno, None, None))
    elif isinstance(effect, View):
        if effect.primary:
            story.append(("view", None, None, None, effect.view, tuple(effect.members)))
    elif isinstance(effect, GroupView):  # a view of that group alone
        story.append(("view", effect.group, None, None, effect.view, tuple(effect.members)))
