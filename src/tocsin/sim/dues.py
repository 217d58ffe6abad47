"""Who still has to deliver what, where the members of groups change while messages are under way.

Whether a message comes before or after a change is for the protocol to say, and it says so with the first delivery: the
message belongs to the members of the group that this site was last told of. Until then it is owed to somebody as long
as a member that was asked for is up. A message that is taken back may be delivered again among other members.
"""

from tocsin.core.machine import GroupId, SiteId

MessageId = tuple[SiteId, int]  # origin, seqno


class Due:
    """One message that somebody lacks."""

    def __init__(self, group: GroupId) -> None:
        self.group = group
        self.has: set[SiteId] = set()  # net of rollbacks
        self.members: list[SiteId] = []  # of the group, where it was last delivered
        self.ordered = False  # somebody has delivered it

    def is_paid(self) -> bool:
        return self.ordered and self.has.issuperset(self.members)


class Dues:
    """The messages that somebody lacks, by name."""

    def __init__(self, groups: list[list[SiteId]], sites: int) -> None:
        self._asked = groups  # by group: the members last asked for; the world's own list, which changes
        self._told: list[dict[GroupId, list[SiteId]]] = []  # by site and group: the members it was last told of
        for _ in range(sites):
            self._told.append({group: groups[group] for group in range(len(groups))})
        self._open: dict[MessageId, Due] = {}
        self._missed: list[int] = [0] * sites  # by site: messages that it was told it will never get

    def on_group(self, site: SiteId, group: GroupId, members: list[SiteId]) -> None:
        self._told[site][group] = list(members)

    def on_broadcast(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        self._open[(origin, seqno)] = Due(group)

    def on_deliver(self, site: SiteId, group: GroupId, origin: SiteId, seqno: int) -> None:
        due = self._open.get((origin, seqno))
        if due is not None:
            due.has.add(site)
            due.ordered = True
            due.members = self._told[site].get(group, [])
            self._close(origin, seqno, due)

    def on_rollback(self, site: SiteId, group: GroupId, origin: SiteId, seqno: int) -> None:
        due = self._open.get((origin, seqno))
        if due is None:  # all had it
            due = Due(group)
            due.ordered = True
            due.members = self._told[site].get(group, [])
            due.has.update(due.members)
            self._open[(origin, seqno)] = due
        due.has.discard(site)
        if not due.has:
            due.ordered = False  # it will be ordered anew

    def on_missed(self, site: SiteId, count: int) -> None:
        self._missed[site] += count

    def _close(self, origin: SiteId, seqno: int, due: Due) -> None:
        if due.is_paid():
            del self._open[(origin, seqno)]

    def is_owed(self, up: set[SiteId]) -> bool:
        """Whether a site that is up lacks a message that it will not miss for good."""
        lacks: dict[SiteId, int] = {}
        for due in self._open.values():
            members = due.members if due.ordered else self._asked[due.group]
            for member in members:
                if member in up and member not in due.has:
                    lacks[member] = lacks.get(member, 0) + 1
                    if lacks[member] > self._missed[member]:
                        return True
        return False
