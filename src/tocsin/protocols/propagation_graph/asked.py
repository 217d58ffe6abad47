"""The changes of groups that were asked for at this site."""

from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.messages import Change, Decision
from tocsin.protocols.propagation_graph.records import Asked


class AskedChanges:
    """Each has a number, and is repeated until a graph brings it."""

    def __init__(self, site: SiteId, records: Records) -> None:
        self._site = site
        self._records = records
        self._count = 0  # changes asked for so far; every smaller number is persisted
        self._waiting: list[Asked] = []  # those not yet in a graph, oldest first
        self._aside: list[Asked] = []  # those asked for before this site began anew; they get other numbers

    def ask(self, group: GroupId, members: list[SiteId]) -> None:
        asked = Asked(self._count, group, tuple(sorted(set(members))))
        self._count += 1
        self._records.persist(asked)
        self._waiting.append(asked)

    def recall_all(self, records: list[Record]) -> None:
        """Asked for while this site began anew, in an earlier life."""
        for record in records:
            if isinstance(record, Asked):
                self._waiting.append(record)

    def recall_begun(self) -> None:
        self._aside = self._waiting
        self._waiting = []

    def begin(self, applied: dict[SiteId, int]) -> None:
        """This site has begun anew, and knows how many changes of its earlier incarnations are in: what was asked for
        since comes after them."""
        waiting = self._aside
        self._aside = []
        self._count = applied.get(self._site, 0)
        for asked in waiting:
            self.ask(asked.group, list(asked.members))

    def is_empty(self) -> bool:
        return not self._waiting

    def changes(self) -> list[Change]:
        """What is asked for, oldest first."""
        return [Change(asked.number, asked.group, asked.members) for asked in self._waiting]

    def on_graph(self, decision: Decision) -> None:
        """Forget the changes that a graph brings."""
        for asker, count in decision.applied:
            if asker == self._site:
                self._waiting = [asked for asked in self._waiting if asked.number >= count]

    # Checkpoints

    def recall(self, record: Asked, present: Decision) -> None:
        self._count = max(self._count, record.number + 1)
        self._waiting.append(record)
        self.on_graph(present)

    def count(self) -> int:
        return self._count

    def recall_count(self, count: int) -> None:
        self._count = count

    def fold(self) -> list[Asked]:
        return self._waiting
