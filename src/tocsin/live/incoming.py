"""What the application hears, waiting until it is taken: deliveries, views, rollbacks and what was missed, in one
order."""

import asyncio
from collections.abc import Callable

from tocsin.core.machine import GroupId
from tocsin.live.backlog import Backlog, Slow
from tocsin.live.events import BatchEvent, View
from tocsin.live.heard import Delivered, Heard
from tocsin.live.naming import Naming
from tocsin.live.storage import log_format
from tocsin.live.storage.logged_frames import LoggedFrames


class Incoming:
    """The driver tells; the application takes when it likes."""

    def __init__(self, backlog: Backlog, naming: Naming, listens: bool, slow: Slow) -> None:
        self.view: View | None = None  # the last installed since the start
        self.stat_messages = 0
        self.positions: dict[GroupId, int] = {}  # by group: of the next message that will be told
        self.on_news: Callable[[], None] | None = None  # called when something was told
        self.backlog = backlog
        self.fell_behind = asyncio.Event()  # the application is too slow, and its policy is to leave
        self._naming = naming
        self._listens = listens  # whether the application takes events at all
        self._leaves = slow == "leave"
        self._changed: list[asyncio.Future[None]] = []  # waiting for a view or the end

    # The driver's side

    def tell(self, item: Heard) -> None:
        if isinstance(item, Delivered):
            self.stat_messages += len(item.messages)
            self.positions[item.op.group] = item.op.position + item.op.count
        elif isinstance(item, log_format.View):
            if item.group < 0:
                self.view = self._naming.view(item)
            self._wake_changed()
        elif isinstance(item, log_format.Missed) and item.position >= 0:
            self.positions[item.group] = item.position
        if self._listens:
            self.backlog.put(item)

    def on_told(self) -> None:
        """What is to be told now was told."""
        self.backlog.wake()
        if self.on_news is not None:
            self.on_news()
        if self.backlog.is_over and self._leaves:
            self.fell_behind.set()

    def holds_back(self) -> bool:
        """Whether the member is to stand still until the application has caught up."""
        return self.backlog.is_over and not self._leaves

    def begin(self, frames: LoggedFrames) -> None:
        """The member's life begins, with this log."""
        self.backlog.frames = frames
        self.positions = {group: index.position for group, index in enumerate(frames.groups)}
        self.backlog.wake()  # there may be what was heard before
        self._wake_changed()

    def end(self) -> None:
        """The member ends: whoever waits here shall look."""
        self.backlog.wake()
        self._wake_changed()

    def needed(self, group: GroupId) -> int:
        """The oldest frame of a group that must still be read back from the log."""
        return self.backlog.needed(group)

    # The application's side

    def take(self) -> list[BatchEvent]:
        """The next events; there must be some."""
        return self._naming.events(self.backlog.take())

    async def wait_changed(self, seconds: float) -> None:
        """Wait for a view or the end, at most so long."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(waiting)
        try:
            await asyncio.wait([waiting], timeout=seconds)
        finally:
            if waiting in self._changed:
                self._changed.remove(waiting)

    def _wake_changed(self) -> None:
        for waiting in self._changed:
            if not waiting.done():
                waiting.set_result(None)
        self._changed = []
