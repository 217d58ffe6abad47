"""What a site notes beside its machine: input that waits while it is slow or stopped, and what it was given to send."""

from tocsin.core.effects import Effect
from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Message


class Waiting:
    """A message in an input buffer, or (source < 0) a timer that came due while the process was stopped."""

    def __init__(self, source: SiteId, message: Message | None, size: int, timer: str, key: int) -> None:
        self.source = source
        self.message = message
        self.size = size
        self.timer = timer
        self.key = key


class Taken(Effect):
    """The machine has taken a broadcast: the first effect of that step."""

    def __init__(self, group: GroupId, seqno: int, size: int) -> None:
        self.group = group
        self.seqno = seqno
        self.size = size
