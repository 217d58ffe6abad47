"""What `push_gossip` sends, keeps and can be told."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.message import Message, Options, Record

STEPS_MAX = 1024

Number = Annotated[int, Meta(ge=0, lt=1 << 62)]  # a site, a group or a sequence number
Steps = Annotated[int, Meta(ge=0, le=STEPS_MAX)]


class Data(Message, frozen=True):
    """A message on its way from neighbour to neighbour; `left`: steps in which the receiver forwards it."""

    kind: ClassVar[str] = "data"
    group: Number
    origin: Number
    seqno: Number
    left: Steps
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        return f"Data({names[self.origin]}:{self.seqno} left {self.left})"


class Ack(Message, frozen=True):
    """The sender has this message: forward it there no more."""

    kind: ClassVar[str] = "ack"
    origin: Number
    seqno: Number

    def brief(self, names: list[str]) -> str:
        return f"Ack({names[self.origin]}:{self.seqno})"


class Sent(Record, frozen=True):
    """This number is taken."""

    seqno: Number


class Received(Record, frozen=True):
    """A message of another was here; it is not delivered again."""

    origin: Number
    seqno: Number


class Summary(Record, frozen=True):
    """A checkpoint: the next own number, and per origin what was here, as ranges."""

    next_seqno: Number
    received: tuple[tuple[int, ...], ...]


class PushGossipOptions(Options, frozen=True):
    steps: Annotated[
        int,
        Meta(
            ge=1,
            le=STEPS_MAX,
            description="Steps in which a message is forwarded, counted from its broadcast. "
            "`push_gossip.search.steps_for_reach` finds the fewest that reach everybody with a wanted probability; "
            "the default 8 reaches even a lone neighbour at a loss of 0.3 with probability 0.9999: 0.3^8 < 0.0001.",
        ),
    ] = 8
    step_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Length of a step. It should exceed a round trip, or forwarding runs ahead of the "
            "acknowledgements and costs twice; the default is 10 ms, a round trip of a busy local network.",
        ),
    ] = 10_000
    fanout: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 20,
            description="Neighbours that a step forwards to, drawn anew each time. 0 is the reference algorithm: all "
            "of those that may lack the message. A limit makes a step cheaper and asks for more steps: search again.",
        ),
    ] = 0
    acknowledge: Annotated[
        bool,
        Meta(description="Acknowledge receipts, the reference algorithm's optimisation; False is blind gossip."),
    ] = True
    active_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="Messages forwarded at a time; the oldest are given up for more. "
            "The default 4096 is a step's worth of 400,000 messages a second.",
        ),
    ] = 4096
