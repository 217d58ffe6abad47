"""What `totem_ring` sends, keeps and can be told."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from tocsin.core.message import Message, Options, Record

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group, a ring, a position, a sequence number
Sites = tuple[Number, ...]  # sorted
Ranges = tuple[int, ...]  # a RangeSet on the wire


class Item(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An application message."""

    group: Number
    origin: Number
    seqno: Number
    payload: bytes


class Data(Message, frozen=True):
    """A message with its place on a ring; first sent, sent again, or exchanged in a recovery."""

    kind: ClassVar[str] = "data"
    ring: Number
    root: Number  # the ring's representative; ring and root together name it
    place: Number
    item: Item

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.item.origin, self.item.seqno),)

    def payloads(self) -> tuple[bytes, ...]:
        return (self.item.payload,)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.item.origin]}:{self.item.seqno} at {self.ring}/{self.place})"


class Token(Message, frozen=True):
    """The right to broadcast. `aru`: everybody on the ring has all places below it."""

    kind: ClassVar[str] = "token"
    ring: Number
    root: Number
    hop: Number  # how often the token was passed
    end: Number  # places below this are taken
    aru: Number
    aru_site: int  # who lowered it; -1: nobody, it is the end
    wanted: Ranges  # places that somebody lacks
    sent: Number  # messages broadcast in the last rotation

    def brief(self, names: list[str]) -> str:
        return f"Token(ring {self.ring} hop {self.hop} end {self.end} aru {self.aru} wanted {self.wanted})"


class Beacon(Message, frozen=True):
    """From the representative of a ring to those who are not on it: there may be a ring to merge with."""

    kind: ClassVar[str] = "probe"
    ring: Number


class Join(Message, frozen=True):
    """The sender gathers a new ring: whom it knows, whom it takes for dead, and the largest ring number it saw."""

    kind: ClassVar[str] = "probe"
    known: Sites
    dead: Sites
    ring: Number

    def brief(self, names: list[str]) -> str:
        known = "".join(names[site] for site in self.known if site < len(names))
        dead = "".join(names[site] for site in self.dead if site < len(names))
        return f"Join(known {known or '-'} dead {dead or '-'} ring {self.ring})"


class Past(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What a member brings from its old ring."""

    ring: Number
    root: Number
    settled: Number  # places below this are safe or delivered
    have: Ranges


class Commit(Message, frozen=True):
    """The commit token: goes round the new ring to collect the pasts, tell them, await the recovery, install."""

    kind: ClassVar[str] = "token"
    ring: Number
    root: Number
    members: Sites
    phase: Annotated[int, Meta(ge=0, le=3)]
    pasts: tuple[Past, ...]  # of the first members, in their order; all of them from phase 1 on

    def brief(self, names: list[str]) -> str:
        members = "".join(names[site] for site in self.members if site < len(names))
        return f"Commit(ring {self.ring} of {members} phase {self.phase} pasts {len(self.pasts)})"


class Want(Message, frozen=True):
    """In a recovery: send these places of the old ring."""

    kind: ClassVar[str] = "request"
    ring: Number
    root: Number
    places: Ranges


class Sent(Record, frozen=True):
    """This site has broadcast; the message waits for the token."""

    group: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Sent({self.seqno})"


class Stored(Record, frozen=True):
    """A message of the present ring at its place; one of this site's leaves the queue by it."""

    place: Number
    item: Item

    def brief(self, names: list[str]) -> str:
        return f"Stored({names[self.item.origin]}:{self.item.seqno} at {self.place})"


class Delivered(Record, frozen=True):
    """Places of the present ring below this are delivered."""

    place: Number


class Seen(Record, frozen=True):
    """A ring of this number was proposed or heard of: a new one takes a larger number."""

    ring: Number


class Installed(Record, frozen=True):
    """A checkpoint: a new ring, without messages yet; the queue follows in `Sent` records."""

    ring: Number
    root: Number
    members: Sites
    next_seqno: Number
    seen: Number


class Kept(Record, frozen=True):
    """After `Installed`, in a checkpoint: messages below this place of the ring are everywhere, and forgotten."""

    place: Number
    delivered: Number


class TotemRingOptions(Options, frozen=True):
    delivery: Annotated[
        Literal["safe", "agreed"],
        Meta(
            description="`safe`: deliver when the token has shown twice that everybody on the ring has it. `agreed`: "
            "when all before it are delivered; two rotations earlier, and a crashed site may miss what others have."
        ),
    ] = "safe"
    idle_us: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a site holds a token that brings no news and finds nothing to send. It slows an idle "
            "ring down; a message waits at most one rotation of held tokens. The default is 1 ms a site.",
        ),
    ] = 1_000
    retry_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Send the token again after so long without a sign that it arrived. "
            "Twice a round trip; the default is 20 ms.",
        ),
    ] = 20_000
    loss_us: Annotated[
        int,
        Meta(
            ge=1,
            description="A token not seen for so long, and four `retry_us` for each member more, is lost, and a new "
            "ring is gathered. Wrong suspicion costs a change of rings and no guarantee; the default is 400 ms.",
        ),
    ] = 400_000
    join_us: Annotated[
        int,
        Meta(ge=1, description="Time between two Join messages while gathering; as `retry_us`."),
    ] = 30_000
    consensus_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Who has not agreed on the members after so long is taken for dead. Ten times `join_us`, so "
            "that a live site is left out by loss once in 100,000 cases at a loss of 0.3.",
        ),
    ] = 300_000
    beacon_us: Annotated[
        int,
        Meta(ge=1, description="Time between two beacons to those not on the ring: how soon partitions merge."),
    ] = 200_000
    burst: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Messages a site may broadcast while it has the token. 1 is the rule by which Chang and Hwang "
            "compare; the default 50 is the order of Totem's own.",
        ),
    ] = 50
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Flow control: messages broadcast by all in one rotation of the token, at the most. Receive "
            "buffers must hold as many; the default is 500.",
        ),
    ] = 500
    queue: Annotated[
        int,
        Meta(ge=1, le=1 << 20, description="Broadcasts that may wait for the token; more are held back."),
    ] = 1024
