"""Random walks: schedules without a clock to obey, for what must meet at one point and hardly ever does in the swarm.

In a walk anything may be next that could be: any message in flight arrives, is lost or arrives twice; any timer comes
due (the clock moves to its deadline; timers that were due before are late, their processes were slow); a site
broadcasts, crashes or comes back at once. How likely each is, is drawn for every walk. Then everything heals: all sites
are up, messages take a millisecond, timers fire in time; and when all is quiet, or the protocol's bound is over,
everything promised must hold.

A walk may have kinds of things besides, by the swarm's names: `leave` (and return), `wipe`, `restore`, `dead` (links
that stay dead while everyone reaches everyone through others), `asked` (changes of groups, asked of any site). A site
whose disk is an empty or an older one begins anew, as in the simulator: a later incarnation, numbers beyond its
earlier ones, nothing more of what the earlier one had sent, and peers that are told before its first message.
"""

from collections.abc import Collection
from typing import Any, Final

from tocsin.core.config import decode_config
from tocsin.core.effects import Deliver, Effect, GroupView, Missed, Rollback, View, sent
from tocsin.core.machine import ANY_ORIGIN, FIRST_INCARNATION
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.properties import FAIL, Report, check
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.duties.duties import Duty, first_unknown, judge_ending
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.notes import Notes
from tocsin.sim.manual_site import Input, ManualSite
from tocsin.traces.buffer import TraceBuffer

STEPS_MAX: Final = 150
DELAY_US: Final = 1_000  # one way, after the walk
QUIET_US: Final = 1_000_000  # quiet for so long is quiet for ever: no protocol waits longer before it asks again
FLIGHTS_MAX: Final = 60  # more in flight: the oldest are lost
WALK_KINDS: Final = ("leave", "wipe", "restore", "dead", "asked")


class Walk:
    """One schedule, told in a trace whose clock counts steps."""

    def __init__(
        self,
        protocol: Protocol,
        sites: int,
        seed: int,
        messages: int,
        options: dict[str, Any] | None = None,
        groups: list[list[int]] | None = None,
        kinds: Collection[str] = (),
    ) -> None:
        self.protocol = protocol
        self.kinds = kinds
        self.names = list("abcdefgh"[:sites])
        self.groups = groups if groups is not None else [list(range(sites))]
        self.trace = TraceBuffer("walk", self.names)
        self.duties: dict[str, Duty] = {}  # once the walk is over
        self._notes = Notes(self.names, self.groups)
        self.happened: dict[str, int] = {"lose": 0, "repeat": 0, "crash": 0, "fire": 0, "broadcast": 0}
        self._rng = Rng(seed).fork("walk")
        decoded = decode_config(options or {}, protocol.options, "walk")
        self._options = decoded
        everybody = list(range(sites))
        self.sites = [
            ManualSite(site, protocol, decoded, sites, everybody, self.groups, None, seed) for site in everybody
        ]
        self._views = [-1] * sites
        self._flights: list[tuple[int, int, int, Message]] = []  # arrives at the earliest, source, target, message
        self._now = 0
        self._step = 0
        self._messages = messages  # still to be broadcast
        self._left: set[int] = set()  # who has left and not returned
        self._dead: set[tuple[int, int]] = set()  # links: from, to
        self._lost: set[int] = set()  # whose disk was lost: a minority

    def run(self) -> Report:
        """Walk, heal, and check everything promised."""
        for site in range(len(self.sites)):
            self._act(site, Input(manual_site.START, self._now))
        likely = {what: 1 + self._rng.below(self._rng.between(1, 30)) for what in ("fire", "crash", "lose", "repeat")}
        likely["arrive"] = 10 + self._rng.below(60)
        likely["broadcast"] = 2 + self._rng.below(10)
        if self._rng.chance(0.5):
            likely["crash"] = 1
        if self.kinds:
            rng = self._rng.fork("kinds")
            likely.update({what: 1 + rng.below(8) for what in ("leave", "wipe", "save", "restore", "dead", "change")})
        for _ in range(20 + self._rng.below(STEPS_MAX)):
            self._wander(likely)
        healed_at = self._now
        self._heal()
        self._judge(healed_at)
        groups = {f"g{number}": [self.names[site] for site in group] for number, group in enumerate(self.groups)}
        return check(self.trace.rows(), groups, one_clock=True, properties=self.protocol.guarantees)

    def _judge(self, healed_at: int) -> None:
        """What the application was told, and what is still held and waited for."""
        ending = Ending(self.protocol, self._options, self.names, self._notes)
        ending.since = healed_at
        ending.machines = [host.machine for host in self.sites]
        ending.disks = [host.disk for host in self.sites]
        ending.now = healed_at + self.protocol.liveness_us if ending.restless() else self._now
        self.duties = judge_ending(ending, at_rest=not ending.restless())

    def _wander(self, likely: dict[str, int]) -> None:
        """One step of the walk: a way drawn by its likelihood, among those that are open."""
        up = [site for site in self.sites if site.machine is not None]
        down = [site for site in self.sites if site.machine is None and self._may_start(site)]
        timers = [(site.site, name, key) for site in up for name, key in sorted(site.timers)]
        ready = [site.site for site in up if site.machine is not None and site.machine.room() > 0]
        ways: list[tuple[str, int]] = []
        for what, is_open in (
            ("arrive", self._flights),
            ("lose", self._flights),
            ("repeat", self._flights),
            ("fire", timers),
            ("crash", up),
            ("broadcast", ready if self._messages else []),
        ):
            if is_open:
                ways.append((what, likely[what]))
        if down:
            ways.append(("recover", 20))
        special = self._special() if self.kinds else {}
        ways += [(way, likely[way]) for way, places in special.items() if places]
        what = self._drawn(ways)
        if what in ("arrive", "lose", "repeat"):
            self._move(what, self._rng.below(len(self._flights)))
        elif what == "fire":
            self._fire(*timers[self._rng.below(len(timers))])
        elif what == "broadcast":
            self._broadcast(ready[self._rng.below(len(ready))])
        elif what in special:
            self._happen(what, special[what][self._rng.below(len(special[what]))])
        else:
            chosen = (up if what == "crash" else down)[self._rng.below(len(up if what == "crash" else down))]
            self._act(chosen.site, Input(manual_site.CRASH if what == "crash" else manual_site.START, self._now))
        self.happened[what] = self.happened.get(what, 0) + 1

    def _special(self) -> dict[str, list[tuple[int, int]]]:
        """What else is possible now: by its name, the sites (or pairs) that it could happen to."""
        sites = range(len(self.sites))
        up = [(site, 0) for site in sites if self.sites[site].machine is not None]
        down = [(site, 0) for site in sites if self.sites[site].machine is None]
        room = len(self._lost) < (len(self.sites) - 1) // 2
        losing = [(site, 0) for site, _ in down if room or site in self._lost]
        found: dict[str, list[tuple[int, int]]] = {}
        if "leave" in self.kinds:
            found["leave"] = [(site, 0) for site, _ in up if site not in self._left]
        if "wipe" in self.kinds:
            found["wipe"] = losing
        if "restore" in self.kinds:
            found["save"] = up + down
            found["restore"] = [(site, 0) for site, _ in losing if self.sites[site].has_saved()]
        if "dead" in self.kinds:
            pairs = {(one, other) for one in sites for other in sites if one != other} - self._dead
            found["dead"] = [pair for pair in sorted(pairs) if self._connected({*self._dead, pair})]
        if "asked" in self.kinds:
            found["change"] = [(site, group) for site, _ in up for group in range(len(self.groups))]
        return found

    def _connected(self, dead: set[tuple[int, int]]) -> bool:
        """Whether everyone reaches everyone through others."""
        for first in range(len(self.sites)):
            seen = [first]
            for source in seen:
                seen += [to for to in range(len(self.sites)) if to not in seen and (source, to) not in dead]
            if len(seen) < len(self.sites):
                return False
        return True

    def _happen(self, what: str, place: tuple[int, int]) -> None:
        """Let something special happen at a site, or to a link."""
        site, other = place
        host = self.sites[site]
        if what == "leave":
            self._left.add(site)
            self._act(site, Input(manual_site.LEAVE, self._now))
        elif what == "dead":
            self._dead.add(place)
            self._flights = [flight for flight in self._flights if (flight[1], flight[2]) != place]
        elif what == "change":
            happening = Input(manual_site.CHANGE, self._now)
            happening.number = other
            happening.sites = self._rng.sample(len(self.sites), self._rng.between(1, len(self.sites)))
            self._act(site, happening)
        elif what == "save":
            host.apply(Input(manual_site.SAVE, self._now))
            self._notes.save(site)
        else:
            self._exchange_disk(site, manual_site.WIPE if what == "wipe" else manual_site.RESTORE)

    def _exchange_disk(self, site: int, what: str) -> None:
        """Another disk, unless the copy is as new as what it replaces: then it is the same one."""
        host = self.sites[site]
        before = host.disk
        host.apply(Input(what, self._now))
        after = host.disk
        if (after.incarnation, after.writes) != (before.incarnation, before.writes):
            self._notes.exchange(site, restored=not after.is_empty())
            self._views[site] = after.view
            self._lost.add(site)

    def _may_start(self, host: ManualSite) -> bool:
        """Who begins anew asks others which numbers it may use: as in the simulator, so many must be up."""
        others = sum(other.machine is not None for other in self.sites)
        return not _begins_anew(host) or others >= max(1, (len(self.sites) - 1) // 2)

    def _drawn(self, ways: list[tuple[str, int]]) -> str:
        """One of the ways, by their weights."""
        draw = self._rng.below(sum(weight for _, weight in ways))
        place = 0
        while draw >= ways[place][1]:
            draw -= ways[place][1]
            place += 1
        return ways[place][0]

    def _broadcast(self, site: int) -> None:
        self._messages -= 1
        happening = Input(manual_site.BROADCAST, self._now)
        happening.number = self._rng.below(len(self.groups))
        happening.payload = b"%d" % self._messages
        self._act(site, happening)

    def _move(self, way: str, place: int) -> None:
        _, source, target, message = self._flights[place]
        if way != "repeat":
            del self._flights[place]
        if way != "lose" and self.sites[target].machine is not None:
            incarnation = self.sites[source].disk.incarnation
            if self.sites[target].disk.known.get(source, FIRST_INCARNATION) < incarnation:
                self._act(target, manual_site.renewal(source, incarnation, self._now))
            happening = Input(manual_site.RECEIVE, self._now)
            happening.peer = source
            happening.message = message
            self._act(target, happening)

    def _fire(self, site: int, name: str, key: int) -> None:
        self._now = max(self._now, self.sites[site].timers[(name, key)])
        happening = Input(manual_site.TIMER, self._now)
        happening.timer = name
        happening.number = key
        self._act(site, happening)

    def _heal(self) -> None:
        """From here on nothing goes wrong; who has left returns, dead links stay dead."""
        for site in sorted(self._left):
            if self.sites[site].machine is not None:
                self._act(site, Input(manual_site.CRASH, self._now))
        for host in sorted(self.sites, key=_begins_anew):
            if host.machine is None:
                self._act(host.site, Input(manual_site.START, self._now))
        until = self._now + self.protocol.liveness_us
        quiet_since = self._now
        while self._now < min(until, quiet_since + QUIET_US):
            first = min(range(len(self._flights)), key=lambda place: self._flights[place][0], default=-1)
            timers = sorted(
                (at, host.site, name, key) for host in self.sites for (name, key), at in host.timers.items()
            )
            if first >= 0 and (not timers or self._flights[first][0] <= timers[0][0]):
                self._now = max(self._now, self._flights[first][0])
                self._move("arrive", first)
            elif timers:
                self._fire(*timers[0][1:])
            else:
                return
            if not all(host.machine is not None and host.machine.quiet() for host in self.sites):
                quiet_since = self._now

    def _act(self, site: int, happening: Input) -> None:
        """Let something happen to a site, and note what its application sees."""
        self._step += 1
        host = self.sites[site]
        if happening.what == manual_site.CRASH:
            self._note(site, "crash")
        elif happening.what == manual_site.START and host.life > 0:
            self._note(site, "recover")
        if happening.what == manual_site.START:
            self._left.discard(site)
            if _begins_anew(host):
                self.trace.begin_incarnation(site)
                self._flights = [flight for flight in self._flights if flight[1] != site]
        if happening.message is not None:
            for origin, seqno in happening.message.carries():
                kind: str = happening.message.kind
                self.trace.append(site, self._step, "receive", None, self.names[origin], seqno, kind)
        positions = {group: host.disk.end(group) for group in range(host.disk.group_count())}
        effects = host.apply(happening)
        if happening.what == manual_site.BROADCAST:
            self._notes.on_broadcast(site, happening.number, host.accepted)
            self._note(site, "broadcast", happening.number, site, host.accepted)
        for target, message in sent(effects):
            if (site, target) not in self._dead:
                self._flights.append((self._now + DELAY_US, site, target, message))
        self._note_told(site, effects, positions)
        for effect in effects:
            if isinstance(effect, Deliver):
                self._note(site, "deliver", effect.group, effect.origin, effect.seqno)
            elif isinstance(effect, Rollback):
                self._note(site, "rollback", effect.group, effect.origin, effect.seqno)
            elif isinstance(effect, View):
                self._views[site] = effect.view
                if effect.primary:  # as the simulator does
                    members = [self.names[member] for member in effect.members]
                    self.trace.append(site, self._step, "view", view=effect.view, members=members)
            elif isinstance(effect, Missed):
                self._note_missed(site, effect)
            elif isinstance(effect, GroupView):
                members = [self.names[member] for member in effect.members]
                self.trace.append(site, self._step, "view", f"g{effect.group}", view=effect.view, members=members)
        del self._flights[: max(0, len(self._flights) - FLIGHTS_MAX)]

    def _note_told(self, site: int, effects: list[Effect], positions: dict[int, int]) -> None:
        """For the duties; `positions`: by group, where its log ended before this step."""
        for effect in effects:
            position = -1
            if isinstance(effect, Deliver):
                position = positions.get(effect.group, 0)
                positions[effect.group] = position + 1
            elif isinstance(effect, Rollback):
                positions[effect.group] -= 1
            elif isinstance(effect, Missed) and effect.origin == ANY_ORIGIN:
                positions[effect.group] = effect.first + effect.count
            self._notes.on_effect(self._now, site, effect, position, is_up=True)

    def _note_missed(self, site: int, effect: Missed) -> None:
        to, count, first = f"g{effect.group}", effect.count, effect.first
        if effect.origin == ANY_ORIGIN:
            self.trace.append(site, self._step, "missed", to, size=count, position=first)
        else:
            self.trace.append(site, self._step, "missed", to, self.names[effect.origin], first, size=count)

    def _note(self, site: int, event: str, group: int = -1, origin: int = -1, seqno: int | None = None) -> None:
        view = self._views[site] if event == "deliver" and self._views[site] >= 0 else None
        to = f"g{group}" if group >= 0 else None
        named = self.names[origin] if origin >= 0 else None
        self.trace.append(site, self._step, event, to, named, seqno, view=view)


def _begins_anew(host: ManualSite) -> bool:
    return host.machine is None and host.disk.incarnation > FIRST_INCARNATION and host.disk.life == 0


def first_wrong_walk(
    protocol: Protocol,
    sites: int,
    messages: int,
    seeds: range,
    options: dict[str, Any] | None = None,
    groups: list[list[int]] | None = None,
    kinds: Collection[str] = (),
) -> str | None:
    """The first walk that breaks a promise, or raises: which, and why."""
    for seed in seeds:
        walk = Walk(protocol, sites, seed, messages, options, groups, kinds)
        try:
            report = walk.run()
        except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
            return f"walk {seed}: raised {type(error).__name__}: {error}"
        for name, verdict in report.properties.items():
            if verdict.verdict == FAIL:
                return f"walk {seed}: {name}: {verdict.why}"
        neglected = first_unknown(walk.duties, protocol)
        if neglected is not None:
            return f"walk {seed}: {neglected}"
    return None
