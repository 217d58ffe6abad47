"""What `propagation_graph` sends: messages on their way down the trees, and changes of groups.

Three kinds of numbers, kept apart by name: `number` on an edge (per sender and receiver, from 0 in each graph), `rank`
in a group (given by its primary destination, from 0 in each graph) and `place` at the source (per source and group,
for ever). `seqno` is the origin's number of the message, as the application knows it.

What is sent when a graph is decided without a failed site: recovery_messages.py. What is kept: record_messages.py.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.message import Message

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group, a sequence number or a count
Pair = tuple[Number, Number]
Numbers = tuple[Number, ...]


class Decision(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What defines a graph: everybody computes the same forest from it."""

    number: Number  # of the graph
    groups: tuple[Numbers, ...]  # by group: sorted members; none: the group does not exist
    applied: tuple[Pair, ...]  # by asker: how many of its changes are in; sorted
    away: Numbers = ()  # sites left out because they failed; sorted
    finals: Numbers = ()  # by group: how many messages of the graph before count; what somebody has beyond is undone
    places: tuple[tuple[Number, Number, Number], ...] = ()  # (group, source, next place) where somebody is new or back


def message_text(names: list[str], origin: int, seqno: int) -> str:
    return f"{names[origin] if origin < len(names) else origin}:{seqno}"


class Submit(Message, frozen=True):
    """From a source to the primary destination of the group."""

    kind: ClassVar[str] = "data"
    graph: Number
    group: Number
    origin: Number
    seqno: Number
    place: Number
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Submit({message_text(names, self.origin, self.seqno)} graph {self.graph})"


class Pass(Message, frozen=True):
    """From a site to children of its: one message for all of them, so that a network may multicast it."""

    kind: ClassVar[str] = "data"
    graph: Number
    edges: tuple[Pair, ...]  # (child, the message's number on the edge to it)
    group: Number
    origin: Number
    seqno: Number
    place: Number
    rank: Number
    key: Numbers  # its place in the one order of the graph, see passing.py
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        numbers = " ".join(f"{names[child] if child < len(names) else child}/{number}" for child, number in self.edges)
        return f"Pass({message_text(names, self.origin, self.seqno)} graph {self.graph} to {numbers})"


class Close(Message, frozen=True):
    """The last message of a graph on an edge: no more of this graph; what the next one is."""

    kind: ClassVar[str] = "close"
    graph: Number
    number: Number
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Close({self.graph} at {self.number})"


class Null(Message, frozen=True):
    """So many messages have gone over this edge; the receiver answers with Ack. Also a sign of life."""

    kind: ClassVar[str] = "null"
    graph: Number
    stream: Number  # 0: the edge to a child; group + 1: a source's messages to the group
    end: Number  # messages so far
    stable: Number  # everybody who should has those below

    def brief(self, names: list[str]) -> str:
        return f"Null({_where(self.graph, self.stream)} end {self.end} stable {self.stable})"


class Ack(Message, frozen=True):
    """What the receiver of an edge, or a primary destination, has."""

    kind: ClassVar[str] = "ack"
    graph: Number
    stream: Number  # as in Null
    end: Number  # it has all below, in order, on stable storage
    settled: Number  # and so have all below it in the tree; of a source's stream: all members, or they will
    stable: Number  # what Null said
    missing: Numbers  # wire form of a range set: gaps above `end`

    def brief(self, names: list[str]) -> str:
        gaps = f" missing {list(self.missing)}" if self.missing else ""
        return f"Ack({_where(self.graph, self.stream)} end {self.end} settled {self.settled}{gaps})"


def _where(graph: int, stream: int) -> str:
    return f"graph {graph}" if stream == 0 else f"graph {graph} group {stream - 1}"


class Change(Message, frozen=True):
    """To the manager: the asker's change number `number` of a group."""

    kind: ClassVar[str] = "change"
    number: Number
    group: Number
    members: Numbers


class Plan(Message, frozen=True):
    """From the manager to a root, or to a site in no group: close the graph before this one and open it."""

    kind: ClassVar[str] = "plan"
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Plan({self.decision.number} groups {list(self.decision.groups)})"


class Heard(Message, frozen=True):
    """To the manager: the graph is open here."""

    kind: ClassVar[str] = "heard"
    number: Number


class Ask(Message, frozen=True):
    """From a new member that has become primary destination: how far has each source got?"""

    kind: ClassVar[str] = "ask"
    graph: Number  # the asker's
    group: Number


class Places(Message, frozen=True):
    """The answer: by source, the next place in the group."""

    kind: ClassVar[str] = "places"
    graph: Number
    group: Number
    places: tuple[Pair, ...]
