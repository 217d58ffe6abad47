"""What the application hears of a step, in order: frames with their messages, and the log's own operations."""

from tocsin.live.storage.log_format import Deliver, Missed, Rollback, View


class Delivered:
    """A frame, as the log notes it, and the messages that end in it, but for repeats."""

    __slots__ = ("answers", "cost", "log_position", "messages", "op", "time_us")

    def __init__(self, op: Deliver, messages: list[bytes], log_position: int, answers: list[int] | None = None) -> None:
        self.op = op
        self.messages = messages
        self.log_position = log_position  # of the frame in its group
        self.answers = answers  # where producers numbered some: by message of the frame, its position or TOO_OLD
        self.cost = 0  # bytes that it takes while it waits
        self.time_us = 0  # of the log's batch, set when it is told: the journal has the same


Heard = Delivered | Rollback | View | Missed
