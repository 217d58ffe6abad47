"""What `lamport` sends and keeps."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.data import Number
from tocsin.core.message import Message, Record

Stamp = Annotated[int, Meta(ge=0, lt=1 << 60)]  # a logical clock; room above for a reservation
Counts = tuple[Number, ...]  # one per site, or one per member of a group


class Data(Message, frozen=True):
    """A stamped broadcast. `places[i]` is its place in the channel from the origin to the i-th member of the group."""

    kind: ClassVar[str] = "data"
    group: Number
    origin: Number
    seqno: Number
    stamp: Stamp
    places: Counts
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.origin]}:{self.seqno} @{self.stamp})"


class Null(Message, frozen=True):
    """Whatever I send from now on is stamped higher; by site, how many messages I sent to it and have from it."""

    kind: ClassVar[str] = "null"
    stamp: Stamp
    sent: Counts
    received: Counts
    ask: bool  # answer with a null of yours: I wait for you

    def brief(self, names: list[str]) -> str:
        return f"Null(@{self.stamp}{' ask' if self.ask else ''})"


class Ack(Message, frozen=True):
    """So many messages of the receiver's have arrived here in order; sent only where null messages are off."""

    kind: ClassVar[str] = "ack"
    received: Number


class Sent(Record, frozen=True):
    """This site has broadcast. `counted`: the summary before it counts it already."""

    group: Number
    seqno: Number
    stamp: Stamp
    places: Counts
    counted: bool
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"seqno={self.seqno} @{self.stamp}"


class Acknowledged(Record, frozen=True):
    """Everybody has this message of ours; it need not be sent again."""

    seqno: Number


class Received(Record, frozen=True):
    """A message of another, not yet delivered. `counted`: the summary before it counts it already."""

    group: Number
    origin: Number
    seqno: Number
    stamp: Stamp
    counted: bool
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"{names[self.origin]}:{self.seqno} @{self.stamp}"


class Delivered(Record, frozen=True):
    """Everything up to this place of the order is delivered."""

    stamp: Stamp
    origin: Number


class Reserved(Record, frozen=True):
    """No stamp at or above this one was ever sent from here."""

    always_synced: ClassVar[bool] = True

    stamp: Stamp


class Summary(Record, frozen=True):
    """A checkpoint of the counters; `Sent` and `Received` records of what is still needed follow it."""

    next_seqno: Number
    reserved: Stamp
    delivered_stamp: Stamp
    delivered_origin: int
    sent: Counts
    received: Counts
    heard: Counts
    groups: Counts  # by group: own messages
