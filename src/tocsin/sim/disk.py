"""A site's modelled disk: its records and its delivery log. `site.py` decides what reaches it before a crash."""

from tocsin.core.effects import Checkpoint, Deliver, Effect, Missed, Persist, Rollback, Trim, View
from tocsin.core.machine import DeliveryLog, Entry, GroupId
from tocsin.core.message import Record


class Disk(DeliveryLog):
    """What survives a crash of its site. Faults exchange it as a whole, for an empty one or an older one."""

    def __init__(self, groups: int) -> None:
        self.records: list[Record] = []
        self.view = -1  # number of the last installed view; -1 before any
        self.damaged = False  # what was synced cannot be read: the next start finds nothing, and should have found much
        self._first: list[int] = [0] * groups  # by group: position of the first entry kept
        self._end: list[int] = [0] * groups  # by group: position after the last entry
        self._entries: list[list[Entry]] = [[] for _ in range(groups)]

    def copy(self) -> "Disk":
        """The same content, which later writes do not change; records and entries are values."""
        other = Disk(0)
        other.records = list(self.records)
        other.view = self.view
        other.damaged = self.damaged
        other._first = list(self._first)
        other._end = list(self._end)
        other._entries = [list(entries) for entries in self._entries]
        return other

    def ensure_group(self, group: GroupId) -> None:
        """Groups may be created while running."""
        while len(self._end) <= group:
            self._first.append(0)
            self._end.append(0)
            self._entries.append([])

    def first(self, group: GroupId) -> int:
        self.ensure_group(group)
        return self._first[group]

    def end(self, group: GroupId) -> int:
        self.ensure_group(group)
        return self._end[group]

    def read(self, group: GroupId, position: int, count: int) -> list[Entry]:
        self.ensure_group(group)
        first = self._first[group]
        if position < first or position >= self._end[group]:
            return []
        return self._entries[group][position - first : position - first + count]

    def entries(self, group: GroupId) -> list[Entry]:
        """All that is kept of a group's deliveries."""
        self.ensure_group(group)
        return self._entries[group]

    def keep(self, effect: Effect) -> int:
        """Keep what an effect says, if it is a durable one; of a delivery or a rollback, the position."""
        if isinstance(effect, Deliver):
            return self._append(Entry(effect.group, effect.origin, effect.seqno, effect.payload))
        if isinstance(effect, Persist):
            self.records.append(effect.record)
        elif isinstance(effect, Checkpoint):
            self.records = list(effect.records)
        elif isinstance(effect, Rollback):
            return self._undo(effect.group, effect.origin, effect.seqno)
        elif isinstance(effect, Missed):
            if effect.origin < 0:
                self._skip(effect.group, effect.first + effect.count)
        elif isinstance(effect, Trim):
            self._trim(effect.group, effect.position)
        elif isinstance(effect, View):
            self.view = effect.view
        return -1

    def _append(self, entry: Entry) -> int:
        self.ensure_group(entry.group)
        position = self._end[entry.group]
        self._end[entry.group] = position + 1
        self._entries[entry.group].append(entry)
        return position

    def _undo(self, group: GroupId, origin: int, seqno: int) -> int:
        """Take back the group's newest delivery; the position it had."""
        entry = self._entries[group].pop()
        assert entry.origin == origin and entry.seqno == seqno, "a rollback of something else than the newest"
        self._end[group] -= 1
        return self._end[group]

    def _skip(self, group: GroupId, position: int) -> None:
        """Go on at a later position: what lies between was missed for good."""
        self.ensure_group(group)
        assert position >= self._end[group]
        self._first[group] = position
        self._end[group] = position
        self._entries[group] = []

    def _trim(self, group: GroupId, position: int) -> None:
        """Drop entries below a position."""
        self.ensure_group(group)
        drop = min(position, self._end[group]) - self._first[group]
        if drop > 0:
            del self._entries[group][:drop]
            self._first[group] += drop

    def group_count(self) -> int:
        return len(self._end)

    def is_empty(self) -> bool:
        """Whether nothing was ever written."""
        return not self.records and not any(self._end)
