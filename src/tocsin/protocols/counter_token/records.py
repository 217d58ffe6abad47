"""What `counter_token` keeps on disk."""

from typing import ClassVar

import msgspec

from tocsin.core.data import Number, name_of
from tocsin.core.message import Record
from tocsin.protocols.counter_token.messages import Ranges, Sites, View, view_text


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


class Ordered(Record, frozen=True):
    """Everything below this place is ordered, and is delivered here unless older deliveries are still to come."""

    place: Number


class Reached(Record, frozen=True):
    """In a checkpoint: so far is everything ordered, and there are the groups."""

    place: Number
    positions: tuple[Number, ...]
    frontier: tuple[tuple[Number, ...], ...]


class Waiting(Record, frozen=True):
    """In a checkpoint, after its messages: an entry that is ordered and waits for older deliveries."""

    view: Number
    place: Number
    group: Number
    sender: Number
    position: Number  # of its first message
    ranges: Ranges


class Stored(Record, frozen=True):
    """In a checkpoint, after its messages: an entry that is ordered, and kept for those of its group."""

    view: Number
    members: Sites
    place: Number
    group: Number
    sender: Number
    position: Number  # of its first message
    ranges: Ranges


class Promised(Record, frozen=True):
    """No vote in a smaller ballot than this, and no further part in a smaller view."""

    always_synced: ClassVar[bool] = True

    ballot: Number


class Agreed(Record, frozen=True):
    """This site has voted for the view."""

    always_synced: ClassVar[bool] = True

    view: View

    def brief(self, names: list[str]) -> str:
        return f"Agreed({view_text(self.view, names)})"


class Installed(Record, frozen=True):
    """The view that this site voted for last is decided, and it is a member of it."""

    always_synced: ClassVar[bool] = True

    view: Number


class Doubt(Record, frozen=True):
    """The end of the log may be missing: no vote until the next view."""

    always_synced: ClassVar[bool] = True


class Run(Record, frozen=True):
    """From this position of the group on, the log's deliveries belong to this view, and to this place and later."""

    group: Number
    start: Number
    view: Number
    place: Number


class Known(Record, frozen=True):
    """The members of an earlier view, for those who replay it."""

    view: Number
    members: Sites


class Summary(Record, frozen=True):
    """A checkpoint's head."""

    next_seqno: Number
