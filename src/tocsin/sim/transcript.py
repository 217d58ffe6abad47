"""Transcripts: a run told as a story, in text that people write, read and compare.

    protocol ack_all
    sites a b c

    start

    broadcast a "hi"            # site a
    ----
    persist seqno=0
    multicast Data(a:0)
    set-timer RESEND/0 at 20000
    deliver a:0 "hi"

A block is one command, `----`, and the effects of the site's step, in order. `perform` acts the commands and writes
below each the effects that it really has. Messages that were sent wait in flight until a command lets them arrive or
loses them:

    start [SITE]                 all sites (effects are then prefixed by the site), or one
    broadcast SITE [GROUP] "…"   arrive A -> B [Kind]    lose A -> B [Kind]    repeat A -> B [Kind]
    fire SITE TIMER/KEY [early]  crash SITE    recover SITE    leave SITE    advance MICROSECONDS
    restart SITE                 save SITE     restore SITE    wipe SITE     (a crash first, where the site is up)
    renewed SITE A               (SITE is told that A has begun anew, with an empty disk)
    detect SITE down A           detect SITE up A              in-flight
    change SITE GROUP A B C      (SITE is asked)
"""

import json
import shlex
from typing import Any

import msgspec

from tocsin.core.config import decode_config
from tocsin.core.effects import (
    CancelTimer,
    Checkpoint,
    Deliver,
    Effect,
    GroupView,
    Missed,
    Multicast,
    Persist,
    Rollback,
    Send,
    SetTimer,
    Trim,
    View,
    sent,
)
from tocsin.core.errors import InputError
from tocsin.core.message import Message
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import find_protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

RULE = "----"
WHILE_DOWN = (manual_site.START, manual_site.SAVE, manual_site.WIPE, manual_site.RESTORE)  # what reaches a site then


class Transcript:
    """Sites, the messages in flight between them, and a clock."""

    def __init__(
        self,
        protocol: Protocol,
        names: list[str],
        options: dict[str, Any],
        groups: dict[str, list[str]],
        founders: list[str] | None = None,
        topology: Topology | None = None,
        seed: int = 0,
    ) -> None:
        self.names = names
        self.group_names = list(groups) if groups else ["all"]
        members = [sorted(names.index(name) for name in group) for group in groups.values()]
        self.groups = members if groups else [list(range(len(names)))]
        self.now = 0
        self.in_flight: list[tuple[int, int, Message]] = []  # source, target, message; oldest first
        present = [names.index(name) for name in founders] if founders is not None else list(range(len(names)))
        self.sites = [
            ManualSite(
                site,
                protocol,
                decode_config(options, protocol.options, "transcript: `option`"),
                len(names),
                present,
                self.groups,
                topology,
                seed,
            )
            for site in range(len(names))
        ]
        self.founders = present

    def command(self, line: str) -> list[str]:
        """Act one command; the effects it had, one line each."""
        words = shlex.split(line, comments=True)
        match words:
            case ["start"]:
                return [f"{self.names[s]}: {told}" for s in self.founders for told in self._do(s, manual_site.START)]
            case ["start" | "recover", site]:
                return self._do(self._site(site), manual_site.START)
            case ["restart", site]:
                return self._crash(self._site(site)) + self._do(self._site(site), manual_site.START)
            case [("crash" | "leave" | "save") as what, site]:
                return self._do(self._site(site), what)
            case [("wipe" | "restore") as what, site]:
                return self._exchange_disk(self._site(site), what)
            case ["tear", site]:  # here all is durable at once
                return self._do(self._site(site), manual_site.CRASH)
            case ["damage", site]:
                return self._exchange_disk(self._site(site), manual_site.WIPE)
            case ["renewed", site, peer]:
                incarnation = self.sites[self._site(peer)].disk.incarnation
                return self._act(self._site(site), manual_site.renewal(self._site(peer), incarnation, self.now))
            case ["broadcast", site, payload]:
                return self._broadcast(self._site(site), 0, payload)
            case ["broadcast", site, group, payload]:
                return self._broadcast(self._site(site), self.group_names.index(group), payload)
            case ["change", site, group, *members]:
                happening = Input(manual_site.CHANGE, self.now)
                if group not in self.group_names:
                    self.group_names.append(group)
                happening.number = self.group_names.index(group)
                happening.sites = sorted(self._site(member) for member in members)
                return self._act(self._site(site), happening)
            case ["detect", site, "down" | "up" as which, peer]:
                happening = Input(manual_site.PEER_DOWN if which == "down" else manual_site.PEER_UP, self.now)
                happening.peer = self._site(peer)
                return self._act(self._site(site), happening)
            case ["fire", site, timer, *early]:
                return self._fire(self._site(site), timer, early == ["early"])
            case ["advance", micros]:
                self.now += int(micros)
                return []
            case [("arrive" | "lose" | "repeat") as way, source, "->", target, *kind]:
                return self._move_named(way, self._site(source), self._site(target), kind[0] if kind else "")
            case ["in-flight"]:
                return [f"{self.names[s]} -> {self.names[t]} {m.brief(self.names)}" for s, t, m in self.in_flight]
        raise InputError(f"transcript: unknown command `{line}`")

    def _site(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"transcript: unknown site `{name}`")
        return self.names.index(name)

    def _crash(self, site: int) -> list[str]:
        """Crash a site, if it is up."""
        return [] if self.sites[site].machine is None else self._do(site, manual_site.CRASH)

    def _exchange_disk(self, site: int, what: str) -> list[str]:
        """What an earlier incarnation has sent does not arrive any more."""
        before = self.sites[site].disk.incarnation
        told = self._crash(site) + self._do(site, what)
        if self.sites[site].disk.incarnation != before:
            self.in_flight = [flight for flight in self.in_flight if flight[0] != site]
        return told

    def _do(self, site: int, what: str) -> list[str]:
        return self._act(site, Input(what, self.now))

    def _broadcast(self, site: int, group: int, payload: str) -> list[str]:
        happening = Input(manual_site.BROADCAST, self.now)
        happening.number = group
        happening.payload = payload.encode()
        return self._act(site, happening)

    def _fire(self, site: int, timer: str, early: bool) -> list[str]:
        name, _, key = timer.rpartition("/")
        deadline = self.sites[site].timers.get((name, int(key)))
        if deadline is None:
            raise InputError(f"transcript: timer {timer} is not set at {self.names[site]}")
        self.now = self.now if early else max(self.now, deadline)
        happening = Input(manual_site.TIMER, self.now)
        happening.timer = name
        happening.number = int(key)
        return self._act(site, happening)

    def _move_named(self, way: str, source: int, target: int, kind: str) -> list[str]:
        """Move the first message of that class, or with that brief; any if nothing is named."""
        for from_site, to_site, message in self.in_flight:
            if (
                from_site == source
                and to_site == target
                and kind in ("", type(message).__name__, message.brief(self.names))
            ):
                return self.move(way, source, target, message)
        raise InputError(f"transcript: nothing {kind} in flight from {self.names[source]} to {self.names[target]}")

    def move(self, way: str, source: int, target: int, message: Message) -> list[str]:
        """Let a message in flight arrive, be lost or arrive and stay in flight."""
        if way != "repeat":
            self.in_flight.remove((source, target, message))
        if way == "lose":
            return []
        happening = Input(manual_site.RECEIVE, self.now)
        happening.peer = source
        happening.message = message
        return self._act(target, happening)

    def _act(self, site: int, happening: Input) -> list[str]:
        host = self.sites[site]
        if host.machine is None and happening.what not in WHILE_DOWN:
            return ["lost: the site is down"]
        effects = host.apply(happening)
        self.in_flight.extend((site, target, message) for target, message in sent(effects))
        return [self.tell(effect) for effect in effects if not isinstance(effect, Trim)]

    def tell(self, effect: Effect) -> str:
        """An effect as one line."""
        names = self.names
        match effect:
            case Send():
                return f"send {effect.message.brief(names)} to {names[effect.target]}"
            case Multicast():
                everybody = len(effect.targets) == len(names) - 1
                to = "" if everybody else f" to {self._names(effect.targets)}"
                return f"multicast {effect.message.brief(names)}{to}"
            case SetTimer():
                return f"set-timer {effect.timer}/{effect.key} at {effect.deadline}"
            case CancelTimer():
                return f"cancel-timer {effect.timer}/{effect.key}"
            case Deliver():
                message = f"{names[effect.origin]}:{effect.seqno}"
                return f"deliver {self._group(effect.group)}{message} {_text(effect.payload)}"
            case Rollback():
                return f"rollback {self._group(effect.group)}{names[effect.origin]}:{effect.seqno}"
            case Missed():
                what = names[effect.origin] if effect.origin >= 0 else "position"
                return f"missed {self._group(effect.group)}{what}:{effect.first} and on, {effect.count} in all"
            case View():
                return f"view {effect.view}: {self._names(effect.members)}" + (
                    "" if effect.primary else " (not primary)"
                )
            case GroupView():
                return f"view {effect.view} of {self.group_names[effect.group]}: {self._names(effect.members)}"
            case Persist():
                return f"persist {effect.record.brief(names)}"
            case Checkpoint():
                return f"checkpoint of {len(effect.records)} records"
        raise AssertionError(f"an effect without words: {effect}")

    def _names(self, sites: list[int]) -> str:
        return " ".join(self.names[site] for site in sites)

    def _group(self, group: int) -> str:
        """Named only where there are several."""
        named = len(self.group_names) > 1 and group < len(self.group_names)
        return f"{self.group_names[group]} " if named else ""


def _text(payload: bytes) -> str:
    return json.dumps(payload.rstrip(b"\0").decode("utf-8", "backslashreplace"))


def perform(text: str, protocol: Protocol | None = None) -> str:
    """Act a transcript; the same text with what really happened below each command."""
    names: list[str] = []
    founders: list[str] | None = None
    options: dict[str, Any] = {}
    groups: dict[str, list[str]] = {}
    transcript: Transcript | None = None
    written: list[str] = []
    skipping = False  # in the old effects of a block
    for line in text.splitlines():
        bare = line.split("#", 1)[0].strip() if not line.lstrip().startswith('"') else line.strip()
        if not bare and line.strip():
            written.append(line)
            continue
        if not bare:
            skipping = False
            if not written or written[-1]:
                written.append("")
            continue
        if skipping:
            continue
        if line.strip() == RULE:
            skipping = True
            continue
        written.append(line)
        words = bare.split()
        match words[0]:
            case "protocol":
                protocol = protocol if protocol is not None else find_protocol(words[1], "transcript")
            case "sites":
                names = words[1:]
            case "founders":
                founders = words[1:]
            case "group":
                groups[words[1]] = words[2:]
            case "option":
                key, _, value = bare.removeprefix("option").strip().partition("=")
                options[key.strip()] = msgspec.json.decode(value.strip())
            case _:
                if transcript is None:
                    if protocol is None:
                        raise InputError("transcript: expected `protocol NAME` before the first command")
                    transcript = Transcript(protocol, names, options, groups, founders)
                told = transcript.command(line.strip())
                if told:
                    written.append(RULE)
                    written.extend(told)
    return "\n".join(written).rstrip() + "\n"
