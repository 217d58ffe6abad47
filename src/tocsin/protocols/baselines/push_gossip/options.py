"""What `push_gossip` can be told."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.message import Options
from tocsin.protocols.baselines.push_gossip.messages import STEPS_MAX


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


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "steps": (4, 16),
    "step_us": (2_000, 50_000),
    "fanout": (0, 4),
    "active_max": (1, 4_096),
}
SMALL = {"records_max": 8, "active_max": 4}  # limits that a short run passes many times; the swarm runs with them, too
