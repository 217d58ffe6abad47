"""What `totem_ring` sends and keeps."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.data import Claimed, Number
from tocsin.core.message import Message, Record

Sites = tuple[Number, ...]  # sorted
Ranges = tuple[int, ...]  # a RangeSet on the wire


class Item(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An application message."""

    group: Claimed
    origin: Claimed
    seqno: Claimed
    payload: bytes


class Data(Message, frozen=True):
    """A message with its place on a ring; first sent, sent again, or exchanged in a recovery."""

    kind: ClassVar[str] = "data"
    ring: Claimed
    root: Claimed  # the ring's representative; ring and root together name it
    place: Claimed
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
    ring: Claimed
    root: Claimed
    hop: Claimed  # how often the token was passed
    end: Claimed  # places below this are taken
    aru: Claimed
    aru_site: int  # who lowered it; -1: nobody, it is the end
    wanted: Ranges  # places that somebody lacks
    sent: Claimed  # messages broadcast in the last rotation

    def brief(self, names: list[str]) -> str:
        return f"Token(ring {self.ring} hop {self.hop} end {self.end} aru {self.aru} wanted {self.wanted})"


class Beacon(Message, frozen=True):
    """From the representative of a ring to those who are not on it: there may be a ring to merge with."""

    kind: ClassVar[str] = "probe"
    ring: Claimed


class Join(Message, frozen=True):
    """The sender gathers a new ring: whom it knows, whom it takes for dead, the largest ring number it saw, and the
    last ring that it had agreed to, and has given up if it is not installed."""

    kind: ClassVar[str] = "probe"
    known: Sites
    dead: Sites
    ring: Claimed
    accepted: Claimed

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
    ring: Claimed
    root: Claimed
    members: Sites
    phase: Annotated[int, Meta(ge=0, le=3)]
    pasts: tuple[Past, ...]  # of the first members, in their order; all of them from phase 1 on

    def brief(self, names: list[str]) -> str:
        members = "".join(names[site] for site in self.members if site < len(names))
        return f"Commit(ring {self.ring} of {members} phase {self.phase} pasts {len(self.pasts)})"


class Want(Message, frozen=True):
    """In a recovery: send these places of the old ring."""

    kind: ClassVar[str] = "request"
    ring: Claimed
    root: Claimed
    places: Ranges


class Before(Message, frozen=True):
    """The sender has begun anew: what had the receiver delivered when this ring began?"""

    kind: ClassVar[str] = "request"
    ring: Claimed
    root: Claimed


class Had(Message, frozen=True):
    """The answer."""

    kind: ClassVar[str] = "control"
    ring: Claimed
    root: Claimed
    marks: tuple[Claimed, ...]  # by origin; see `ReceivedNumbers.marks`


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

    always_synced: ClassVar[bool] = True

    ring: Number


class Installed(Record, frozen=True):
    """A checkpoint: a new ring, without messages yet; the queue follows in `Sent` records."""

    always_synced: ClassVar[bool] = True

    ring: Number
    root: Number
    members: Sites
    next_seqno: Number
    seen: Number

    def promise(self) -> object:
        return self.ring, self.root, self.members


class Kept(Record, frozen=True):
    """After `Installed`, in a checkpoint: messages below this place of the ring are everywhere, and forgotten."""

    place: Number
    delivered: Number


class History(Record, frozen=True):
    """After `Installed`, in a checkpoint: what was delivered here so far, or is missed for good."""

    marks: tuple[int, ...]  # by origin; see `ReceivedNumbers.marks`


class Met(Record, frozen=True):
    """This site has begun anew, and a member has said what it had delivered before."""

    site: Number
    marks: tuple[int, ...]  # … unless a `History` has it
