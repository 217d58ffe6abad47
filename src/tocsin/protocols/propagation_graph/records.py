"""What `propagation_graph` keeps on stable storage: what happened, and the checkpoints it is folded into."""

from typing import ClassVar

from tocsin.core.data import Number
from tocsin.core.message import Record
from tocsin.protocols.propagation_graph.messages import Decision, Numbers, Pair, message_text


class Sent(Record, frozen=True):
    """This site has broadcast; the number is taken and the payload can be sent again."""

    group: Number
    seqno: Number
    place: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Sent({self.seqno})"


class Passed(Record, frozen=True):
    """This site has taken the message in its order, and delivered it if it is a member."""

    graph: Number
    inward: bool  # from the parent; otherwise this site is the group's primary destination
    group: Number
    origin: Number
    seqno: Number
    place: Number
    rank: Number
    key: Numbers
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Passed({message_text(names, self.origin, self.seqno)})"


class Opened(Record, frozen=True):
    """The graph before is closed here, this one open."""

    always_synced: ClassVar[bool] = True

    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Opened({self.decision.number})"


class Promised(Record, frozen=True):
    """This site has stopped and will not vote below this ballot for the next graph."""

    always_synced: ClassVar[bool] = True

    number: Number
    ballot: Number


class Voted(Record, frozen=True):
    """This site has voted for a graph."""

    always_synced: ClassVar[bool] = True

    ballot: Number
    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Voted({self.decision.number} ballot {self.ballot})"


class Learned(Record, frozen=True):
    """The next graph is decided; what does not count of the present one is undone here."""

    always_synced: ClassVar[bool] = True

    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Learned({self.decision.number})"


class Decide(Record, frozen=True):
    """A checkpoint of a graph that a site which is away has to hear of."""

    decision: Decision


class Kept(Record, frozen=True):
    """A checkpoint of a message that a site which is away may need."""

    entry: Passed


class Lacking(Record, frozen=True):
    """This site closed a graph without some messages that count, and will never have them; the application knows."""

    graph: Number


class Forgotten(Record, frozen=True):
    """A checkpoint of how far messages that a site which is away may need are gone."""

    oldest: Number  # messages of graphs before this one are
    floors: tuple[Pair, ...]  # (group, rank): so are those of this graph below the rank


class Asked(Record, frozen=True):
    """A change that was asked for here and is not yet in a graph."""

    number: Number
    group: Number
    members: Numbers


class Planned(Record, frozen=True):
    """A graph is decided, and it is the newest that this site knows of."""

    always_synced: ClassVar[bool] = True

    decision: Decision

    def brief(self, names: list[str]) -> str:
        return f"Planned({self.decision.number})"


class Begun(Record, frozen=True):
    """This site has begun anew, in this graph."""

    always_synced: ClassVar[bool] = True

    decision: Decision
    places: tuple[tuple[Number, Number, Number], ...]  # (group, source, next place)

    def brief(self, names: list[str]) -> str:
        return f"Begun({self.decision.number})"


class Abstains(Record, frozen=True):
    """This site has begun anew, and may have voted before about graphs below this number."""

    always_synced: ClassVar[bool] = True

    number: Number
    lost: Numbers  # groups of which nobody knows anything any more


class Counted(Record, frozen=True):
    """The next places of the sources of a group, from the primary destination before."""

    group: Number
    places: tuple[Pair, ...]


class Known(Record, frozen=True):
    """A checkpoint of a source's messages to a group: the next place, and those that the source may forget."""

    group: Number
    source: Number
    place: Number
    final: Number


class Settled(Record, frozen=True):
    """A checkpoint of a source: places given in a group, and those that need not be sent again."""

    group: Number
    end: Number
    settled: Number


class Staged(Record, frozen=True):
    """A checkpoint of one graph at this site; the messages it keeps follow."""

    decision: Decision
    ranks: tuple[Pair, ...]  # (group, next rank)
    own: Number  # messages ordered here
    last_key: Numbers  # of the last message from the parent
    inward: Number  # messages from the parent that are not kept any more
    floors: tuple[Pair, ...]  # (child, messages on the edge to it that are not kept any more)


class Closed(Record, frozen=True):
    """A checkpoint of a graph that is closed here; it follows the messages that the graph keeps."""

    graph: Number
    decision: Decision  # the graph that followed
    is_kept: bool  # somebody may lack the Close


class Summary(Record, frozen=True):
    """A checkpoint of the counters; `Known`, `Settled`, `Staged` and what they keep follow."""

    next_seqno: Number
    asked: Number  # changes asked for here so far
    uncounted: tuple[Pair, ...]  # (group, graph in which this site joined it) whose places it does not know
