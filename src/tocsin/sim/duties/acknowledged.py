"""acknowledged: what `ordered` and `durable` told a sender is in the log of everyone it is owed to, whatever view it
happened in, or inside a `missed` that was told there. Where positions are not the group's, a position that was missed
stands for any one message.

Owed to everyone: who is up and can be reached, and was in the group when the sender saw it delivered and is now. Where
a protocol promises agreement of correct sites only, a sender that never comes back, or loses its disk, binds nobody.
What everyone had that it was owed to, and all of them on disks that are lost, nobody can give or tell.
"""

from tocsin.core.machine import GroupId, SiteId
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.notes import NOT_TOLD, Acknowledged, Log, Notes, origin_of


def first_gone(ending: Ending) -> str:
    """The first message that was acknowledged and that somebody lacks without having been told; "" if none is."""
    reach = ending.limits.reach if ending.limits is not None else "members"
    uniform = "uniform_agreement" in ending.protocol.guarantees
    has = _Has(ending.notes, shares_positions(ending))
    up = set(ending.up())
    for name, ack in ending.notes.acknowledged.items():
        sender = origin_of(name)
        if not uniform and sender not in up:
            continue
        owed = _owed_to(ack, sender, reach)
        if ending.notes.past and _is_lost(ending.notes, name, owed if uniform else [sender], reach):
            continue
        for site in owed:
            if (
                site in up
                and site in ending.notes.members_told(site, ack.group)
                and not has.told(site, ack.group, name)
            ):
                return (
                    f"{ending.notes.label(name)} was acknowledged to its sender, and {ending.names[site]} neither has "
                    "it nor was told that it missed it"
                )
    return ""


def _is_lost(notes: Notes, name: int, holders: list[SiteId], reach: str) -> bool:
    """Whether everyone who must have had it has lost a disk since, and none of the disks that are left has it. Where it
    was acknowledged for here alone, others that have it need not give it back."""
    lost = {site for site, _ in notes.past}
    if not lost.issuperset(holders):
        return False
    return reach == "here" or not any(name in _all_of(log) for log in notes.logs)


def _all_of(log: Log) -> list[int]:
    return [name for names in log.told.values() for name in names]


def _owed_to(ack: Acknowledged, sender: SiteId, reach: str) -> list[SiteId]:
    if reach == "here":
        return [sender]
    if reach == "view" and ack.in_view is not None:
        return [site for site in ack.members if site in ack.in_view]
    return ack.members


def shares_positions(ending: Ending) -> bool:
    """Whether a position of a group is the same message at every site."""
    limits = ending.limits
    return limits is not None and limits.reach == "members" and "multiple_source" in ending.protocol.guarantees


class _Has:
    """What sites have or were told that they missed."""

    def __init__(self, notes: Notes, shared: bool) -> None:
        self._notes = notes
        self._shared = shared  # positions are the group's
        self._has: dict[tuple[SiteId, GroupId], set[int]] = {}
        self._nameless: dict[tuple[SiteId, GroupId], int] = {}  # missed positions that stand for some message or other

    def told(self, site: SiteId, group: GroupId, name: int) -> bool:
        known = self._has.get((site, group))
        if known is None:
            known = set(self._notes.logs[site].of_group(group))
            log = self._notes.logs[site]
            known.update(missed_names(self._notes, log, group, self._shared))
            self._has[(site, group)] = known
            self._nameless[(site, group)] = 0 if self._shared else log.of_group(group).count(NOT_TOLD)
        if name in known:
            return True
        if self._nameless[(site, group)] == 0:
            return False
        self._nameless[(site, group)] -= 1
        known.add(name)
        return True


def missed_names(notes: Notes, log: Log, group: GroupId, shared: bool) -> list[int]:
    """The messages of a group that the application was told it has missed, as far as anybody knows them."""
    found: list[int] = []
    order = notes.order(group)
    names = log.of_group(group)
    if shared:
        for position in range(len(names)):
            if names[position] == NOT_TOLD and position in order:
                found.append(order[position])
    for missing in log.missing:
        if missing.group == group:
            found.extend(notes.named(missing))
    return found
