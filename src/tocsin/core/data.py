"""What several protocols send and keep in the same form.

A class here is on the wire and on disk by its own name, whichever protocol uses it. A protocol whose data carries more
(a place, a stamp, a plan) has a `Data` of its own.
"""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.message import Message, Record

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group, a sequence number, a position, a time, a count
Claimed = Annotated[int, Meta(ge=0, lt=1 << 60)]  # the same from a peer, who may lie: its successors are Numbers

SITES_MAX = 4096  # sites that one message may name


class Data(Message, frozen=True):
    """A broadcast, as its origin sent it."""

    kind: ClassVar[str] = "data"
    group: Claimed
    origin: Claimed
    seqno: Claimed
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({name_of(self.origin, names)}:{self.seqno})"


class Links(Message, frozen=True):
    """Who hears whom, as far as the sender knows, and which sites seek a way to others (`core/links.py`)."""

    kind: ClassVar[str] = "links"
    entries: Annotated[
        tuple[tuple[Claimed, Claimed, Claimed, tuple[Claimed, ...]], ...], Meta(max_length=SITES_MAX)
    ]  # site, version, age in microseconds, whom it hears
    seeks: Annotated[tuple[tuple[Claimed, Claimed], ...], Meta(max_length=SITES_MAX)]  # seeker, number of its seek

    def brief(self, names: list[str]) -> str:
        said: list[str] = []
        for site, _, _, hears in self.entries:
            said.append(
                f"{name_of(site, names)} hears {' '.join(name_of(other, names) for other in hears) or 'nobody'}"
            )
        return f"Links({', '.join(said)})"


class Sent(Record, frozen=True):
    """This site has broadcast: the number is taken, and the payload can be sent again."""

    group: Number
    seqno: Number
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"Sent({self.seqno})"


class Enquiry(Message, frozen=True):
    """The sender has begun anew: where do its groups stand, and what is between it and the receiver?"""

    kind: ClassVar[str] = "request"
    incarnation: Claimed


class Account(Message, frozen=True):
    """The answer. `knows`: the sender takes part, and does not begin anew itself."""

    kind: ClassVar[str] = "control"
    incarnation: Claimed  # of the receiver
    knows: bool
    ends: tuple[Claimed, ...]  # by group: deliveries at the sender
    marks: tuple[Claimed, ...]  # the protocol's own
    # What the sender has broadcast, and will not send to the receiver any more: group, number and place of the first,
    # how many. A place counts the sender's messages to the group.
    over: tuple[tuple[Claimed, Claimed, Claimed, Claimed], ...] = ()


class Renewed(Record, frozen=True):
    """This site has begun anew, and was told where to go on."""


class PeerRenewed(Record, frozen=True):
    """Another site has begun anew: what it numbers begins at 0 again."""

    site: Number


class Received(Record, frozen=True):
    """A message of another was here; it is not delivered again."""

    origin: Number
    seqno: Number


def name_of(site: int, names: list[str]) -> str:
    """The site's name; its number, if a peer has named a site that there is not."""
    return names[site] if 0 <= site < len(names) else str(site)
