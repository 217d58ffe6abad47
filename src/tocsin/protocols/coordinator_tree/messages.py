"""What `coordinator_tree` sends and keeps.

Control messages carry one entry per stream (the broadcasts of one origin to one group), so that a site that does the
same thing for several sources at once says it in one message.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.data import SITES_MAX, Claimed, Number, name_of
from tocsin.core.message import Message, Record

RANGES_MAX = 64  # ranges of one host's messages on the wire; what is cut off is sent once more than needed, not lost
ENTRIES_MAX = 4096  # entries of one message: a tree of 4,096 hosts for one source, or of 64 hosts for 64 sources

Ranges = Annotated[tuple[Number, ...], Meta(max_length=2 * RANGES_MAX)]  # RangeSet.to_wire


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The part of a control message that is about one stream."""


class Progress(Entry, frozen=True):
    """How far the sender's own stream to a group is."""

    group: Claimed
    height: Claimed  # messages broadcast so far
    stable: Claimed  # everybody has the messages below
    floor: Claimed  # the source has dropped the messages below

    def brief(self, names: list[str]) -> str:
        return f"{self.height} sent, {self.stable} stable" + (f", {self.floor} dropped" if self.floor else "")


class Told(Entry, frozen=True):
    """How far somebody else's stream is, as far as the sender knows."""

    group: Claimed
    origin: Claimed
    height: Claimed

    def brief(self, names: list[str]) -> str:
        return f"{name_of(self.origin, names)} {self.height}"


class Searched(Entry, frozen=True):
    """A stream for which the sender looks for a coordinator."""

    group: Claimed
    origin: Claimed

    def brief(self, names: list[str]) -> str:
        return name_of(self.origin, names)


class Pointer(Entry, frozen=True):
    """COORD(sender) for a stream; the sender itself if it has none."""

    group: Claimed
    origin: Claimed
    coordinator: Claimed

    def brief(self, names: list[str]) -> str:
        return f"{name_of(self.origin, names)} {name_of(self.coordinator, names)}"


class Holding(Entry, frozen=True):
    """The paper's M_j = <h_j, g_j>: what a host has of a stream, written as ranges."""

    group: Claimed
    origin: Claimed
    site: Claimed
    needs: bool  # whether it misses messages or does not hear the source; without need it leaves the tree
    have: Ranges

    def brief(self, names: list[str]) -> str:
        need = "needs" if self.needs else "done"
        return f"{name_of(self.origin, names)} {name_of(self.site, names)} {need} {_ranges(self.have)}"


class Wanted(Entry, frozen=True):
    """Messages of a stream that the sender lacks and the receiver has."""

    group: Claimed
    origin: Claimed
    numbers: Ranges

    def brief(self, names: list[str]) -> str:
        return f"{name_of(self.origin, names)} {_ranges(self.numbers)}"


class Prefix(Entry, frozen=True):
    """The sender has all messages of the receiver to this group below a number, on stable storage."""

    group: Claimed
    below: Claimed

    def brief(self, names: list[str]) -> str:
        return f"{self.below}"


def _ranges(flat: tuple[int, ...]) -> str:
    """`0-2,5` for the numbers 0, 1, 2 and 5."""
    parts: list[str] = []
    reached = 0
    for place in range(0, len(flat) - 1, 2):
        start = reached + flat[place]
        reached = start + flat[place + 1]
        parts.append(f"{start}-{reached - 1}" if reached > start + 1 else f"{start}")
    return ",".join(parts) or "none"


class Control(Message, frozen=True):
    """A message that is a list of entries."""

    def brief(self, names: list[str]) -> str:
        entries = getattr(self, "entries", ())
        return f"{type(self).__name__}({'; '.join(entry.brief(names) for entry in entries)})"


class Data(Message, frozen=True):
    """A broadcast: from its origin to all, or again from whoever has it to those who miss it."""

    kind: ClassVar[str] = "data"
    group: Claimed
    origin: Claimed
    number: Claimed  # in its stream, without gaps; what detects a loss
    seqno: Claimed  # the origin's number for it over all groups; what the application sees
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({name_of(self.origin, names)}:{self.number})"


class Null(Control, frozen=True):
    """The source has been silent for delta: it is there, and so far its streams are."""

    kind: ClassVar[str] = "null"
    entries: Annotated[tuple[Progress, ...], Meta(max_length=ENTRIES_MAX)]


class Tidings(Control, frozen=True):
    """From a coordinator without connection to the source, to those not in its tree: such a stream exists."""

    kind: ClassVar[str] = "tidings"
    entries: Annotated[tuple[Told, ...], Meta(max_length=ENTRIES_MAX)]


class Probe(Control, frozen=True):
    """Who is your coordinator? The sender looks for one."""

    kind: ClassVar[str] = "probe"
    entries: Annotated[tuple[Searched, ...], Meta(max_length=ENTRIES_MAX)]
    stamp: Number  # the prober's clock, sent back as it is; 0 when it does not measure


class CoordinatorIs(Control, frozen=True):
    """The paper's "coordinator is x"."""

    kind: ClassVar[str] = "answer"
    entries: Annotated[tuple[Pointer, ...], Meta(max_length=ENTRIES_MAX)]
    stamp: Number


class Desc(Control, frozen=True):
    """The paper's DESC: what the sender and the hosts below it have."""

    kind: ClassVar[str] = "desc"
    entries: Annotated[tuple[Holding, ...], Meta(max_length=ENTRIES_MAX)]
    hops: Number  # how often it was passed on; never more than there are sites, whatever the lists


class IAmCoordinator(Control, frozen=True):
    """The paper's "I AM COORDINATOR", to every descendant."""

    kind: ClassVar[str] = "coordinator"
    entries: Annotated[tuple[Told, ...], Meta(max_length=ENTRIES_MAX)]


class Request(Control, frozen=True):
    """Upward redelivery: the receiver has these messages, the sender and its tree want them."""

    kind: ClassVar[str] = "request"
    entries: Annotated[tuple[Wanted, ...], Meta(max_length=ENTRIES_MAX)]


class Have(Control, frozen=True):
    """To a source, now and then: what the sender has of its streams. The source learns what is stable."""

    kind: ClassVar[str] = "ack"
    entries: Annotated[tuple[Prefix, ...], Meta(max_length=ENTRIES_MAX)]


class Ping(Message, frozen=True):
    """Measures the round trip to a host of the sender's lists."""

    kind: ClassVar[str] = "ping"
    stamp: Claimed


class Pong(Message, frozen=True):
    kind: ClassVar[str] = "pong"
    stamp: Claimed


class KnownStream(Entry, frozen=True):
    """What somebody knows of a stream whose source has begun anew."""

    group: Claimed
    height: Claimed
    kept: Ranges  # numbers that it can send

    def brief(self, names: list[str]) -> str:
        return f"{self.height}, keeps {_ranges(self.kept)}"


class Anew(Message, frozen=True):
    """The sender has begun anew: what is known of its streams?"""

    kind: ClassVar[str] = "request"


class Known(Control, frozen=True):
    """The answer to an `Anew`."""

    kind: ClassVar[str] = "answer"
    entries: Annotated[tuple[KnownStream, ...], Meta(max_length=ENTRIES_MAX)]


Direct = (
    Data | Null | Tidings | Probe | CoordinatorIs | Desc | IAmCoordinator | Request | Have | Ping | Pong | Anew | Known
)


class Relay(Message, frozen=True):
    """A message that is passed on, because there is no direct way."""

    kind: ClassVar[str] = "relay"
    path: Annotated[tuple[Claimed, ...], Meta(max_length=SITES_MAX)]  # from its sender to its receiver
    place: Claimed  # of the receiver of this copy in the path
    incarnation: Claimed  # of its sender
    message: Direct

    def carries(self) -> tuple[tuple[int, int], ...]:
        return self.message.carries()

    def payloads(self) -> tuple[bytes, ...]:
        return self.message.payloads()

    def brief(self, names: list[str]) -> str:
        return f"Relay({' '.join(name_of(site, names) for site in self.path)}: {self.message.brief(names)})"


class Held(Record, frozen=True):
    """A message that is kept and not delivered here: FIFO waits for an earlier one, or it is not for this site."""

    group: Number
    origin: Number
    number: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Held({name_of(self.origin, names)}:{self.number})"


class Delivered(Record, frozen=True):
    """A message that was delivered in this step; its payload is in the delivery log."""

    group: Number
    origin: Number
    number: Number
    seqno: Number

    def brief(self, names: list[str]) -> str:
        return f"Delivered({name_of(self.origin, names)}:{self.number})"


class Missed(Record, frozen=True):
    """Messages that nobody has any more; the application was told in this step."""

    group: Number
    origin: Number
    first: Number
    count: Number


class StreamSummary(Record, frozen=True):
    """A checkpoint of one stream."""

    group: Number
    origin: Number
    received: tuple[Number, ...]  # ranges, missed ones among them
    stable: Number
    floor: Number  # messages below are no longer kept here


class Summary(Record, frozen=True):
    """A checkpoint: the next own number, and by group the first log position that is still needed."""

    next_seqno: Number
    needed_from: tuple[Number, ...]
