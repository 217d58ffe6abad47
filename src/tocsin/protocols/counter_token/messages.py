"""What `counter_token` sends and keeps."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.data import Claimed, Data, Number, name_of
from tocsin.core.message import Message

ViewNumber = Annotated[int, Meta(ge=-1, lt=1 << 60)]  # the ballot that it was decided in; -1: none yet
Ranges = tuple[Number, ...]  # the wire form of a RangeSet
Sites = tuple[Number, ...]
Voters = tuple[tuple[Number, Number], ...]  # sites, each with the incarnation whose vote counts


class StateEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An element of the system state (Figures 1 and 9); the group stands for the IDs field."""

    sender: Number
    cycle: Number  # of the sender's turn that announced it; 0: taken over from an earlier view
    run: Number  # a turn announces one entry for each run of messages to one group; or its number in `View.carried`
    group: Number
    counter: Number  # how many have counted, besides the sender: first all destinations, then the other members
    ranges: Ranges

    def text(self, names: list[str]) -> str:
        inside: list[str] = []
        reached = 0
        for place in range(0, len(self.ranges) - 1, 2):
            first = reached + self.ranges[place]
            reached = first + self.ranges[place + 1]
            inside.append(str(first) if reached == first + 1 else f"{first}..{reached - 1}")
        return f"{name_of(self.sender, names)}[{','.join(inside)}] cycle {self.cycle} counter {self.counter}"


class Token(Message, frozen=True):
    """T(c, n, t, S): the turn of `position` in `cycle` of this view, the system state, and the flow control."""

    kind: ClassVar[str] = "token"
    view: Claimed
    cycle: Claimed
    position: Claimed
    state: tuple[StateEntry, ...]
    local: tuple[tuple[Claimed, Claimed], ...]  # (site, localC): sites whose buffers are nearly full
    overload: Claimed  # globalC; 0: the global flag is not set
    window: Claimed  # bytes the group may have outstanding; 0: without limit
    used: Claimed  # of the shared half of the window
    shrunk: Claimed  # cycle in which the window last shrank
    changed: Claimed  # turn (cycle * n + position) that last changed the state
    low: Claimed  # 1 + the last place that all owners since the head of the list have delivered
    stable: Claimed  # the same for the last whole round
    deaf: tuple[tuple[Claimed, Claimed], ...]  # (listener, speaker): links over which nothing comes

    def brief(self, names: list[str]) -> str:
        state = "; ".join(entry.text(names) for entry in self.state)
        flags = "".join(f" full {name_of(site, names)}" for site, _ in self.local) + (
            " overload" if self.overload else ""
        )
        return f"Token(view {self.view} cycle {self.cycle} position {self.position}: {state or 'idle'}{flags})"


class Holding(Message, frozen=True):
    """The token of this turn has arrived: no need to send it again."""

    kind: ClassVar[str] = "ack"
    view: Claimed
    cycle: Claimed
    position: Claimed


class Hurry(Message, frozen=True):
    """There is something to send: pass the token at once."""

    kind: ClassVar[str] = "hurry"
    view: Claimed
    turn: Claimed  # the newest turn that the sender knows of


class Request(Message, frozen=True):
    """Req(j, i, p, k, n): the source lacks these messages of `origin`; it has asked `attempt` times before."""

    kind: ClassVar[str] = "request"
    view: Claimed
    origin: Claimed
    attempt: Claimed
    ranges: Ranges


# Views


class Item(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry that a member knows and that is not ordered, as far as it knows."""

    place: Number
    group: Number
    sender: Number
    counted: bool
    ranges: Ranges


class Carried(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry that a view takes over, in its place: somebody may have delivered it."""

    place: Number
    group: Number
    sender: Number
    ranges: Ranges


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a view ended: which of its entries keep their places. Who was away finds there what became of its own."""

    view: Number
    members: Sites
    start: Number  # all entries below this place …
    kept: tuple[Number, ...]  # … and those at these places


class Seat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A site by name, and where it is. Its number is never another's."""

    site: Number
    name: Annotated[str, Meta(max_length=64)]
    address: Annotated[str, Meta(max_length=256)]
    votes: bool  # it is a voter, or will be when it is a member and has everything


class View(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who takes part, from which place on, and who decides about the next view: the value of a ballot."""

    ballot: Number
    members: Sites  # the token-passing-list
    incarnations: tuple[Number, ...]  # of the members, in the same order: another is not meant
    voters: Voters
    before: Voters  # the voters until this view; a majority of both decides on it, and on what follows it
    removed: Sites  # former voters: they do not come back
    absent: Sites  # former members: the log is kept for them
    start: Number  # everything at a smaller place is ordered
    base: Number  # the first place that an entry of this view can have
    positions: tuple[Number, ...]  # by group, at `start`
    frontier: tuple[tuple[Number, ...], ...]  # by group and origin: the first number not ordered, at `start`
    carried: tuple[Carried, ...]  # by place: `start` <= place < `base`
    marks: tuple[Mark, ...]  # of earlier views, by number
    floors: tuple[tuple[Number, Number], ...]  # by member: it announces none of its messages with a smaller number
    seats: tuple[Seat, ...] = ()  # by number: whom the group knows by name; empty where numbers are all there is


class Prepare(Message, frozen=True):
    """The coordinator of a change asks for a promise and a report."""

    kind: ClassVar[str] = "view"
    ballot: Claimed
    attempt: Claimed  # the coordinator's changes without success: the more, the longer it waits

    def brief(self, names: list[str]) -> str:
        return f"Prepare({self.ballot})"


class Promise(Message, frozen=True):
    """The source votes in no smaller ballot and takes no more part in its view; this is what it knows."""

    kind: ClassVar[str] = "view"
    ballot: Claimed
    incarnation: Claimed
    in_doubt: bool  # the end of its log may be missing: it has no vote
    accepted: View | None  # the last that it voted for
    installed: ViewNumber  # the last that it was a member of: `items` are of that view
    ordered: Claimed  # everything at a smaller place is ordered
    positions: tuple[Claimed, ...]  # by group, at `ordered`
    frontier: tuple[tuple[Claimed, ...], ...]  # by group and origin, at `ordered`
    items: tuple[Item, ...]  # from there on
    lagging: bool  # it has not yet fetched everything from before the view
    floor: Claimed  # it announces none of its own messages with a smaller number

    def brief(self, names: list[str]) -> str:
        items = " ".join(f"{name_of(i.sender, names)}@{i.place}{'' if i.counted else '?'}" for i in self.items)
        accepted = "nothing" if self.accepted is None else f"view {self.accepted.ballot}"
        return f"Promise({self.ballot}: {accepted}, ordered {self.ordered}, {items or 'no entries'})"


class Refuse(Message, frozen=True):
    """The source has promised a larger ballot, or is in a view that goes on without the one who asks."""

    kind: ClassVar[str] = "view"
    ballot: Claimed
    promised: Claimed


class Accept(Message, frozen=True):
    kind: ClassVar[str] = "view"
    view: View

    def brief(self, names: list[str]) -> str:
        return f"Accept({view_text(self.view, names)})"


class Accepted(Message, frozen=True):
    kind: ClassVar[str] = "view"
    ballot: Claimed
    incarnation: Claimed


class Decided(Message, frozen=True):
    kind: ClassVar[str] = "view"
    view: View

    def brief(self, names: list[str]) -> str:
        return f"Decided({view_text(self.view, names)})"


class Join(Message, frozen=True):
    """A site that is in no view, or whose vote does not count, asks everybody to be let in."""

    kind: ClassVar[str] = "join"
    view: ViewNumber  # the last that it was a member of
    heard: ViewNumber  # the view that invited it
    attempt: Claimed
    incarnation: Claimed
    promised: Claimed  # a smaller ballot would be refused
    ready: bool  # it is a member, has everything, and waits for its vote


class Invite(Message, frozen=True):
    """The answer: this is the view, and so far are its groups."""

    kind: ClassVar[str] = "join"
    view: View
    positions: tuple[Claimed, ...]

    def brief(self, names: list[str]) -> str:
        return f"Invite({view_text(self.view, names)}, positions {list(self.positions)})"


class Bye(Message, frozen=True):
    """The source stops: go on without it. It stays a voter."""

    kind: ClassVar[str] = "join"
    view: ViewNumber


class Removed(Message, frozen=True):
    """The source of a Join is no voter any more, and is not let in."""

    kind: ClassVar[str] = "join"
    view: Claimed
    members: Sites


class Fetch(Message, frozen=True):
    """A site that lacks deliveries asks a member's log for more."""

    kind: ClassVar[str] = "request"
    group: Claimed
    position: Claimed


class Transfer(Message, frozen=True):
    """Deliveries from a log, from position `first` on; none when the log does not reach there."""

    kind: ClassVar[str] = "data"
    group: Claimed
    first: Claimed
    log_first: Claimed  # the oldest position that the log still has
    entries: tuple[tuple[Claimed, Claimed, bytes], ...]  # origin, seqno, payload
    runs: tuple[tuple[Claimed, Claimed, Claimed], ...]  # how many of them, in which view, at which place
    views: tuple[tuple[Claimed, Sites], ...]  # the members of those views

    def carries(self) -> tuple[tuple[int, int], ...]:
        return tuple([(origin, seqno) for origin, seqno, _ in self.entries])

    def payloads(self) -> tuple[bytes, ...]:
        return tuple([payload for _, _, payload in self.entries])

    def brief(self, names: list[str]) -> str:
        inside = " ".join(f"{name_of(origin, names)}:{seqno}" for origin, seqno, _ in self.entries)
        return f"Transfer({self.group} from {self.first}: {inside or 'none'})"


def view_text(view: View, names: list[str]) -> str:
    """A view in a transcript."""
    carried = "".join(f" {name_of(entry.sender, names)}@{entry.place}" for entry in view.carried)
    members = " ".join(name_of(site, names) for site in view.members)
    after = f" after {view.marks[-1].view}" if view.marks else ""
    return f"view {view.ballot}{after}: {members}, from {view.start}{' with' + carried if carried else ''}"


class Relayed(Message, frozen=True):
    """A message on its way round a dead link: along `path`, or, with none, by everybody to everybody."""

    kind: ClassVar[str] = "relay"
    source: Claimed
    targets: Sites
    number: Claimed  # tells a message from its copies
    path: Sites  # the sites still to pass, the target last
    inner: (
        Token
        | Holding
        | Hurry
        | Request
        | Prepare
        | Promise
        | Refuse
        | Accept
        | Accepted
        | Decided
        | Join
        | Invite
        | Bye
        | Fetch
    )

    def brief(self, names: list[str]) -> str:
        targets = " ".join(name_of(site, names) for site in self.targets)
        return f"Relayed({name_of(self.source, names)} to {targets}: {self.inner.brief(names)})"


class RelayedData(Message, frozen=True):
    """The same with messages of applications."""

    kind: ClassVar[str] = "data"
    source: Claimed
    targets: Sites
    number: Claimed
    path: Sites
    inner: Data | Transfer

    def carries(self) -> tuple[tuple[int, int], ...]:
        return self.inner.carries()

    def payloads(self) -> tuple[bytes, ...]:
        return self.inner.payloads()

    def brief(self, names: list[str]) -> str:
        targets = " ".join(name_of(site, names) for site in self.targets)
        return f"RelayedData({name_of(self.source, names)} to {targets}: {self.inner.brief(names)})"
