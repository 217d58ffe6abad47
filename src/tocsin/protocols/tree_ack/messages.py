"""What `tree_ack` sends and keeps."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.data import SITES_MAX, Number, name_of
from tocsin.core.message import Message, Record

Newest = Annotated[int, Meta(ge=0, lt=(1 << 62) - 1)]  # a sequence number whose successor is a number, too
LastButOne = Annotated[int, Meta(ge=-1, lt=(1 << 62) - 1)]  # the same, or -1
Last = Annotated[int, Meta(ge=-1, lt=1 << 62)]  # the newest of something; -1 where there is none


class Data(Message, frozen=True):
    """The paper's `msg`: it asks the receiver to see to its subtree, and to acknowledge when that is done."""

    kind: ClassVar[str] = "data"
    group: Number
    origin: Number
    seqno: Newest
    previous: Last  # the origin's message before this one in the same group
    done: Number  # the broadcasts of all smaller numbers in this group are complete
    stable: Number  # everybody, sites that are down included, has all smaller numbers
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.origin]}:{self.seqno})"


class Ack(Message, frozen=True):
    """The paper's `ack`: everybody in the sender's subtree that has not failed has the message."""

    kind: ClassVar[str] = "ack"
    group: Number
    origin: Number
    seqno: Number
    missing: tuple[Number, ...]  # sites of the subtree that were left out because they had failed

    def brief(self, names: list[str]) -> str:
        missing = "".join(f" without {names[site]}" for site in self.missing)
        return f"Ack({names[self.origin]}:{self.seqno}{missing})"


class Complete(Message, frozen=True):
    """A root with nothing more to say: the broadcasts up to `last` are complete. Nobody needs to watch any more."""

    kind: ClassVar[str] = "null"
    group: Number
    origin: Number
    last: LastButOne  # -1: a root that has begun anew, and knows of none
    stable: Number
    missing: tuple[Number, ...]  # sites that had failed and may lack some of them
    following: Number  # the root's next number is not below; what lies between was on a disk that is lost

    def brief(self, names: list[str]) -> str:
        missing = "".join(f" without {names[site]}" for site in self.missing)
        return f"Complete({names[self.origin]}:{self.last}{missing})"


# (group, origin, newest delivered; newest before its origin began anew, and how many up to that); streams without any
# are absent
Vector = tuple[tuple[Number, Number, Number, Last, Number], ...]


def brief_vector(vector: Vector, names: list[str]) -> str:
    return " ".join(f"{names[origin]}:{last}" for _, origin, last, _, _ in vector)


class Hello(Message, frozen=True):
    """I am (back) here, and this is what I have. Asks for a `Welcome`."""

    kind: ClassVar[str] = "request"
    life: Number  # how often the sender has started
    vector: Vector

    def brief(self, names: list[str]) -> str:
        return f"Hello({' '.join([f'life {self.life}', brief_vector(self.vector, names)]).strip()})"


class Welcome(Message, frozen=True):
    """The answer to a `Hello`: what the sender has."""

    kind: ClassVar[str] = "null"
    life: Number  # how often the sender has started
    echo: Number  # the life of the `Hello` that this answers
    vector: Vector

    def brief(self, names: list[str]) -> str:
        return f"Welcome({brief_vector(self.vector, names)})"


class Request(Message, frozen=True):
    """Send me what I lack of a group, from this place of your log on."""

    kind: ClassVar[str] = "request"
    group: Number
    cursor: Last  # where the last `Batch` said to go on; -1 at the start
    vector: tuple[tuple[Number, Number], ...]  # (origin, newest delivered)

    def brief(self, names: list[str]) -> str:
        vector = " ".join(f"{names[origin]}:{last}" for origin, last in self.vector)
        return f"Request(from {self.cursor}, have {vector or 'nothing'})"


class Piece(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """One message of a `Batch`."""

    origin: Number
    seqno: Newest
    previous: Last
    complete: bool  # whether the sender of the batch knows the broadcast to be complete
    payload: bytes


class Batch(Message, frozen=True):
    """An answer to a `Request`: messages in the order in which the sender delivered them."""

    kind: ClassVar[str] = "data"
    group: Number
    cursor: Number  # go on here
    more: bool  # whether the log goes on
    floors: tuple[tuple[Number, Number, Number], ...]  # origin, newest number that is no longer kept, how many until it
    pieces: tuple[Piece, ...]

    def carries(self) -> tuple[tuple[int, int], ...]:
        return tuple([(piece.origin, piece.seqno) for piece in self.pieces])

    def payloads(self) -> tuple[bytes, ...]:
        return tuple([piece.payload for piece in self.pieces])

    def brief(self, names: list[str]) -> str:
        pieces = " ".join(f"{names[piece.origin]}:{piece.seqno}" for piece in self.pieces)
        return f"Batch({pieces or 'nothing'}{', more' if self.more else ''})"


class Probe(Message, frozen=True):
    """The timeout detector's question whether a silent site is there, and the answer."""

    kind: ClassVar[str] = "probe"
    answer: bool


class Noted(Message, frozen=True):
    """The answer to a `Complete`: the sender knows it."""

    kind: ClassVar[str] = "null"
    group: Number
    origin: Number
    last: LastButOne
    stable: Number


Direct = Data | Ack | Complete | Hello | Welcome | Request | Batch | Probe | Noted


class Relay(Message, frozen=True):
    """A message that is passed on, because there is no direct way."""

    kind: ClassVar[str] = "relay"
    path: Annotated[tuple[Number, ...], Meta(max_length=SITES_MAX)]  # from its sender to its receiver
    place: Number  # of the receiver of this copy in the path
    life: Number  # of its sender
    message: Direct

    def carries(self) -> tuple[tuple[int, int], ...]:
        return self.message.carries()

    def payloads(self) -> tuple[bytes, ...]:
        return self.message.payloads()

    def brief(self, names: list[str]) -> str:
        return f"Relay({' '.join(name_of(site, names) for site in self.path)}: {self.message.brief(names)})"


class Started(Record, frozen=True):
    """This site has started so many times."""

    always_synced: ClassVar[bool] = True

    life: Number


class Kept(Record, frozen=True):
    """A message that this site has and its delivery log does not tell of: not delivered yet (an earlier one is
    missing), sent to a group that the site is not in, or delivered before a checkpoint and not known to be complete."""

    group: Number
    origin: Number
    seqno: Number
    previous: Last
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Kept({names[self.origin]}:{self.seqno})"


class StreamState(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What a checkpoint says of a stream."""

    group: Number
    origin: Number
    last: Last
    count: Number  # of the stream's messages up to `last`
    done: Number
    stable: Number
    floor: Last
    floor_count: Number
    jump: tuple[Last, Number, Last]


class Checkpoint(Record, frozen=True):
    """What the delivery log up to the given positions, and all earlier records, came to."""

    life: Number
    next_seqno: Number
    positions: tuple[Number, ...]  # by group: the log's end at the time
    streams: tuple[StreamState, ...]


class Skipped(Record, frozen=True):
    """What this site lacks of a stream is nowhere any more: it goes on after this number. The application was told."""

    group: Number
    origin: Number
    last: Number
    count: Number  # of the stream's messages up to it
