"""The queue of a member: messages with their priorities, undeliverable until final; delivered from the head only."""

from bisect import bisect_left, insort

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.two_phase.messages import Data

Key = tuple[int, SiteId, int]  # (priority, origin, seqno): the last two make priorities unique


class Entry:
    """A message in the queue."""

    def __init__(self, data: Data, priority: int) -> None:
        self.data = data
        self.priority = priority  # proposed here, then final; final >= proposed
        self.deliverable = False  # the priority is final
        self.waited = False  # it was here when the ASK timer last fired
        self.asked = 0  # questions without an outcome
        self.taken_over = False  # this site gathers the proposals
        self.proposals: dict[SiteId, int] = {}  # when taken over: by member

    def key(self) -> Key:
        return (self.priority, self.data.origin, self.data.seqno)


class PriorityQueue:
    """Entries by message, and their keys in order."""

    def __init__(self) -> None:
        self.entries: dict[tuple[SiteId, int], Entry] = {}
        self._keys: list[Key] = []  # sorted; one for each entry

    def add(self, entry: Entry) -> None:
        self.entries[(entry.data.origin, entry.data.seqno)] = entry
        insort(self._keys, entry.key())

    def settle(self, entry: Entry, priority: int) -> None:
        """Give an entry its final priority and its new place."""
        del self._keys[bisect_left(self._keys, entry.key())]
        entry.priority = priority
        entry.deliverable = True
        insort(self._keys, entry.key())

    def first_undeliverable(self, count: int) -> list[Entry]:
        """Up to `count` entries without a final priority, in the order of their keys."""
        found: list[Entry] = []
        for _, origin, seqno in self._keys:
            entry = self.entries[(origin, seqno)]
            if not entry.deliverable:
                found.append(entry)
                if len(found) == count:
                    break
        return found

    def pop_deliverable(self) -> Entry | None:
        """Take the head off, if it is deliverable: nothing can come before it any more."""
        if not self._keys:
            return None
        head = self._keys[0]
        entry = self.entries[(head[1], head[2])]
        if not entry.deliverable:
            return None
        del self._keys[0]
        del self.entries[(head[1], head[2])]
        return entry


class StreamState:
    """What a member knows of one origin's messages to one group."""

    def __init__(self) -> None:
        self.proposed = 0  # places below this have a proposal of ours: proposals grow with places, hence FIFO order
        self.agreed = RangeSet()  # places with a final priority
        self.stable = 0  # places below this are agreed at every member; nobody will ask
        self.early: dict[int, Data] = {}  # by place, at or above `proposed`; not durable
        self.finals: dict[int, tuple[int, int]] = {}  # by place at or above `stable`: (seqno, final priority)

    def done(self) -> int:
        """Places below this are agreed here."""
        return self.agreed.next_missing(0)

    def forget(self, stable: int) -> None:
        """Everybody has the outcomes below this place."""
        while self.stable < stable:
            self.finals.pop(self.stable, None)
            self.stable += 1
