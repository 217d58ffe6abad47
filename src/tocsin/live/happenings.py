"""What a driver makes visible, in order: sends to peers, and what the application hears."""

import time
from typing import Protocol

from tocsin.core.errors import TocsinError
from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Message
from tocsin.live.frame_format import Numbers
from tocsin.live.storage import log_format


class Delivered:
    """Messages of one frame, on their way to the application."""

    __slots__ = ("cost", "frame", "group", "log_position", "number", "origin", "payloads", "position", "time_us")

    def __init__(
        self,
        group: GroupId,
        origin: SiteId,
        frame: int,
        number: int,
        position: int,
        payloads: list[bytes],
        log_position: int,
    ) -> None:
        self.group = group
        self.origin = origin
        self.frame = frame
        self.number = number
        self.position = position
        self.payloads = payloads
        self.log_position = log_position  # of the frame
        self.cost = 0  # bytes that it takes while it waits
        self.time_us = time.time_ns() // 1000


class RolledBack:
    """A frame that was taken back."""

    __slots__ = ("op",)

    def __init__(self, op: log_format.Rollback) -> None:
        self.op = op


Happening = Delivered | RolledBack | log_format.View | log_format.Missed


class Sending:
    """A message for peers."""

    __slots__ = ("message", "targets")

    def __init__(self, targets: list[SiteId], message: Message) -> None:
        self.targets = targets
        self.message = message


class Listener(Protocol):
    """Who takes what the driver makes visible."""

    def on_happening(self, happening: Happening) -> None: ...

    def on_broadcast(self, group: GroupId, frame: int, numbers: Numbers) -> None: ...

    def on_visible_end(self) -> None: ...

    def on_failed(self, error: TocsinError) -> None: ...
