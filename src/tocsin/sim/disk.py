"""A site's modelled disk: its records and its delivery log. `site.py` decides what reaches it before a crash."""

from tocsin.core.effects import Acquaint, Checkpoint, Deliver, Effect, Missed, Persist, Rollback, Trim, View
from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP, DeliveryLog, Entry, GroupId, SiteId
from tocsin.core.message import Record


class Disk(DeliveryLog):
    """What survives a crash of its site. Faults exchange it as a whole, for an empty one or an older one."""

    def __init__(self, groups: int, incarnation: int = FIRST_INCARNATION) -> None:
        self.incarnation = incarnation
        self.life = 0  # starts with this disk
        self.writes = 0  # durable effects so far: an older copy has fewer
        self.known: dict[SiteId, int] = {}  # incarnations of others that the machine was told of, above the first
        self.records: list[Record] = []
        self.view = -1  # number of the last installed view; -1 before any
        self.damaged = False  # what was synced cannot be read: the next start finds nothing, and should have found much
        self._first: list[int] = [0] * groups  # by group: position of the first entry kept
        self._end: list[int] = [0] * groups  # by group: position after the last entry
        self._entries: list[list[Entry]] = [[] for _ in range(groups)]

    def copy(self) -> "Disk":
        """The same content, which later writes do not change; records and entries are values."""
        other = Disk(0, self.incarnation)
        other.life = self.life
        other.writes = self.writes
        other.known = dict(self.known)
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
        self.writes += 1
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
        elif isinstance(effect, Acquaint):
            self.known[effect.site] = effect.incarnation
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


class Disks:
    """The disks that one site has, one after the other; each is an incarnation of the site."""

    def __init__(self) -> None:
        self.saved: Disk | None = None  # a copy, as it once was
        self.highest_seqno = -1  # of the site's broadcasts, on whichever disk
        self.first_seqno = 0  # that the present disk may use
        self._incarnation = FIRST_INCARNATION  # of the newest disk
        self._used = (FIRST_INCARNATION, 0)  # incarnation and writes of the last disk that its site ran with

    def empty(self, before: Disk) -> Disk:
        """Another disk in the place of this one: its site begins anew."""
        self._leave(before)
        self._incarnation += 1
        self.first_seqno = self.highest_seqno + RENEWAL_GAP if self.highest_seqno >= 0 else 0
        return Disk(before.group_count(), self._incarnation)

    def restored(self, before: Disk) -> Disk:
        """The copy in the place of this disk. If it is older, others know more of the site than it does itself: it is
        told so, what it had is set aside, and it begins anew."""
        assert self.saved is not None, "never saved"
        self._leave(before)
        is_older = (self.saved.incarnation, self.saved.writes) < self._used
        return self.empty(before) if is_older else self.saved.copy()

    def _leave(self, disk: Disk) -> None:
        if disk.life > 0:
            self._used = (disk.incarnation, disk.writes)
