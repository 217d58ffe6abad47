"""Whether what the applications of all sites saw is what was promised, and whether a group is settled.

*Settled* (docs/guarantees.md), of a state: nothing is on its way, every machine is quiet, every promise holds as at the
end of a run, and everyone who is present (up, and not asked to leave) takes part in the same view, where there are
views. It is asked of states in which the world allows it: everyone present reaches everyone through others, no process
is stopped, and no more sites are down or gone than the protocol assumes.
"""

from collections.abc import Sequence

from tocsin.core.machine import SiteId
from tocsin.properties import AT_THE_END, FAIL
from tocsin.properties.plain.check import check_rows
from tocsin.sim.explore.local_states import Event, Local
from tocsin.sim.explore.reach import everybody_reaches_everybody
from tocsin.sim.explore.script import Script
from tocsin.sim.run import named_groups
from tocsin.sim.scenario import Scenario
from tocsin.traces.buffer import TraceBuffer

DOWN: Event = ("crash", None, None, None, None, None)


class Judge:
    """Judges states of one scenario. What was judged once is remembered: stories are shared by many states."""

    def __init__(self, scenario: Scenario, script: Script) -> None:
        self._scenario = scenario
        self._script = script
        self._promised = scenario.protocol.promised(len(scenario.groups))
        self._broken: dict[tuple[object, ...], str | None] = {}
        self._lacking: dict[tuple[object, ...], str | None] = {}
        self._excused: dict[tuple[object, ...], bool] = {}

    def broken_promise(self, locals_: Sequence[Local], at_the_end: bool) -> str | None:
        """The first promised property that does not hold, and why."""
        key = (at_the_end, *[local.tale if local.tale >= 0 else (local.story, local.received) for local in locals_])
        if key not in self._broken:
            self._broken[key] = self._check(locals_, at_the_end)
        return self._broken[key]

    def _check(self, locals_: Sequence[Local], at_the_end: bool) -> str | None:
        scenario = self._scenario
        lives = [life for local in locals_ for life in _lives(local)]
        names = [scenario.names[site] + "'" * earlier for site, earlier, _ in lives]
        trace = TraceBuffer("exploration", names)
        for place, (site, earlier, events) in enumerate(lives):
            if not earlier:
                for origin, seqno in sorted({*locals_[site].received, *_broadcast_on_earlier_disks(site, lives)}):
                    trace.append(place, 0, "receive", None, scenario.names[origin], seqno, "data")
            for event, group, origin, seqno, view, members in events:
                trace.append(
                    place,
                    0,
                    event,
                    None if group is None else scenario.group_names[group],
                    None if origin is None else scenario.names[origin],
                    seqno,
                    view=view,
                    members=None if members is None else [scenario.names[member] for member in members],
                )
        promised = [name for name in self._promised if at_the_end or name not in AT_THE_END]
        report = check_rows(trace.rows(), named_groups(scenario), properties=promised)
        for name, verdict in report.properties.items():
            if verdict.verdict == FAIL:
                return f"{name}: {verdict.why}"
        return None

    # Settled

    def is_excused(self, locals_: Sequence[Local], dead: int) -> bool:
        """Whether nobody can ask of these sites that they settle, once the scenario's faults are over."""
        key = (dead, *[(local.up, local.left, len(local.history) > 0) for local in locals_])
        if key not in self._excused:
            self._excused[key] = self._is_excused(locals_, dead)
        return self._excused[key]

    def _is_excused(self, locals_: Sequence[Local], dead: int) -> bool:
        count = len(locals_)
        present = [local.site for local in locals_ if _is_present(local)]
        down = len([local for local in locals_ if not local.up and local.history])
        assume = self._scenario.protocol.assumptions
        if not present or self._script.paused[-1]:
            return True
        if down and assume.crashes_recover and not (assume.minority_stays_down and 2 * down < count):
            return True
        if self._scenario.protocol.has_views and 2 * len(present) <= count:
            return True  # of what is left of a group, half may not go on
        return not everybody_reaches_everybody(present, self._script.cut[-1], dead, count)

    def unsettled(self, locals_: Sequence[Local]) -> str | None:
        """Why a group of which nothing is on its way is not settled; None: it is."""
        for local in locals_:
            if _is_present(local) and not local.quiet:
                return f"{self._scenario.names[local.site]} is not quiet"
        broken = self.broken_promise(locals_, True)
        if broken is not None:
            return broken
        key = tuple(
            [(local.tale if local.tale >= 0 else local.story, local.view, _is_present(local)) for local in locals_]
        )
        if key not in self._lacking:
            self._lacking[key] = self._apart(locals_)
        return self._lacking[key]

    def _apart(self, locals_: Sequence[Local]) -> str | None:
        """Who is present and takes no part."""
        if not self._scenario.protocol.has_views:
            return None
        names = self._scenario.names
        present = [local for local in locals_ if _is_present(local)]
        last = {local.site: _last_view(local.story) for local in present}
        newest = max((view for view, _ in last.values()), default=-1)
        members = next((who for view, who in last.values() if view == newest), ())
        listed = " ".join(names[site] for site in members)
        for local in present:
            view, who = last[local.site]
            if local.site not in members or view != newest or who != members or local.view != newest:
                return f"{names[local.site]} takes no part in view {newest} ({listed})"
        return None


def _is_present(local: Local) -> bool:
    return local.up and not local.left


def _last_view(story: tuple[Event, ...]) -> tuple[int, tuple[SiteId, ...]]:
    """The last primary view of the whole group that a site was told of; -1: none."""
    for event in reversed(story):
        if event[0] == "view" and event[1] is None:
            return event[4], event[5]
    return -1, ()


def _lives(local: Local) -> list[tuple[SiteId, int, list[Event]]]:
    """A site's story by the lives of its disk: (site, how many later ones there are, events); the present one last.

    A wiped disk begins a log of its own; a restored one goes on where it was saved. What was delivered on a disk that
    is gone stays evidence, as the log of a site that has crashed for good; a broadcast is told once."""
    logs: list[list[Event]] = []
    events: list[Event] = []
    saved: list[Event] = []
    is_prefix = False  # of the events: what was saved
    for event in local.story:
        if event[0] == "save":
            saved = list(events)
            is_prefix = True
        elif event[0] == "wipe":
            logs.append(events)
            events = [DOWN]
            is_prefix = False
        elif event[0] == "restore":
            untold = [each for each in saved if each[0] != "broadcast"]
            logs.append([*untold, *events[len(saved) :]] if is_prefix else events)
            events = [*(saved if is_prefix else untold), DOWN]
            is_prefix = False
        else:
            events.append(event)
    logs.append(events)
    return [(local.site, len(logs) - 1 - place, log) for place, log in enumerate(logs)]


def _broadcast_on_earlier_disks(site: SiteId, lives: list[tuple[SiteId, int, list[Event]]]) -> list[tuple[SiteId, int]]:
    """(origin, seqno) of what a site broadcast before it lost a disk: like all that ever reached it, it had that then,
    and others may have delivered it because of that."""
    events = [event for whose, earlier, log in lives if whose == site and earlier for event in log]
    return [(site, event[3]) for event in events if event[0] == "broadcast" and event[3] is not None]
