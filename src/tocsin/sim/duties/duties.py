"""The duties of a run: what the simulator alone can see of what a protocol owes (docs/guarantees.md).

`Duties` is attached to a simulation before it starts, and takes notes; `judge` decides when it has ended. It then lets
a quiet group run on for a while, to see that it stays quiet, what it still holds and what it says.
"""

from typing import Final

import msgspec

from tocsin.core.machine import Micros
from tocsin.protocols.protocol import Protocol
from tocsin.sim.duties.acknowledged import first_gone
from tocsin.sim.duties.costs import copies, excess_of_idle, excess_of_run, lacking_s
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.healed import hindrance, obstacle
from tocsin.sim.duties.held import Looks, excess
from tocsin.sim.duties.notes import Notes
from tocsin.sim.duties.quiet import restlessness
from tocsin.sim.duties.reach import unkept
from tocsin.sim.duties.told import first_untruth
from tocsin.sim.scenario import Scenario
from tocsin.sim.simulation import Simulation

QUIET: Final = "quiet"
ACKNOWLEDGED: Final = "acknowledged"
TOLD: Final = "told"
HELD: Final = "held"
COSTS: Final = "costs"
REACH: Final = "reach"

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_CHECKABLE: Final = "not checkable"

NO_LIMITS: Final = "the protocol states no limits"
IDLE_US: Final = 1_000_000  # how long an idle group is watched …
IDLE_LOOKS: Final = 3  # … and how often, if something seems wrong
SLICE_EVENTS: Final = 10_000


class Duty(msgspec.Struct, frozen=True):
    """The verdict on one duty."""

    verdict: str
    why: str | None = None  # of a failure: what is wrong; of "not checkable": what was in the way


class Duties:
    """The duties of one run."""

    def __init__(self, scenario: Scenario, simulation: Simulation) -> None:
        world = simulation.world
        self._scenario = scenario
        self._simulation = simulation
        self._notes = Notes(world.names, scenario.groups)
        self._limits = self._ending().limits
        self._looks = Looks(self._limits, world.names) if self._limits is not None else None
        if scenario.protocol.plans_reach:
            self._notes.reach = float(msgspec.to_builtins(scenario.options)["reach"])
        world.notes = self._notes
        world.looks = self._looks

    def judge(self, ended_at: Micros, watch_idle: bool = True) -> dict[str, Duty]:
        """Decide, by name of the duty, once the run has ended: because all was quiet, or at its time limit. Without
        `watch_idle`, of its last moment only."""
        ending = self._ending()
        if ending.restless():
            ending.now = ended_at
        found = judge_ending(ending, at_rest=False)
        found[COSTS] = self._costs(ending)
        if self._scenario.protocol.plans_reach:
            found[REACH] = self._reach()
        if self._looks is not None and self._looks.wrong:
            found[HELD] = Duty(FAIL, self._looks.wrong)
        if watch_idle and not ending.hindrance and found[QUIET].verdict == PASS:
            self._watch_idle(found)
        return found

    def _ending(self) -> Ending:
        """The present moment, as if it were the last."""
        simulation = self._simulation
        world = simulation.world
        assert world.network is not None
        has_multicast = world.network.has_multicast
        ending = Ending(self._scenario.protocol, self._scenario.options, world.names, self._notes, has_multicast)
        ending.now = simulation.kernel.now
        ending.obstacle = obstacle(simulation)
        ending.hindrance = hindrance(simulation)
        last_fault = max([fault.at for fault in self._scenario.faults], default=0)
        ending.since = max(last_fault, world.tally.last_broadcast_at)
        for host in world.sites:
            ending.machines[host.site] = host.machine
            ending.disks.append(host.disk)
            if host.left:
                ending.left.add(host.site)
        for host in world.sites:
            waiting = [group for group, _ in host.pending if ending.has_somebody(host.site, group)]
            if waiting and host.machine is not None and not host.left:
                ending.busy.append(f"{ending.names[host.site]}: {len(waiting)} broadcasts wait for room")
        return ending

    def _reach(self) -> Duty:
        counted, wrong = unkept(self._notes, self._scenario.faults, self._scenario.protocol.liveness_us)
        return _verdict(wrong, "" if counted else "no broadcast was made in surroundings that there was time to learn")

    def _costs(self, ending: Ending) -> Duty:
        if self._limits is None:
            return Duty(NOT_CHECKABLE, NO_LIMITS)
        tally = self._simulation.world.tally
        lacking = lacking_s(self._notes, tally, ending.now)
        return _verdict(excess_of_run(self._limits, len(ending.names), ending.now, tally, lacking, self._dead_links()))

    def _dead_links(self) -> int:
        network = self._simulation.world.network
        assert network is not None
        return network.carrier.conditions.dead_count()

    def _watch_idle(self, found: dict[str, Duty]) -> None:
        """Let the quiet group run on: what is found wrong in every look is a failure too. (In the first one, the last
        copies of before may still be under way.)"""
        self._simulation.world.record(None)  # what an idle group says is no part of the trace
        if self._limits is not None:
            self._run_on(self._limits.rest_us)
        wrong: dict[str, str] = {}
        for _ in range(IDLE_LOOKS):
            wrong = self._look_at_idle()
            if not wrong:
                return
        for name, why in wrong.items():
            if found[name].verdict == PASS:
                found[name] = Duty(FAIL, why)

    def _look_at_idle(self) -> dict[str, str]:
        """What is wrong, by duty, with a group in which nothing happens for a while."""
        world = self._simulation.world
        sent = copies(world.tally)
        changes = len(self._notes.changes)
        self._run_on(IDLE_US)
        sent = copies(world.tally) - sent
        changes = len(self._notes.changes) - changes
        ending = self._ending()
        wrong: dict[str, str] = {}
        if changes:
            wrong[QUIET] = f"an idle group installed {changes} views or groups in {IDLE_US / 1e6:.0f} s"
        elif ending.restless():
            wrong[QUIET] = f"the group was quiet and is not any more: {ending.restless()[0]}"
        if self._limits is not None:
            wrong[HELD] = excess(ending, at_rest=True)
            wrong[COSTS] = excess_of_idle(self._limits, len(ending.names), IDLE_US, sent, self._dead_links())
        return {name: why for name, why in wrong.items() if why}

    def _run_on(self, span_us: Micros) -> None:
        simulation = self._simulation
        simulation.stop_when_quiet = False
        until = simulation.kernel.now + span_us
        while simulation.run(until, SLICE_EVENTS):
            pass
        simulation.kernel.now = max(simulation.kernel.now, until)


def judge_ending(ending: Ending, at_rest: bool) -> dict[str, Duty]:
    """What can be said of the last moment of a run, whoever drove it: all duties but the costs. `at_rest`: all was
    quiet for a while."""
    unhealed = ending.unhealed()
    return {
        QUIET: _verdict(restlessness(ending), unhealed),
        ACKNOWLEDGED: _verdict(first_gone(ending), unhealed),
        TOLD: _verdict(first_untruth(ending)),
        HELD: _held(ending, at_rest),
    }


def _held(ending: Ending, at_rest: bool) -> Duty:
    return Duty(NOT_CHECKABLE, NO_LIMITS) if ending.limits is None else _verdict(excess(ending, at_rest))


def _verdict(wrong: str, unchecked: str = "") -> Duty:
    if unchecked:
        return Duty(NOT_CHECKABLE, unchecked)
    return Duty(FAIL, wrong) if wrong else Duty(PASS)


def neglected(duties: dict[str, Duty]) -> list[str]:
    """The duties that were not kept, each with its why."""
    return [f"{name}: {duty.why}" for name, duty in duties.items() if duty.verdict == FAIL]


def first_unknown(duties: dict[str, Duty], protocol: Protocol) -> str | None:
    """The first duty that was not kept and is not known to be neglected by this protocol."""
    for found in neglected(duties):
        if not any(_is_meant(entry, found) for entry in protocol.neglects):
            return found
    return None


def _is_meant(entry: str, found: str) -> bool:
    """Whether an entry of `neglects`, a duty and words of its why, speaks of what was found."""
    duty, _, words = entry.partition(": ")
    return found.startswith(f"{duty}: ") and words in found
