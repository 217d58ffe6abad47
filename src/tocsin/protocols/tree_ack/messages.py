"""What `tree_ack` sends, keeps and can be told."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from tocsin.core.message import Message, Options, Record

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group, a sequence number, a position
Newest = Annotated[int, Meta(ge=0, lt=(1 << 62) - 1)]  # a sequence number whose successor is a number, too
Last = Annotated[int, Meta(ge=-1, lt=1 << 62)]  # the newest of something; -1 where there is none

SHAPES = Literal["minimum", "chain", "bush"]
DETECTORS = Literal["timeout", "perfect"]
WINDOW_MAX = 1024  # so that what a site holds back out of order stays within some hundred kilobytes


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
    last: Newest
    stable: Number
    missing: tuple[Number, ...]  # sites that had failed and may lack some of them

    def brief(self, names: list[str]) -> str:
        missing = "".join(f" without {names[site]}" for site in self.missing)
        return f"Complete({names[self.origin]}:{self.last}{missing})"


Vector = tuple[tuple[Number, Number, Number], ...]  # (group, origin, newest delivered); streams without any are absent


def brief_vector(vector: Vector, names: list[str]) -> str:
    return " ".join(f"{names[origin]}:{last}" for _, origin, last in vector)


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


class Started(Record, frozen=True):
    """This site has started so many times."""

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


class Checkpoint(Record, frozen=True):
    """What the delivery log up to the given positions, and all earlier records, came to."""

    life: Number
    next_seqno: Number
    positions: tuple[Number, ...]  # by group: the log's end at the time
    streams: tuple[tuple[Number, Number, Last, Number, Number, Last], ...]  # group, origin, last, done, stable, floor


class TreeAckOptions(Options, frozen=True):
    shape: Annotated[
        SHAPES,
        Meta(
            description="The broadcast strategy: `minimum` (section 4, from `delay` and `gap`), `chain`, or "
            "`bush`. `minimum` is the fastest where the network behaves as the paper assumes."
        ),
    ] = "minimum"
    delay: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="D of the minimum-time strategy, in any unit: how long a message takes. Only D : E "
            "matters. The default 4 : 1 supposes a network where a message is under way four times as long as "
            "its sender is busy with it: measure yours.",
        ),
    ] = 4
    gap: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="E of the minimum-time strategy, in the unit of `delay`: time between two sends.",
        ),
    ] = 1
    tree: Annotated[
        tuple[tuple[Number, Number], ...],
        Meta(
            description="A strategy of one's own: (sender, receiver) pairs of relative names 1 … N, the root "
            "being 1, in sending order, as `edges` of `tocsin plan strategy`. Empty: none. Broadcasts among "
            "another number of sites than the tree has take `shape`."
        ),
    ] = ()
    watch: Annotated[
        Literal["sender", "root"],
        Meta(
            description="Whom a receiver watches until the broadcast is complete: the site it has the message "
            "from (the paper's optimization), or the root."
        ),
    ] = "sender"
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=WINDOW_MAX,
            description="Broadcasts of one root under way at once. 1 is the paper's Broadcast Sequencing "
            "Restriction. Must be the same at all sites: who receives number n knows that number n - window is "
            "complete.",
        ),
    ] = 1
    detector: Annotated[
        DETECTORS,
        Meta(
            description="`timeout`: a watched site that stays silent for probe_us * suspect_probes has failed; "
            "works anywhere, may be wrong. `perfect`: the driver says who has failed (simulator and explorer)."
        ),
    ] = "timeout"
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Time without an acknowledgement after which a message is sent again; doubles up to eight "
            "times that. Take twice the usual round trip; the default is 20 ms, twice the 10 ms of a busy local "
            "network.",
        ),
    ] = 20_000
    announce_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Idle time after which a root tells everybody that its last broadcast is complete, so "
            "that nobody watches any more and logs are trimmed. 0: never, as in the paper. The default is five "
            "times resend_us: a root that goes on broadcasting never sends it.",
        ),
    ] = 100_000
    probe_us: Annotated[
        int,
        Meta(
            ge=1,
            description="timeout detector: silence of a watched site after which it is probed. Ten times the "
            "usual round trip; the default is 100 ms.",
        ),
    ] = 100_000
    suspect_probes: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="timeout detector: silent periods of probe_us after which a site has failed. With loss p, "
            "a site that lives is suspected with probability about (2p)^n: 5 makes that 1 in 100,000 at 5 %.",
        ),
    ] = 5
    recheck_us: Annotated[
        int,
        Meta(
            ge=1,
            description="timeout detector: time between two probes of a site that has failed. The default of 1 s "
            "keeps a dead site's cost at one small message per second and site.",
        ),
    ] = 1_000_000
