"""What `optimistic_token` sends, keeps and can be told, besides the messages it shares with `sequencer`."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from tocsin.core.message import Message, Options, Record
from tocsin.protocols.baselines.sequencer.messages import Counts, Item, Number


class Reference(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message by name: whoever has it needs no payload."""

    group: Number
    origin: Number
    seqno: Number


class Token(Message, frozen=True):
    """The batch acknowledgement: the owner has all these, in this order, and everything before; the token moves on."""

    kind: ClassVar[str] = "token"
    term: Number
    position: Number  # of the first reference
    references: tuple[Reference, ...]
    committed: Number  # positions below this are settled for good
    token: Number  # the next owner
    hop: Number
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


class OptimisticTokenOptions(Options, frozen=True):
    hold_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Token-owner time T: an owner waits so long, acknowledges in one batch all that has come, and "
            "passes the token on. Longer means fewer tokens a message and later commits (Num = 1 + 1/N when every site "
            "broadcasts once in T); the default is 5 ms.",
        ),
    ] = 5_000
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for an answer before sending or asking again. "
            "Take twice the usual round trip; the default is 20 ms, twice the 10 ms of a busy local network.",
        ),
    ] = 20_000
    suspect_after: Annotated[
        int,
        Meta(ge=1, description="Questions without an answer before the token is taken for lost; as in `sequencer`."),
    ] = 5
    election_us: Annotated[
        int,
        Meta(ge=1, description="Patience of a site that wants to make a new token; as in `sequencer`."),
    ] = 100_000
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 16,
            description="Broadcasts of one site that may wait to be committed; more are held back. It bounds what a "
            "rollback can undo: sites times window messages.",
        ),
    ] = 256
