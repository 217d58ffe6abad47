"""What `optimistic_token` sends and keeps, besides the messages it shares with `sequencer`."""

from typing import ClassVar

import msgspec

from tocsin.core.data import Claimed, Number
from tocsin.core.message import Message, Record
from tocsin.protocols.baselines.sequencer.messages import Counts, Item


class Reference(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message by name: whoever has it needs no payload."""

    group: Number
    origin: Number
    seqno: Number


class Token(Message, frozen=True):
    """The batch acknowledgement: the owner has all these, in this order, and everything before; the token moves on."""

    kind: ClassVar[str] = "token"
    term: Claimed
    position: Claimed  # of the first reference
    references: tuple[Reference, ...]
    committed: Claimed  # positions below this are settled for good
    stable: Claimed  # positions below this are at every site
    token: Claimed  # the next owner
    hop: Claimed
    have: Counts  # by site: what it had when it last owned the token
    absent: Counts  # sites that are not on this term's token list

    def brief(self, names: list[str]) -> str:
        batch = " ".join(f"{names[each.origin]}:{each.seqno}" for each in self.references)
        return f"Token([{batch}] from {self.position}, term {self.term}, to {names[self.token]})"


class Tentative(Record, frozen=True):
    """Delivered before its place is known."""

    item: Item

    def brief(self, names: list[str]) -> str:
        return f"Tentative({names[self.item.origin]}:{self.item.seqno})"
