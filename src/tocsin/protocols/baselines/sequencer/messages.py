"""What `sequencer` sends and keeps."""

from typing import ClassVar

import msgspec

from tocsin.core.data import Claimed, Number
from tocsin.core.message import Message, Record

Counts = tuple[Number, ...]  # by site

NO_GROUP = 1 << 30  # the group of an item that is nobody's message: a new sequencer's first


class Item(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A place in the order: which message, and in which term it was given the place."""

    term: Number
    group: Number
    origin: Number
    seqno: Number
    payload: bytes


def carried(items: tuple[Item, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((item.origin, item.seqno) for item in items if item.group != NO_GROUP)


def carried_payloads(items: tuple[Item, ...]) -> tuple[bytes, ...]:
    return tuple(item.payload for item in items if item.group != NO_GROUP)


class Submit(Message, frozen=True):
    """A source's broadcast, to the site that orders; or to everybody, where the ordering site changes or is unknown."""

    kind: ClassVar[str] = "data"
    term: Claimed
    group: Claimed
    origin: Claimed
    seqno: Claimed
    first: Claimed  # the source's oldest message that it does not know to be committed; it will send no smaller number
    matched: Claimed  # what the source has, as in `Have`
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Submit({names[self.origin]}:{self.seqno})"


class Ordered(Message, frozen=True):
    """A message with its place; also the positive acknowledgement to its source, and a transfer of the token."""

    kind: ClassVar[str] = "data"
    term: Claimed
    position: Claimed
    item: Item
    committed: Claimed  # positions below this are settled for good
    stable: Claimed  # positions below this are at every site
    token: Claimed  # the site that orders next
    hop: Claimed  # how often the token has moved in this term
    have: Counts  # by site: what it had when it last held the token; empty where the token does not move
    absent: Counts  # sites that are not on this term's token list

    def carries(self) -> tuple[tuple[int, int], ...]:
        return carried((self.item,))

    def payloads(self) -> tuple[bytes, ...]:
        return carried_payloads((self.item,))

    def brief(self, names: list[str]) -> str:
        what = "new term" if self.item.group == NO_GROUP else f"{names[self.item.origin]}:{self.item.seqno}"
        return f"Ordered({what} at {self.position}, term {self.term}, committed {self.committed})"


class Status(Message, frozen=True):
    """The orderer's word without a message: how far the order goes and is settled; or the token, moving on."""

    kind: ClassVar[str] = "token"
    term: Claimed
    end: Claimed
    committed: Claimed
    stable: Claimed
    token: Claimed
    hop: Claimed
    have: Counts
    absent: Counts
    ask: bool  # answer with what you have

    def brief(self, names: list[str]) -> str:
        return f"Status(end {self.end}, term {self.term}, committed {self.committed}, token {names[self.token]})"


class Have(Message, frozen=True):
    """The sender has the order of this term below this position; `hop`: it has taken the token of that hop."""

    kind: ClassVar[str] = "ack"
    term: Claimed
    matched: Claimed
    hop: Claimed


class Lacks(Message, frozen=True):
    """Negative acknowledgement: send the order from this position on, or say that there is nothing more."""

    kind: ClassVar[str] = "request"
    term: Claimed
    position: Claimed


class Fill(Message, frozen=True):
    """The answer: a piece of the order."""

    kind: ClassVar[str] = "data"
    term: Claimed
    position: Claimed
    items: tuple[Item, ...]
    end: Claimed
    committed: Claimed

    def carries(self) -> tuple[tuple[int, int], ...]:
        return carried(self.items)

    def payloads(self) -> tuple[bytes, ...]:
        return carried_payloads(self.items)

    def brief(self, names: list[str]) -> str:
        return f"Fill({len(self.items)} from {self.position}, term {self.term}, committed {self.committed})"


class Skip(Message, frozen=True):
    """The other answer: the order below `base` is settled and forgotten; this is what it comes to."""

    kind: ClassVar[str] = "data"
    term: Claimed
    base: Claimed
    base_term: Claimed  # the term of the last item before `base`: who has that item has all of them
    next_seqnos: Counts  # by origin: the number that comes next
    counts: Counts  # by group: its messages below `base`
    end: Claimed

    def brief(self, names: list[str]) -> str:
        return f"Skip(to {self.base}, term {self.term})"


class Seek(Message, frozen=True):
    """The sender wants to order in this term; its order ends so, and its last item is of that term."""

    kind: ClassVar[str] = "vote"
    term: Claimed
    last_term: Claimed
    end: Claimed


class Vote(Message, frozen=True):
    """The sender will follow the receiver in this term, and nobody else."""

    kind: ClassVar[str] = "vote"
    term: Claimed


class Newer(Message, frozen=True):
    """Your term is over."""

    kind: ClassVar[str] = "vote"
    term: Claimed


class Appended(Record, frozen=True):
    """An item at the end of the order here."""

    item: Item

    def brief(self, names: list[str]) -> str:
        what = "new term" if self.item.group == NO_GROUP else f"{names[self.item.origin]}:{self.item.seqno}"
        return f"Appended({what}, term {self.item.term})"


class Truncated(Record, frozen=True):
    """What stood from this position on was wrong and is taken back."""

    position: Number


class Committed(Record, frozen=True):
    """Below this position everything is settled, and delivered."""

    position: Number


class Termed(Record, frozen=True):
    """The term this site is in, and whom it follows there: no second vote in one term. -1: nobody yet."""

    always_synced: ClassVar[bool] = True

    term: Number
    voted: int


class Learned(Record, frozen=True):
    """This site has begun anew; whatever it once helped to commit is in an order that ends so, or later."""

    always_synced: ClassVar[bool] = True

    last_term: Number
    end: Number


class Summary(Record, frozen=True):
    """A checkpoint; `Sent` and `Appended` records of what is still needed follow it."""

    term: Number
    voted: int
    next_seqno: Number
    base: Number
    base_term: Number
    next_seqnos: Counts
    counts: Counts
    committed: Number
