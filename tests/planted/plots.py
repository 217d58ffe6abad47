"""Plots: a golden story taken as a schedule, told on at random, and judged by what the protocol promises.

A story leads to where the swarm hardly ever comes: two coordinators at once, a crash between two messages. A plot acts
a story whole, up to some command, or with one mishap more, whatever the machines make of it (commands that are no
longer possible are left out), goes on at random for a few steps, and then everything heals: all sites come back, what
is in flight arrives, timers fire, until all is quiet or the protocol's bound is over. Then everything promised must
hold, messages have the content that was broadcast, and primary views of one number are one view.

Some steps are *torn*: the site crashes before their records are durable. What the step sent before its first record has
left; the rest of the step has never been.
"""

import contextlib
from typing import Any

import msgspec

from tocsin.core.effects import CancelTimer, Deliver, Effect, GroupView, Rollback, Send, SetTimer, View, sent
from tocsin.core.effects import Multicast as ToMany
from tocsin.core.errors import InputError
from tocsin.core.rng import Rng
from tocsin.properties import FAIL, check
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite
from tocsin.sim.transcript import RULE, Transcript
from tocsin.traces.buffer import TraceBuffer

RANDOM_STEPS_MAX = 40
HEALING_STEPS_MAX = 3_000
QUIET_US = 1_000_000  # as in walks
IN_FLIGHT_MAX = 60  # more: the oldest are lost


class Story:
    """A story's head and its commands."""

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.founders: list[str] | None = None
        self.groups: dict[str, list[str]] = {}
        self.options: dict[str, Any] = {}
        self.commands: list[str] = []
        for block in text.split("\n\n"):
            lines = [line.partition("#")[0].strip() for line in block.splitlines()]
            for line in lines[: lines.index(RULE)] if RULE in lines else lines:
                if line:
                    self._take(line)

    def _take(self, line: str) -> None:
        words = line.split()
        match words[0]:
            case "protocol":
                pass
            case "sites":
                self.names = words[1:]
            case "founders":
                self.founders = words[1:]
            case "group":
                self.groups[words[1]] = words[2:]
            case "option":
                key, _, value = line.removeprefix("option").partition("=")
                self.options[key.strip()] = msgspec.json.decode(value.strip())
            case _:
                self.commands.append(line)


class Stage(Transcript):
    """A transcript that notes, in place of words, what applications see: in a trace whose clock counts steps."""

    def __init__(self, protocol: Protocol, story: Story) -> None:
        super().__init__(protocol, story.names, story.options, story.groups, story.founders)
        self.trace = TraceBuffer("plot", story.names)
        self.tears = False  # the next step is torn
        self.wrong: str | None = None  # two primary views of one number; a message with another's content
        self._payloads: dict[tuple[int, int], bytes] = {}  # by origin and number: what was broadcast
        self._one_view = "view_synchrony" in protocol.guarantees
        self._primary: dict[int, list[str]] = {}
        self._views = [-1] * len(story.names)
        self._step = 0

    def _act(self, site: int, happening: Input) -> list[str]:
        host = self.sites[site]
        starts = happening.what == manual_site.START
        if (host.machine is not None) == starts:
            return []  # up already, or down
        self._step += 1
        torn, self.tears = self.tears and happening.what != manual_site.CRASH, False
        disk = host.disk.copy() if torn else None
        if starts and host.life > 0:
            self._note(site, "recover")
        elif happening.what == manual_site.CRASH:
            self._note(site, "crash")
        for origin, seqno in happening.message.carries() if happening.message is not None else ():
            kind = str(happening.message.kind) if happening.message is not None else ""
            self.trace.append(site, self._step, "receive", None, self.names[origin], seqno, kind)
        effects = host.apply(happening)
        if disk is not None:
            effects = _before_records(effects)
            host.apply(Input(manual_site.CRASH, self.now))
            host.disk = disk
            self._note(site, "crash")
        elif happening.what == manual_site.BROADCAST:
            self._note(site, "broadcast", happening.number, site, host.accepted)
            self._payloads[site, host.accepted] = happening.payload
        self.in_flight.extend((site, target, message) for target, message in sent(effects))
        del self.in_flight[: max(0, len(self.in_flight) - IN_FLIGHT_MAX)]
        for effect in effects:
            self._see(site, effect)
        return []

    def _see(self, site: int, effect: Effect) -> None:
        if isinstance(effect, Deliver):
            self._note(site, "deliver", effect.group, effect.origin, effect.seqno)
            if effect.payload != self._payloads.get((effect.origin, effect.seqno), effect.payload):
                self.wrong = f"content: {self.names[effect.origin]}/{effect.seqno} is not what was broadcast"
        elif isinstance(effect, Rollback):
            self._note(site, "rollback", effect.group, effect.origin, effect.seqno)
        elif isinstance(effect, View):
            self._views[site] = effect.view
            if effect.primary:  # as in the simulator
                members = [self.names[member] for member in effect.members]
                self.trace.append(site, self._step, "view", view=effect.view, members=members)
                if self._one_view and sorted(self._primary.setdefault(effect.view, members)) != sorted(members):
                    self.wrong = f"views: {self._primary[effect.view]} and {members} are both view {effect.view}"
        elif isinstance(effect, GroupView):
            members = [self.names[member] for member in effect.members]
            group = self.group_names[effect.group]
            self.trace.append(site, self._step, "view", group, view=effect.view, members=members)

    def _note(self, site: int, event: str, group: int = -1, origin: int = -1, seqno: int | None = None) -> None:
        view = self._views[site] if event == "deliver" and self._views[site] >= 0 else None
        to = self.group_names[group] if group >= 0 else None
        named = self.names[origin] if origin >= 0 else None
        self.trace.append(site, self._step, event, to, named, seqno, view=view)


def _before_records(effects: list[Effect]) -> list[Effect]:
    """What a step has sent before anything of it had to be durable."""
    found: list[Effect] = []
    for effect in effects:
        if not isinstance(effect, Send | ToMany | SetTimer | CancelTimer):
            break
        found.append(effect)
    return found


class Plot:
    """One schedule."""

    def __init__(self, protocol: Protocol, story: Story, seed: int) -> None:
        self._protocol = protocol
        self._commands = story.commands
        self._rng = Rng(seed).fork("plot")
        self._stage = Stage(protocol, story)
        self._seed = seed

    def wrong(self) -> str | None:
        """What is broken of what is promised."""
        self._act_story()
        if self._seed:  # 0: the story as it is
            for _ in range(self._rng.below(RANDOM_STEPS_MAX)):
                self._stage.tears = self._rng.chance(0.1)
                self._wander()
        self._stage.tears = False
        self._heal()
        stage = self._stage
        groups = {
            name: [stage.names[site] for site in members]
            for name, members in zip(stage.group_names, stage.groups, strict=False)
        }
        report = check(stage.trace.rows(), groups, one_clock=True, properties=self._protocol.guarantees)
        broken = [f"{name}: {verdict.why}" for name, verdict in report.properties.items() if verdict.verdict == FAIL]
        return broken[0] if broken else stage.wrong

    def _act_story(self) -> None:
        """Whole; or a part of it; or with a torn step; or with a crash. Who crashed comes back at once."""
        commands = self._commands
        place = self._seed // 3 % len(commands)  # each in turn
        if self._seed % 3 == 0 and self._seed:
            commands = commands[: place + 1]
        for number, command in enumerate(commands):
            mishap = number == place and self._seed % 3
            self._stage.tears = mishap == 1
            self._try(command)
            if mishap == 2:
                self._try(f"crash {self._stage.names[self._rng.below(len(self._stage.names))]}")
            if mishap:
                for host in self._stage.sites:
                    if host.machine is None and host.life > 0:
                        self._try(f"recover {self._name(host)}")

    def _wander(self) -> None:
        """Anything that could be next."""
        rng, stage = self._rng, self._stage
        up = [host for host in stage.sites if host.machine is not None]
        down = [host for host in stage.sites if host.machine is None]
        timers = [(host, name, key) for host in up for name, key in sorted(host.timers)]
        way = rng.below(10)
        if way < 5 and stage.in_flight:
            moved = ("arrive", "arrive", "arrive", "lose", "repeat")[way]
            self._move(moved, rng.below(len(stage.in_flight)))
        elif way < 7 and timers:
            self._fire(*timers[rng.below(len(timers))])
        elif way == 7 and up:
            self._try(f"crash {self._name(up[rng.below(len(up))])}")
        elif way == 8 and down:
            self._try(f"recover {self._name(down[rng.below(len(down))])}")
        elif way == 9 and up:
            host = up[rng.below(len(up))]
            group = stage.group_names[rng.below(len(stage.groups))]
            if host.machine is not None and host.machine.room() > 0:
                self._try(f'broadcast {self._name(host)} {group} "{rng.below(1_000)}"')

    def _heal(self) -> None:
        stage = self._stage
        for host in stage.sites:
            if host.life > 0 or host.site in stage.founders:
                self._try(f"recover {self._name(host)}")
        until = stage.now + self._protocol.liveness_us
        quiet_since = stage.now
        for _ in range(HEALING_STEPS_MAX):
            timers = [(at, host.site, name, key) for host in stage.sites for (name, key), at in host.timers.items()]
            if stage.in_flight:
                self._move("arrive", 0)
            elif timers:
                _, site, name, key = min(timers)
                self._fire(stage.sites[site], name, key)
            if not all(host.machine is None or host.machine.quiet() for host in stage.sites):
                quiet_since = stage.now
            if stage.now > min(until, quiet_since + QUIET_US) or not (stage.in_flight or timers):
                return

    def _move(self, way: str, place: int) -> None:
        source, target, message = self._stage.in_flight[place]
        names = self._stage.names
        self._try(f"{way} {names[source]} -> {names[target]} {type(message).__name__}")

    def _fire(self, host: ManualSite, timer: str, key: int) -> None:
        self._try(f"fire {self._name(host)} {timer}/{key}")

    def _name(self, host: ManualSite) -> str:
        return self._stage.names[host.site]

    def _try(self, command: str) -> None:
        with contextlib.suppress(InputError):  # what should be in flight, or set, is not
            self._stage.command(command)
