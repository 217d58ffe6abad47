"""What waits at a site that is slow, or stopped."""

from tocsin.core.machine import SiteId
from tocsin.core.message import Message


class Waiting:
    """A message in an input buffer, or (source < 0) a timer that came due while the process was stopped."""

    def __init__(self, source: SiteId, message: Message | None, size: int, timer: str, key: int) -> None:
        self.source = source
        self.message = message
        self.size = size
        self.timer = timer
        self.key = key
