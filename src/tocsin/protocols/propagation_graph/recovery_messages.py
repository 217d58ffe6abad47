"""What `propagation_graph` sends in the non-atomic way: deciding on a graph without a failed site, and its return."""

from typing import ClassVar

import msgspec

from tocsin.core.message import Message
from tocsin.protocols.propagation_graph.messages import Decision, Number, Numbers, message_text


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
    away = " ".join(names[site] if site < len(names) else str(site) for site in decision.away)
    return f"finals {list(decision.finals)} away [{away}]"


class Hello(Message, frozen=True):
    """The sender is in this graph and may have missed later ones, or was left out and is back."""

    kind: ClassVar[str] = "hello"
    number: Number


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
