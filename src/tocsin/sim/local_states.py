"""The states that single machines can be in, and how inputs lead from one to another; each is computed once.

A machine is deterministic and hears of nothing but its inputs. So what it does with an input is a function of its own
state: the explorer meets the same pair (state of one machine, input) in thousands of global states, and looks it up
here. A pair that is new is computed by replaying the state's inputs on a fresh machine: machines need not be copied.
"""

from collections.abc import Callable
from typing import Any

from tocsin.core.machine import SiteId
from tocsin.core.message import Message
from tocsin.sim import stage
from tocsin.sim.fingerprint import fingerprint
from tocsin.sim.stage import Input, Request, StageSite

Story = tuple[tuple[Any, ...], ...]  # what the application saw: (event, group, origin, seqno, view, members)


class Local:
    """A state of one site: its machine's, its disk's, and what its application has seen."""

    def __init__(self, site: SiteId, history: list[Input], story: Story, received: frozenset[tuple[int, int]]) -> None:
        self.site = site
        self.history = history  # one list of inputs that leads here
        self.story = story
        self.received = received  # (origin, seqno) that ever reached the site
        self.view = -1
        self.up = False
        self.has_room = False
        self.timers: list[tuple[int, str, int]] = []  # deadline, name, key; sorted
        self.after: dict[object, Transition] = {}  # by the input's identity


class Transition:
    """What an input does to a site in a state."""

    def __init__(self, target: int, sends: list[tuple[SiteId, Message]], seen: bool) -> None:
        self.target = target  # the state it leads to
        self.sends = sends  # messages by target, in order
        self.seen = seen  # whether the application saw something


class LocalStates:
    """All local states met so far, by number."""

    def __init__(self, make_site: Callable[[SiteId], StageSite], sites: int) -> None:
        self.states: list[Local] = []
        self._make_site = make_site
        self._by_digest: dict[bytes, int] = {}
        self.first = [self._add(Local(site, [], (), frozenset()), make_site(site)) for site in range(sites)]

    def step(self, state: int, happening: Input) -> Transition:
        """What the input does in that state."""
        local = self.states[state]
        identity = happening.identity()
        known = local.after.get(identity)
        if known is None:
            known = self._compute(local, happening)
            local.after[identity] = known
        return known

    def _compute(self, local: Local, happening: Input) -> Transition:
        site = self._make_site(local.site)
        for earlier in local.history:
            site.apply(earlier)
        was_down_before = site.life > 0
        requests = site.apply(happening)
        story = list(local.story)
        received = local.received
        view = local.view
        message = happening.message
        if message is not None:
            received = received.union(message.carries())
        if happening.what == stage.BROADCAST:
            story.append(("broadcast", happening.number, local.site, site.accepted, None, None))
        elif happening.what == stage.CRASH:
            story.append(("crash", None, None, None, None, None))
        elif happening.what == stage.START and was_down_before:
            story.append(("recover", None, None, None, None, None))
        sends: list[tuple[SiteId, Message]] = []
        for request in requests:
            if request.what == "view":  # primary or not, as sim/site.py does
                view = request.number
            _note(request, view, story, sends)
        new = Local(local.site, [*local.history, happening], tuple(story), received)
        new.view = view
        return Transition(self._add(new, site), sends, len(story) > len(local.story))

    def _add(self, local: Local, site: StageSite) -> int:
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
        number = self._by_digest.get(digest)
        if number is None:
            number = len(self.states)
            self._by_digest[digest] = number
            local.up = site.machine is not None
            local.has_room = site.machine is not None and site.machine.room() > 0
            local.timers = sorted((deadline, name, key) for (name, key), deadline in site.timers.items())
            self.states.append(local)
        return number


def _note(request: Request, view: int, story: list[tuple[Any, ...]], sends: list[tuple[SiteId, Message]]) -> None:
    """Put a request where it belongs: the application's story, or the messages sent."""
    if request.message is not None and request.what in ("send", "multicast"):
        sends.extend((target, request.message) for target in request.sites)
    elif request.what == "deliver":
        story.append(("deliver", request.number, request.origin, request.seqno, view if view >= 0 else None, None))
    elif request.what == "rollback":
        story.append(("rollback", request.number, request.origin, request.seqno, None, None))
    elif request.what == "view" and request.primary:
        story.append(("view", None, None, None, request.number, tuple(request.sites)))
