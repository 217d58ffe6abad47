"""What `counter_token` sends and keeps."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.data import Claimed, Number, name_of
from tocsin.core.message import Message, Record

ViewNumber = Annotated[int, Meta(ge=-1, lt=1 << 62)]  # -1: none yet
Order = Annotated[int, Meta(ge=-(1 << 62), lt=1 << 62)]  # place inside a view; below 0: carried over from the last one
Ranges = tuple[Number, ...]  # the wire form of a RangeSet
Sites = tuple[Number, ...]


class StateEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An element of the system state (Figures 1 and 9); the group stands for the IDs field."""

    sender: Number
    cycle: Number  # of the sender's turn that announced it
    run: Number  # a turn announces one entry for each run of messages to one group
    group: Number
    counter: Number  # how many other destinations have counted
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
    """Req(j, i, p, k, n): the source lacks these messages of `origin`; `number` tells a repetition from a copy."""

    kind: ClassVar[str] = "request"
    view: Claimed
    origin: Claimed
    number: Claimed
    ranges: Ranges


# Changing the view


class Item(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry that a destination knows and has not committed."""

    place: Number
    group: Number
    sender: Number
    count: Number  # messages
    following: Number  # the number after its last message
    counted: bool


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a member of a view brings to the next one. Positions and frontier are right for its own groups."""

    last_view: ViewNumber
    full: Number  # 1 + the place up to which everything is committed
    positions: tuple[Number, ...]  # by group, at `full`
    frontier: tuple[tuple[Number, ...], ...]  # by group and origin: the first number not committed, at `full`
    items: tuple[Item, ...]
    leaving: bool
    lagging: bool  # it has not yet fetched everything from before the view


class Proposal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A view and where it starts: what consensus among the members of the view before decides."""

    view: Number
    members: Sites  # the token-passing-list
    absent: Sites  # former members that did not leave: the log is kept for them
    full_limit: Number  # 1 + place in the old view: up to here all its members have it, delivered before the view
    keep_limit: (
        Number  # 1 + place in the old view: up to here somebody may have delivered it; delivered first in this view
    )
    positions: tuple[Number, ...]  # by group
    frontier: tuple[tuple[Number, ...], ...]  # by group and origin


class Prepare(Message, frozen=True):
    """The coordinator of a change asks the members of `view` to stop, and them and the invited to report."""

    kind: ClassVar[str] = "view"
    view: Claimed
    number: Claimed
    invited: Sites


class Promise(Message, frozen=True):
    """The source takes no more part in the view, nor in lower ballots."""

    kind: ClassVar[str] = "view"
    view: Claimed
    number: Claimed
    report: Report
    accepted_number: Claimed
    accepted_site: Claimed
    accepted: Proposal | None


class Refuse(Message, frozen=True):
    """The source has promised a higher ballot."""

    kind: ClassVar[str] = "view"
    view: Claimed
    number: Claimed


class Accept(Message, frozen=True):
    kind: ClassVar[str] = "view"
    view: Claimed
    number: Claimed
    proposal: Proposal


class Accepted(Message, frozen=True):
    kind: ClassVar[str] = "view"
    view: Claimed
    number: Claimed


class Decided(Message, frozen=True):
    kind: ClassVar[str] = "view"
    proposal: Proposal


class Join(Message, frozen=True):
    """A site outside asks the owner to be let in; `heard` is the view that invited it."""

    kind: ClassVar[str] = "join"
    last_view: ViewNumber
    heard: ViewNumber
    attempt: Claimed


class Invite(Message, frozen=True):
    """The answer: this is the view, and so far are its groups."""

    kind: ClassVar[str] = "join"
    view: Claimed
    positions: tuple[Claimed, ...]


class Fetch(Message, frozen=True):
    """A site that lacks deliveries asks a member's log for more."""

    kind: ClassVar[str] = "request"
    group: Claimed
    position: Claimed


class Transfer(Message, frozen=True):
    """Deliveries from a log, from position `first` on; none when the log starts later, at `log_first`."""

    kind: ClassVar[str] = "data"
    group: Claimed
    first: Claimed
    log_first: Claimed
    entries: tuple[tuple[Claimed, Claimed, bytes], ...]  # origin, seqno, payload
    runs: tuple[tuple[Claimed, Claimed, Order], ...]  # how many of them, in which view, where in it
    views: tuple[tuple[Claimed, Sites], ...]  # the members of those views

    def carries(self) -> tuple[tuple[int, int], ...]:
        return tuple([(origin, seqno) for origin, seqno, _ in self.entries])

    def payloads(self) -> tuple[bytes, ...]:
        return tuple([payload for _, _, payload in self.entries])

    def brief(self, names: list[str]) -> str:
        inside = " ".join(f"{name_of(origin, names)}:{seqno}" for origin, seqno, _ in self.entries)
        return f"Transfer({self.group} from {self.first}: {inside or 'none'})"


# Records


class Own(Record, frozen=True):
    """This site has broadcast: the number is taken, the payload can be sent again."""

    group: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Own({self.seqno})"


class Kept(Record, frozen=True):
    """A message of another, kept before it is counted."""

    group: Number
    origin: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Kept({name_of(self.origin, names)}:{self.seqno})"


class TurnSlot(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entry for this site as it stood at the end of a turn."""

    place: Number
    group: Number
    sender: Number
    counted: bool
    ranges: Ranges


class Turn(Record, frozen=True):
    """What this site counted, announced, or saw and could not count in a turn; persisted before the token leaves."""

    view: Number
    slots: tuple[TurnSlot, ...]

    def brief(self, names: list[str]) -> str:
        inside = ", ".join(f"{name_of(s.sender, names)}@{s.place}{'' if s.counted else '?'}" for s in self.slots)
        return f"Turn({inside})"


class Promised(Record, frozen=True):
    """No lower ballot than this for the successor of the view, and no further part in the view."""

    always_synced: ClassVar[bool] = True

    view: Number
    number: Number
    coordinator: Number


class Agreed(Record, frozen=True):
    """The accepted proposal for the successor of the view."""

    always_synced: ClassVar[bool] = True

    view: Number
    number: Number
    coordinator: Number
    proposal: Proposal


class Installed(Record, frozen=True):
    """This site is a member of this view; in a checkpoint, 1 + the place up to which it has committed in it."""

    always_synced: ClassVar[bool] = True

    proposal: Proposal
    committed: Number = 0

    def promise(self) -> object:
        return self.proposal


class Run(Record, frozen=True):
    """From this position of the group on, the log's deliveries belong to this place of this view."""

    group: Number
    start: Number
    view: Number
    order: Order


class Known(Record, frozen=True):
    """The members of an earlier view, for those who replay it."""

    view: Number
    members: Sites


class Gone(Record, frozen=True):
    """This site has left; the newest view that it knows of, which others may not have heard of."""

    always_synced: ClassVar[bool] = True

    proposal: Proposal | None


class Summary(Record, frozen=True):
    """A checkpoint's head."""

    next_seqno: Number
