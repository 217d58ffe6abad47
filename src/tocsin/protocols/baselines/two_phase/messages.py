"""What `two_phase` sends and keeps."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.data import Number
from tocsin.core.message import Message, Record

Priority = Annotated[int, Meta(ge=0, lt=1 << 60)]


class Data(Message, frozen=True):
    """Phase one: a broadcast that asks for a priority; from its origin, or from a member that has taken over."""

    kind: ClassVar[str] = "data"
    group: Number
    origin: Number
    seqno: Number
    place: Number  # how many messages of this origin to this group came before
    floor: Priority  # proposals must be larger: the origin has seen this much
    own: Priority  # what the origin proposed itself; 0 when it is no member
    stable: Number  # places of this origin and group below this are agreed at every member
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.origin]}:{self.seqno} floor {self.floor} own {self.own})"


class Propose(Message, frozen=True):
    """The answer of phase one: the sender's priority for a message; it never changes."""

    kind: ClassVar[str] = "ack"
    origin: Number
    seqno: Number
    priority: Priority
    done: Number  # places of this origin and group below this are agreed here

    def brief(self, names: list[str]) -> str:
        return f"Propose({names[self.origin]}:{self.seqno} {self.priority})"


class Final(Message, frozen=True):
    """Phase two: the largest of all proposals is the message's priority."""

    kind: ClassVar[str] = "final"
    origin: Number
    seqno: Number
    priority: Priority

    def brief(self, names: list[str]) -> str:
        return f"Final({names[self.origin]}:{self.seqno} {self.priority})"


class Ask(Message, frozen=True):
    """The sender has proposed and has not heard the outcome."""

    kind: ClassVar[str] = "request"
    origin: Number
    seqno: Number

    def brief(self, names: list[str]) -> str:
        return f"Ask({names[self.origin]}:{self.seqno})"


class Sent(Record, frozen=True):
    """This site has broadcast; the number is taken and the payload can be sent again."""

    group: Number
    seqno: Number
    place: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Sent({self.seqno})"


class Proposed(Record, frozen=True):
    """This site has the message and has given it this priority."""

    always_synced: ClassVar[bool] = True

    group: Number
    origin: Number
    seqno: Number
    place: Number
    floor: Priority
    own: Priority
    priority: Priority
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Proposed({names[self.origin]}:{self.seqno} {self.priority})"


class Agreed(Record, frozen=True):
    """The message's final priority."""

    group: Number
    origin: Number
    seqno: Number
    place: Number
    priority: Priority

    def brief(self, names: list[str]) -> str:
        return f"Agreed({names[self.origin]}:{self.seqno} {self.priority})"


class Stream(Record, frozen=True):
    """A checkpoint of one origin and group: places proposed, places agreed (as ranges), places agreed everywhere."""

    group: Number
    origin: Number
    proposed: Number
    agreed: tuple[int, ...]
    stable: Number


class Summary(Record, frozen=True):
    """A checkpoint of the counters; `Stream`, `Sent`, `Proposed` and `Agreed` records of what is needed follow it."""

    next_seqno: Number
    clock: Priority
    places: tuple[Number, ...]  # by group: broadcasts of this site to it
