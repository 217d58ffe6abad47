"""held: what machines hold and what their disks keep stays below what the protocol states; and in a quiet group with
everyone up they hold nothing for a message.

A few times in a run, ever less often, one machine is looked into; at the end all are (of very many, the first).
"""

from typing import Final

from tocsin.core.machine import Machine, Micros, SiteId
from tocsin.protocols.limits import Limits
from tocsin.sim.disk import Disk
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.inside import inside
from tocsin.sim.duties.notes import name_of

FIRST_LOOK_US: Final = 20_000
SITES_MAX: Final = 64  # machines looked into at the end


class Looks:
    """Looks into machines while a run goes on; each waits half as long again as the run is old."""

    def __init__(self, limits: Limits, names: list[str]) -> None:
        self.at: Micros = FIRST_LOOK_US  # the next one, at the first delivery from then on
        self.wrong = ""  # the first thing found beyond a limit
        self._limits = limits
        self._names = names

    def look(self, now: Micros, site: SiteId, machine: Machine | None, disk: Disk) -> None:
        self.at = now + max(FIRST_LOOK_US, now // 2)
        if machine is not None and not self.wrong:
            self.wrong = _beyond(self._limits, self._names[site], machine, disk)


def _beyond(limits: Limits, name: str, machine: Machine, disk: Disk) -> str:
    """What a site has beyond the limits that always hold; "" if nothing."""
    messages = inside(machine).messages
    if messages > limits.held:
        return f"{name} holds {messages} messages; the limit is {limits.held}"
    if len(disk.records) > limits.records:
        return f"{name} has {len(disk.records)} records on disk; the limit is {limits.records}"
    return ""


def excess(ending: Ending, at_rest: bool) -> str:
    """What is held beyond the limits; "" if nothing. `at_rest`: the group is quiet, and was left alone for a while."""
    limits = ending.limits
    assert limits is not None
    for site in range(min(SITES_MAX, len(ending.names))):
        machine = ending.machines[site]
        if machine is not None:
            found = _beyond(limits, ending.names[site], machine, ending.disks[site])
            if not found and at_rest and ending.everyone_is_up():
                found = _left_over(limits, ending.names[site], machine, ending.disks[site], _waiting(ending, site))
            if found:
                return found
    return ""


def _waiting(ending: Ending, site: SiteId) -> int:
    """Messages of a site that nobody has, to groups without members: they wait for some."""
    notes = ending.notes
    waiting: set[int] = set()
    for (group, origin), numbers in notes.sent.items():
        if origin == site and not ending.has_somebody(site, group):
            waiting.update([name_of(site, seqno) for seqno in numbers])
    for log in notes.logs:
        for names in log.told.values():
            waiting.difference_update(names)
    return len(waiting)


def _left_over(limits: Limits, name: str, machine: Machine, disk: Disk, waiting: int) -> str:
    """What is still held for messages that everybody has; `waiting`: so many it must hold."""
    messages = inside(machine).messages - waiting
    if messages > limits.held_at_rest:
        return (
            f"{name} still holds {messages} messages in a quiet group with everyone up; the limit is "
            f"{limits.held_at_rest}"
        )
    for group in range(disk.group_count()):
        kept = disk.end(group) - disk.first(group)
        if kept > limits.log_at_rest:
            return (
                f"{name} still asks for {kept} deliveries in its log in a quiet group with everyone up; the limit is "
                f"{limits.log_at_rest}"
            )
    return ""
