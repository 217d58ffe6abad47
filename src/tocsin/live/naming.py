"""From the driver's numbers to the names that an application knows."""

from tocsin.core.errors import InputError
from tocsin.core.machine import GroupId
from tocsin.live.events import Batch, BatchEvent, Missed, Rollback, View
from tocsin.live.group_config import Group
from tocsin.live.heard import Delivered, Heard
from tocsin.live.storage import log_format


def _batches(group: str, origin: str, item: Delivered) -> list[BatchEvent]:
    """Of a frame in which messages between others are repeats, and take no position."""
    op = item.op
    events: list[BatchEvent] = []
    first = taken = 0
    for end, _ in (*op.dropped, (op.count + len(op.dropped), 0)):
        if end > first:
            payloads = item.messages[taken : taken + end - first]
            at = (op.number + first, op.position + taken, item.time_us)
            events.append(Batch(group, origin, *at, payloads, op.sent_us or None, _numbered(op, first, end)))
            taken += end - first
        first = end + 1
    return events


def _numbered(op: log_format.Deliver, first: int, end: int) -> tuple[tuple[str, int] | None, ...] | None:
    """Of these messages of a frame: producers and numbers."""
    if not op.runs:
        return None
    found: list[tuple[str, int] | None] = [None] * (end - first)
    for run in op.runs:
        for index in range(max(run.index, first), min(run.index + run.count, end)):
            found[index - first] = (run.producer, run.number + index - run.index)
    return tuple(found)


class Naming:
    """Of one group's file."""

    def __init__(self, group: Group) -> None:
        self._sites = group.sites
        self._groups = group.group_names

    def group(self, group: GroupId) -> str:
        """Groups that were made while running have no name of their own."""
        return self._groups[group] if group < len(self._groups) else f"group-{group}"

    def group_number(self, name: str) -> GroupId:
        """Of a group of the file: its place there is its number at every member."""
        if name not in self._groups:
            raise InputError(f"group: expected one that the file names ({', '.join(self._groups)}), found `{name}`")
        return self._groups.index(name)

    def view(self, op: log_format.View) -> View:
        members = tuple(self._sites[member] for member in op.members)
        return View(op.view, members, op.primary, self.group(op.group) if op.group >= 0 else None)

    def events(self, item: Heard) -> list[BatchEvent]:
        """What the application hears of it."""
        if isinstance(item, Delivered):
            op = item.op
            group, origin = self.group(op.group), self._sites[op.origin]
            if not op.dropped:
                at = (op.number, op.position, item.time_us)
                numbered = _numbered(op, 0, op.count)
                return [Batch(group, origin, *at, item.messages, op.sent_us or None, numbered)]
            return _batches(group, origin, item)
        if isinstance(item, log_format.Rollback):
            group, origin = self.group(item.group), self._sites[item.origin]
            return [
                Rollback(group, origin, item.number + index, item.position + index)
                for index in reversed(range(item.count))
            ]
        if isinstance(item, log_format.Missed):
            if item.position >= 0:
                count = item.position - item.before
                return [Missed(self.group(item.group), None, item.before, count)] if count else []
            missed = self._sites[item.origin] if item.origin >= 0 else None
            return [Missed(self.group(item.group), missed, item.first, item.count)]
        return [self.view(item)]
