"""The states that single machines can be in, and how inputs lead from one to another; each is computed once.

A machine is deterministic and hears of nothing but its inputs. So what it does with an input is a function of its own
state: the explorer meets the same pair (state of one machine, input) in thousands of global states, and looks it up
here. A pair that is new is computed on a machine that has come to this state and was not used since, or by replaying
the state's inputs on a fresh one: machines need not be copied.
"""

from abc import ABC, abstractmethod
from typing import Any, Final

from mypy_extensions import mypyc_attr

from tocsin.core.effects import Deliver, Effect, GroupView, Rollback, View, sent
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Micros, SiteId
from tocsin.sim import manual_site
from tocsin.sim.explore.fingerprint import fingerprint
from tocsin.sim.explore.flights import MESSAGE, Flights
from tocsin.sim.manual_site import Input, ManualSite

SPARES_MAX: Final = 2_000  # sites that are kept, some tens of KiB each

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
        self.view = -1
        self.up = False
        self.left = False  # up, and its application has asked to leave
        self.quiet = False  # up, and its machine has nothing outstanding
        self.saved = False  # its disk was saved once
        self.incarnation = FIRST_INCARNATION
        self.has_started = False  # with its present disk
        self.known: dict[SiteId, int] = {}  # incarnations of others that it was told of
        self.has_room = False
        self.timers: list[tuple[int, str, int]] = []  # deadline, name, key; sorted
        self.after: dict[object, Transition] = {}  # by the input's identity
        self.after_arrival: dict[tuple[int, Micros], Transition] = {}  # by the flight's number

    def look_at(self, site: ManualSite) -> None:
        """Note what can be seen of the site in this state."""
        machine = site.machine
        self.up = machine is not None
        self.left = site.has_left
        self.quiet = machine is not None and machine.quiet()
        self.saved = site.has_saved()
        self.incarnation = site.disk.incarnation
        self.has_started = site.disk.life > 0
        self.known = site.disk.known.copy()
        self.has_room = machine is not None and not site.has_left and machine.room() > 0
        self.timers = sorted([(deadline, name, key) for (name, key), deadline in site.timers.items()])


class Transition:
    """What an input does to a site in a state."""

    def __init__(self, target: int, sends: list[int], seen: bool) -> None:
        self.target = target  # the state it leads to
        self.sends = sends  # flights, in order
        self.seen = seen  # whether the application saw something


@mypyc_attr(allow_interpreted_subclasses=True)
class TransitionWatcher(ABC):
    """Somebody who looks at every transition that the search needs, when it was computed."""

    @abstractmethod
    def on_transition(self, state: int, happening: Input, flight: int, transition: Transition) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class SiteMaker(ABC):
    """Makes the sites of a scenario, as they are before their start."""

    @abstractmethod
    def make(self, site: SiteId) -> ManualSite: ...


class LocalStates:
    """All local states met so far, by number."""

    def __init__(self, maker: SiteMaker, sites: int, flights: Flights) -> None:
        self.states: list[Local] = []
        self.watcher: TransitionWatcher | None = None
        self._maker = maker
        self._flights = flights
        self._by_digest: dict[bytes, int] = {}
        self._spares: dict[int, ManualSite] = {}  # by number: a site in that state, until it is used
        self._tales: dict[tuple[tuple[Event, ...], frozenset[tuple[int, int]]], int] = {}
        self.first = [
            self._add(Local(site, [], (), frozenset()), maker.make(site)) for site in range(sites)
        ]  # down, with an empty disk

    # What an input does in a state

    def arrive(self, state: int, flight: int, now: Micros) -> Transition:
        identity = (flight, now)
        known = self.states[state].after_arrival.get(identity)
        if known is None:
            known = self.compute(state, self._flights.all[flight].arrival(now))
            self.states[state].after_arrival[identity] = known
            self._check(state, self._flights.all[flight].arrival(now), flight, known)
        return known

    def step(self, state: int, what: str, now: Micros) -> Transition:
        """A start, a crash, leaving, and what becomes of the disk."""
        identity = (what, now)
        known = self.states[state].after.get(identity)
        return known if known is not None else self._after(state, identity, Input(what, now))

    def fire(self, state: int, timer: str, key: int, now: Micros) -> Transition:
        identity = (timer, key, now)
        known = self.states[state].after.get(identity)
        if known is not None:
            return known
        happening = Input(manual_site.TIMER, now)
        happening.timer = timer
        happening.number = key
        return self._after(state, identity, happening)

    def broadcast(self, state: int, group: GroupId, payload: bytes, now: Micros) -> Transition:
        identity = (group, payload, now)
        known = self.states[state].after.get(identity)
        if known is not None:
            return known
        happening = Input(manual_site.BROADCAST, now)
        happening.number = group
        happening.payload = payload
        return self._after(state, identity, happening)

    def change(self, state: int, group: GroupId, members: list[SiteId], now: Micros) -> Transition:
        happening = Input(manual_site.CHANGE, now)
        happening.number = group
        happening.sites = members
        identity = happening.identity()
        known = self.states[state].after.get(identity)
        return known if known is not None else self._after(state, identity, happening)

    def renewed(self, state: int, peer: SiteId, incarnation: int, now: Micros) -> Transition:
        """The site is told that another has begun anew."""
        happening = manual_site.renewal(peer, incarnation, now)
        identity = happening.identity()
        known = self.states[state].after.get(identity)
        return known if known is not None else self._after(state, identity, happening)

    def _after(self, state: int, identity: object, happening: Input) -> Transition:
        transition = self.compute(state, happening)
        self.states[state].after[identity] = transition
        self._check(state, happening, -1, transition)
        return transition

    def _check(self, state: int, happening: Input, flight: int, transition: Transition) -> None:
        if self.watcher is not None:
            self.watcher.on_transition(state, happening, flight, transition)

    def replayed(self, local: Local) -> ManualSite:
        """The site itself, in that state."""
        site = self._maker.make(local.site)
        for earlier in local.history:
            site.apply(earlier)
        return site

    def compute(self, state: int, happening: Input) -> Transition:
        """What the input does, without remembering it."""
        local = self.states[state]
        site = self._spares.pop(state, None)
        if site is None:
            site = self.replayed(local)
        new, effects = live_through(local, site, happening)
        sends = [self._flights.number(MESSAGE, local.site, target, message) for target, message in sent(effects)]
        target = self._add(new, site)
        if len(self._spares) < SPARES_MAX:
            self._spares[target] = site  # whose next input need not be preceded by all the earlier ones
        return Transition(target, sends, len(new.story) > len(local.story))

    def _add(self, local: Local, site: ManualSite) -> int:
        digest = fingerprint(
            local.site,
            site.machine,
            site.life,
            site.has_left,
            site.disk_content(),
            sorted(site.timers.items()),
            local.story,
            sorted(local.received),
        )
        number = self._by_digest.get(digest, -1)
        if number < 0:
            number = len(self.states)
            self._by_digest[digest] = number
            local.look_at(site)
            local.tale = self._tales.setdefault((local.story, local.received), len(self._tales))
            self.states.append(local)
        return number


def live_through(local: Local, site: ManualSite, happening: Input) -> tuple[Local, list[Effect]]:
    """Let something happen to a site: the state it is in then, not yet looked at, and its effects."""
    was_down_before = site.life > 0
    before = site.disk.incarnation
    effects = site.apply(happening)
    story = list(local.story)
    received = local.received
    message = happening.message
    if message is not None:
        received = received.union(message.carries())
    what = happening.what
    if what == manual_site.BROADCAST:
        story.append(("broadcast", happening.number, local.site, site.accepted, None, None))
    elif what == manual_site.RESTORE and site.disk.incarnation != before:
        story.append((manual_site.WIPE, None, None, None, None, None))  # the copy was older than what others know
    elif what in (manual_site.CRASH, manual_site.LEAVE, manual_site.SAVE, manual_site.WIPE, manual_site.RESTORE):
        story.append((what, None, None, None, None, None))
    elif what == manual_site.START and was_down_before:
        story.append(("recover", None, None, None, None, None))
    view = site.disk.view if what in (manual_site.WIPE, manual_site.RESTORE) else local.view
    for effect in effects:
        if isinstance(effect, View):  # primary or not, as sim/site.py does
            view = effect.view
        _tell(effect, view, story)
    new = Local(local.site, [*local.history, happening], tuple(story), received)
    new.view = view
    return new, effects


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
