"""How a run ended: what the duties are decided from, whoever drove the machines.

A run has *healed* when nothing is in the way of what the protocol owes: no fault is still to come, nobody is paused or
slow, the network loses nothing, everyone who is up reaches everyone who is up (through others, where the protocol says
that it stands dead links), every group has a member that is there, and nobody is down for good whom the protocol waits
for. Since when, `since` says; the protocol's bound counts from there. A network that goes on losing messages only takes
the bound away: a run that became quiet all the same is judged.
"""

from tocsin.core.machine import GroupId, Machine, Micros, SiteId
from tocsin.core.message import Options
from tocsin.protocols.limits import Limits
from tocsin.protocols.protocol import Protocol
from tocsin.sim.disk import Disk
from tocsin.sim.duties.notes import Notes


class Ending:
    """The last moment of a run."""

    def __init__(
        self, protocol: Protocol, options: Options, names: list[str], notes: Notes, has_multicast: bool = False
    ) -> None:
        self.protocol = protocol
        self.names = names
        self.notes = notes
        self.limits: Limits | None = None
        if protocol.limits is not None:
            multicast = 1 if has_multicast else len(names) - 1
            self.limits = protocol.limits(options, len(names), notes.group_count(), multicast)
            notes.positions_lost = self.limits.positions_lost
        self.now: Micros = 0
        self.since: Micros = 0  # when the last fault happened, or the last broadcast was taken
        self.obstacle = ""  # why the run has not healed
        self.hindrance = ""  # … or why no bound holds
        self.machines: list[Machine | None] = [None] * len(names)
        self.disks: list[Disk] = []  # by site
        self.busy: list[str] = []  # whose broadcasts wait for room, in words
        self.left: set[SiteId] = set()  # whose application has left, or was told that its site is removed

    def up(self) -> list[SiteId]:
        """Who is there to be owed something."""
        return [site for site in range(len(self.names)) if self.machines[site] is not None and site not in self.left]

    def everyone_is_up(self) -> bool:
        return not self.left and all(machine is not None for machine in self.machines)

    def has_somebody(self, site: SiteId, group: GroupId) -> bool:
        """Whether somebody is there of a group, as it is decided and known at a site: what is for others waits."""
        machine = self.machines[site]
        groups = machine.groups() if machine is not None else None
        if groups is None or group >= len(groups):
            return True
        return any(self.machines[member] is not None and member not in self.left for member in groups[group])

    def unhealed(self) -> str:
        """Why nothing can be said of what is owed: the run has not healed, or not for long enough; "" if it has."""
        if self.obstacle:
            return self.obstacle
        bound_us = self.protocol.liveness_us
        if self.hindrance and self.restless():
            return self.hindrance
        if self.now - self.since < bound_us and self.restless():
            passed_s = (self.now - self.since) / 1e6
            return f"the run ended {passed_s:.1f} s after it healed; the bound is {bound_us / 1e6:.0f} s"
        return ""

    def restless(self) -> list[str]:
        """Who is not quiet, by name and why."""
        found = list(self.busy)
        for site in range(len(self.names)):
            machine = self.machines[site]
            if machine is not None and not machine.quiet():
                found.append(f"{self.names[site]} has something outstanding")
        return found
