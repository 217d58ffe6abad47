"""What `push_gossip` sends and keeps."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.data import Claimed, Number, name_of
from tocsin.core.message import Message, Record

STEPS_MAX = 1024

Steps = Annotated[int, Meta(ge=0, le=STEPS_MAX)]


class Data(Message, frozen=True):
    """A message on its way from neighbour to neighbour; `left`: steps in which the receiver forwards it."""

    kind: ClassVar[str] = "data"
    group: Claimed
    origin: Claimed
    seqno: Claimed
    left: Steps
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({name_of(self.origin, names)}:{self.seqno} left {self.left})"


class Ack(Message, frozen=True):
    """The sender has this message: forward it there no more."""

    kind: ClassVar[str] = "ack"
    origin: Claimed
    seqno: Claimed

    def brief(self, names: list[str]) -> str:
        return f"Ack({name_of(self.origin, names)}:{self.seqno})"


class Sent(Record, frozen=True):
    """This number is taken."""

    seqno: Number


class Summary(Record, frozen=True):
    """A checkpoint: the next own number, and per origin what was here, as ranges."""

    next_seqno: Number
    received: tuple[tuple[int, ...], ...]
