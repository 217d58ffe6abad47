"""What the application hears of a step, in order: frames with their messages, and the log's own operations."""

import time

from tocsin.live.storage.log_format import Deliver, Missed, Rollback, View


class Delivered:
    """A frame, as the log notes it, and the messages that end in it."""

    __slots__ = ("cost", "log_position", "messages", "op", "time_us")

    def __init__(self, op: Deliver, messages: list[bytes], log_position: int) -> None:
        self.op = op
        self.messages = messages
        self.log_position = log_position  # of the frame in its group
        self.cost = 0  # bytes that it takes while it waits
        self.time_us = time.time_ns() // 1000


Heard = Delivered | Rollback | View | Missed
