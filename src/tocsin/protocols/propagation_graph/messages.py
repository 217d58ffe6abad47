"""What `propagation_graph` sends.

Three kinds of numbers, kept apart by name: `number` on an edge (per sender and receiver, from 0 in each graph), `rank`
in a group (given by its primary destination, from 0 in each graph) and `place` at the source (per source and group,
for ever). `seqno` is the origin's number of the message, as the application knows it.

The messages come in the order of the paper: passing messages down the trees (section 3.2), changes of groups (section
5.1, atomic), and deciding on a graph without a failed site, and its return (section 5.2.1, non-atomic).
"""

from typing import ClassVar

import msgspec

from tocsin.core.data import Number
from tocsin.core.message import Message

Pair = tuple[Number, Number]
Numbers = tuple[Number, ...]


class Older(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Of a graph before the newest, what a site needs that has not opened it yet; the fields as in `Decision`."""

    number: Number
    groups: tuple[Numbers, ...]
    since: Numbers
    knowing: tuple[Pair, ...]
    concerned: Numbers
    anew: tuple[Pair, ...] = ()


class Decision(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What defines a graph: everybody computes the same forest from it."""

    number: Number  # of the graph
    groups: tuple[Numbers, ...]  # by group: sorted members; none: the group does not exist
    applied: tuple[Pair, ...]  # by asker: how many of its changes are in; sorted
    away: Numbers = ()  # sites left out because they failed; sorted
    finals: Numbers = ()  # by group: how many messages of the graph before count; what somebody has beyond is undone
    places: tuple[tuple[Number, Number, Number], ...] = ()  # (group, source, next place) where somebody is new or back
    dead: tuple[Pair, ...] = ()  # (group, graph): nobody is there who knows the end of the group in that graph; sorted
    ends: tuple[tuple[Number, Number, Number], ...] = ()  # (group, graph, messages that count): somebody is back
    # Atomic (successor.py):
    by: Number = 0  # the manager that proposed it
    since: Numbers = ()  # by group: the number of the graph that its tree is unchanged since
    knowing: tuple[Pair, ...] = ()  # by group: (who knows its places at the end of the tree before + 1, or 0; that end)
    concerned: Numbers = ()  # who hears of it from nobody: roots of the trees that it ends, and who gets a first group
    pending: tuple[Older, ...] = ()  # graphs that some site which they concern may not have opened; by number
    # Both:
    anew: tuple[Pair, ...] = ()  # (site, incarnation) of sites that have begun anew, with this graph or before; sorted


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
    floor: Number = 0  # the first place of the source's incarnation: it sends none below any more

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Submit({message_text(names, self.origin, self.seqno)} graph {self.graph})"


class Pass(Message, frozen=True):
    """From a site to children of its: one message for all of them, so that a network may multicast it."""

    kind: ClassVar[str] = "data"
    graph: Number
    edges: tuple[tuple[Number, Number, Number], ...]  # (child, the message's number on the edge to it, stable there)
    group: Number
    origin: Number
    seqno: Number
    place: Number
    rank: Number
    key: Numbers  # its place in the one order of the graph, see order.py
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        numbers = " ".join(
            f"{names[child] if child < len(names) else child}/{number}" for child, number, _ in self.edges
        )
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


class Heard(Message, frozen=True):
    """To the manager: the sender knows of this graph, and has opened that one."""

    kind: ClassVar[str] = "heard"
    number: Number
    opened: Number


class Ask(Message, frozen=True):
    """From a new member that has become primary destination: how far has each source got?"""

    kind: ClassVar[str] = "ask"
    graph: Number  # the asker's
    group: Number
    ended: Number  # with this graph the tree ended in which the receiver was primary destination


class Places(Message, frozen=True):
    """The answer: by source, the next place in the group."""

    kind: ClassVar[str] = "places"
    graph: Number
    group: Number
    places: tuple[Pair, ...]


# Deciding on the next graph; Install and Ready, and what is reported of messages, in non-atomic mode only


class Prepare(Message, frozen=True):
    """From a manager: stop, and report; the first phase of deciding on the graph with this number."""

    kind: ClassVar[str] = "prepare"
    number: Number
    ballot: Number
    joined: Numbers  # groups in which somebody may be new or back: whoever knows reports their sources' places


class Report(Message, frozen=True):
    """The sender has stopped: what it has of the present graph, and what it has voted for."""

    kind: ClassVar[str] = "report"
    number: Number
    ballot: Number
    voted_ballot: Number  # 0: it has not voted
    voted: tuple[Decision, ...]
    ranks: Numbers  # by group: how many messages of it are here
    places: tuple[tuple[Number, Number, Number], ...]  # (group, source, next place)
    is_behind: bool = False  # the sender only votes: it cannot open the graph yet
    is_new: bool = False  # the sender does not vote: it has begun anew, and may have forgotten what it voted for

    def brief(self, names: list[str]) -> str:
        return f"Report({self.number} ballot {self.ballot} ranks {list(self.ranks)})"


class Install(Message, frozen=True):
    """From a manager: this is to be the next graph; get what you lack of the present one."""

    kind: ClassVar[str] = "install"
    ballot: Number
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Install({self.decision.number} ballot {self.ballot} {_graph(names, self.decision)})"


class Ready(Message, frozen=True):
    """The sender has all messages of the present graph that count."""

    kind: ClassVar[str] = "ready"
    number: Number
    ballot: Number


class Accept(Message, frozen=True):
    """From a manager: vote for this graph; the second phase."""

    kind: ClassVar[str] = "accept"
    ballot: Number
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Accept({self.decision.number} ballot {self.ballot} {_graph(names, self.decision)})"


class Accepted(Message, frozen=True):
    """The sender has voted."""

    kind: ClassVar[str] = "accepted"
    number: Number
    ballot: Number


class Decided(Message, frozen=True):
    """A majority has voted for this graph."""

    kind: ClassVar[str] = "decided"
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Decided({self.decision.number} {_graph(names, self.decision)})"


def _graph(names: list[str], decision: Decision) -> str:
    if decision.since:
        return f"groups {[list(members) for members in decision.groups]}"
    away = " ".join(names[site] if site < len(names) else str(site) for site in decision.away)
    return f"finals {list(decision.finals)} away [{away}]"


class Hello(Message, frozen=True):
    """The sender is in this graph and may have missed later ones, or was left out and is back."""

    kind: ClassVar[str] = "hello"
    number: Number
    known: Number = 0  # who waits for the end of a group: the last graph that it knows of
    ranks: tuple[Pair, ...] = ()  # (group, messages of this graph) of dead groups whose members the sender was of
    places: tuple[tuple[Number, Number, Number], ...] = ()  # (group, source, next place) of those

    def brief(self, names: list[str]) -> str:
        return f"Hello({self.number} ranks {list(self.ranks)})" if self.ranks else f"Hello({self.number})"


class Anew(Message, frozen=True):
    """The sender's disk was lost: it knows nothing, and begins anew."""

    kind: ClassVar[str] = "request"
    incarnation: Number


class Told(Message, frozen=True):
    """The answer to Anew: what the sender knows."""

    kind: ClassVar[str] = "control"
    incarnation: Number  # of the receiver
    knows: bool  # the sender does not begin anew itself; otherwise the rest means nothing
    instance: Number  # the number of the graph that it votes about
    opened: Number  # the graph that it is in
    decision: Decision  # the newest that it knows of
    ends: tuple[Pair, ...]  # (group, messages before the receiver's graph) of its groups, if it is in that or beyond
    places: tuple[tuple[Number, Number, Number], ...]  # (group, source, next place) of those; of itself in any group
    sent: tuple[tuple[Number, Number, Number], ...]  # (group, first number, messages) of its own that everybody had


class Wish(Message, frozen=True):
    """To the manager: sites that do not answer."""

    kind: ClassVar[str] = "wish"
    number: Number  # of the sender's graph
    suspects: Numbers


class Fetch(Message, frozen=True):
    """The sender lacks messages of a closed graph, from this rank of the group on."""

    kind: ClassVar[str] = "fetch"
    graph: Number
    group: Number
    rank: Number


class Gone(Message, frozen=True):
    """The answer to Fetch where the sender keeps the group's messages of that graph below this rank no more."""

    kind: ClassVar[str] = "gone"
    graph: Number
    group: Number
    rank: Number


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message of a closed graph."""

    origin: Number
    seqno: Number
    place: Number
    key: Numbers
    payload: bytes


class Supply(Message, frozen=True):
    """Messages of a closed graph, from this rank of the group on."""

    kind: ClassVar[str] = "data"
    graph: Number
    group: Number
    rank: Number
    entries: tuple[Entry, ...]

    def carries(self) -> tuple[tuple[int, int], ...]:
        return tuple([(entry.origin, entry.seqno) for entry in self.entries])

    def payloads(self) -> tuple[bytes, ...]:
        return tuple([entry.payload for entry in self.entries])

    def brief(self, names: list[str]) -> str:
        what = " ".join(message_text(names, entry.origin, entry.seqno) for entry in self.entries)
        return f"Supply(graph {self.graph} group {self.group} from {self.rank}: {what})"
