"""From the driver's numbers to the names that an application knows."""

from tocsin.core.machine import GroupId
from tocsin.live.events import Batch, BatchEvent, Missed, Rollback, View
from tocsin.live.group_config import Group
from tocsin.live.happenings import Delivered, Happening, RolledBack
from tocsin.live.storage import log_format


class Naming:
    """Of one group's file."""

    def __init__(self, group: Group) -> None:
        self._sites = group.sites
        self._groups = group.group_names

    def group(self, group: GroupId) -> str:
        """Groups that were made while running have no name of their own."""
        return self._groups[group] if group < len(self._groups) else f"group-{group}"

    def view(self, op: log_format.View) -> View:
        return View(op.view, tuple(self._sites[member] for member in op.members), op.primary)

    def events(self, item: Happening) -> list[BatchEvent]:
        """What the application hears of it."""
        if isinstance(item, Delivered):
            origin = self._sites[item.origin]
            return [Batch(self.group(item.group), origin, item.number, item.position, item.time_us, item.payloads)]
        if isinstance(item, RolledBack):
            op = item.op
            group, origin = self.group(op.group), self._sites[op.origin]
            return [
                Rollback(group, origin, op.number + index, op.position + index) for index in reversed(range(op.count))
            ]
        if isinstance(item, log_format.Missed):
            missed = self._sites[item.origin] if item.origin >= 0 else None
            return [Missed(self.group(item.group), missed, item.first, item.count)]
        return [self.view(item)]
