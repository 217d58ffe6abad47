"""What `ack_all` sends, keeps and can be told."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.message import Message, Options, Record

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group or a sequence number


class Data(Message, frozen=True):
    """A broadcast, from its origin to one receiver or to all."""

    kind: ClassVar[str] = "data"
    group: Number
    origin: Number
    seqno: Number
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.origin]}:{self.seqno})"


class Ack(Message, frozen=True):
    """The sender has this message of the receiver's on stable storage."""

    kind: ClassVar[str] = "ack"
    seqno: Number


class Sent(Record, frozen=True):
    """This site has broadcast; the number is taken and the payload can be sent again."""

    group: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"seqno={self.seqno}"


class Acknowledged(Record, frozen=True):
    """Everybody has this message of ours; it need not be sent again."""

    seqno: Number


class Received(Record, frozen=True):
    """This site has delivered a message of another."""

    origin: Number
    seqno: Number


class Summary(Record, frozen=True):
    """A checkpoint: the next own number, and by origin what was delivered, as ranges."""

    next_seqno: Number
    received: tuple[tuple[Number, tuple[int, ...]], ...]


class AckAllOptions(Options, frozen=True):
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for acknowledgements before sending again. Take twice the usual round trip; "
            "the default is 20 ms, twice the 10 ms of a busy local network.",
        ),
    ] = 20_000
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="Broadcasts of one site that may wait for acknowledgements; more are held back. "
            "The default 1024 keeps a site's resend list within a few hundred kilobytes at 100 bytes a message.",
        ),
    ] = 1024
    multicast: Annotated[
        bool,
        Meta(
            description="Send a broadcast the first time as one multicast, where the network has one. "
            "False is the papers' basic algorithm to the letter: a message of its own to each site."
        ),
    ] = True
