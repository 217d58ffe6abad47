"""What the application of a site hears: deliveries, rollbacks, what it will never get, and who is in its groups."""

from tocsin.core.machine import ANY_ORIGIN, DeliveryLog, GroupId, Outbox, SiteId
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.stage import Stage


class Application:
    """Of the groups that the site is a member of."""

    def __init__(self, site: SiteId, log: DeliveryLog, outbox: Outbox) -> None:
        self._site = site
        self._log = log
        self._outbox = outbox
        self._ends: dict[GroupId, int] = {}  # by group: the position of the next delivery, as the application counts

    def resume(self, groups: int) -> None:
        """After a restart: go on after what was delivered before."""
        for group in range(groups):
            self._ends[group] = self._log.end(group)

    def hears(self, stage: Stage, group: GroupId) -> bool:
        return stage.graph.has_member(group, self._site)

    def deliver(self, record: Passed) -> None:
        self._outbox.deliver(record.group, record.origin, record.seqno, record.payload)
        self._ends[record.group] = self._ends.get(record.group, 0) + 1

    def roll_back(self, record: Passed) -> None:
        """Undo the group's newest delivery, which is this one."""
        self._outbox.rollback(record.group, record.origin, record.seqno)
        self._ends[record.group] = self._ends.get(record.group, 0) - 1

    def end(self, group: GroupId) -> int:
        return self._ends.get(group, 0)

    def miss(self, group: GroupId, count: int) -> None:
        """The next messages of the group, so many, will never come."""
        first = self._ends.get(group, 0)
        self._outbox.missed(group, ANY_ORIGIN, first, count)
        self._ends[group] = first + count

    def miss_of(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        """So many messages of an origin to the group, from this number on, will never come; which positions they had
        nobody knows."""
        self._outbox.missed(group, origin, first, count)

    def see_graph(self, before: Stage, stage: Stage) -> None:
        """Another graph is open: who is in this site's groups, where that has changed."""
        old_groups = before.graph.decision.groups
        groups = stage.graph.decision.groups
        for group in range(len(groups)):
            old = old_groups[group] if group < len(old_groups) else ()
            if groups[group] != old and (self._site in groups[group] or self._site in old):
                self._outbox.install_group(group, stage.number, list(groups[group]))
