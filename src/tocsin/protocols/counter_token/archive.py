"""Messages to groups that this site is not in, from when they are ordered until all of the group have them: its own,
and those that were ordered while nobody of their group was there.

Only the members of a group log its messages. As long as one of them is away, or has not delivered, the sender can help
whoever lost its disk: it may be the only one left. What was ordered without any of the group is nowhere else. A
checkpoint repeats them.
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.machine import GroupId
from tocsin.core.message import Record
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.messages import Transfer, View
from tocsin.protocols.counter_token.records import Kept, Stored

ARCHIVED_MAX: Final = 1024  # entries; the oldest go first


class Archived:
    def __init__(self, place: int, group: GroupId, position: int, view: View, messages: list[Data]) -> None:
        self.place = place
        self.group = group
        self.position = position  # of the first message
        self.view: int = view.ballot
        self.members: tuple[int, ...] = view.members
        self.messages = messages


class Archive:
    """Entries of this site, by place."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._entries: list[Archived] = []

    def add(self, place: int, group: GroupId, position: int, messages: list[Data]) -> None:
        """An entry of the present view is ordered."""
        self._entries.append(Archived(place, group, position, self._context.view, messages))
        if len(self._entries) > ARCHIVED_MAX:
            del self._entries[0]

    def release(self, stable: int) -> None:
        """All members of the view have delivered everything below this place."""
        if self._entries and self._entries[0].place < stable:
            absent = self._context.view.absent
            self._entries = [
                entry
                for entry in self._entries
                if entry.place >= stable or [site for site in self._context.groups[entry.group] if site in absent]
            ]

    def count(self) -> int:
        """Of messages."""
        return sum([len(entry.messages) for entry in self._entries])

    def append_records(self, records: list[Record]) -> None:
        """For a checkpoint: each after its messages."""
        for entry in self._entries:
            numbers = RangeSet()
            for data in entry.messages:
                records.append(Kept(data.group, data.origin, data.seqno, data.payload))
                numbers.add(data.seqno)
            ranges = numbers.to_wire(len(entry.messages))
            sender = entry.messages[0].origin
            records.append(Stored(entry.view, entry.members, entry.place, entry.group, sender, entry.position, ranges))

    def recall(self, stored: Stored, messages: list[Data]) -> None:
        entry = Archived(stored.place, stored.group, stored.position, self._context.view, messages)
        entry.view, entry.members = stored.view, stored.members
        if messages:
            self._entries.append(entry)

    def batch(self, group: GroupId, position: int) -> Transfer | None:
        """The entry that has this position of the group, or how far on the next one begins; None if there is none."""
        following = -1
        for entry in self._entries:
            if entry.group == group and entry.position > position and (following < 0 or entry.position < following):
                following = entry.position
            if entry.group == group and entry.position <= position < entry.position + len(entry.messages):
                rest = entry.messages[position - entry.position :]
                entries = tuple([(data.origin, data.seqno, data.payload) for data in rest])
                runs = ((len(rest), entry.view, entry.place),)
                return Transfer(group, position, position, entries, runs, ((entry.view, entry.members),))
        return None if following < 0 else Transfer(group, position, following, (), (), ())
