"""What `echo` throws."""

from typing import ClassVar

from tocsin.core.message import Message


class Ball(Message, frozen=True):
    kind: ClassVar[str] = "ball"
    throws: int
