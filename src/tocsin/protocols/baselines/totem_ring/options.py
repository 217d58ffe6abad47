"""What `totem_ring` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class TotemRingOptions(Options, frozen=True):
    delivery: Annotated[
        Literal["safe", "agreed"],
        Meta(
            description="`safe`: deliver when the token has shown twice that everybody on the ring has it. `agreed`: "
            "when all before it are delivered; two rotations earlier, and a crashed site may miss what others have."
        ),
    ] = "safe"
    idle_us: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a site holds a token that brings no news and finds nothing to send. It slows an idle "
            "ring down; a message waits at most one rotation of held tokens. The default is 1 ms a site.",
        ),
    ] = 1_000
    retry_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Send the token again after so long, and an `idle_us` for each other member, without a sign "
            "that it arrived. Twice a round trip; the default is 20 ms.",
        ),
    ] = 20_000
    loss_us: Annotated[
        int,
        Meta(
            ge=1,
            description="A token not seen for so long, and four such retries for each member more, is lost, and a new "
            "ring is gathered. Wrong suspicion costs a change of rings and no guarantee; the default is 400 ms.",
        ),
    ] = 400_000
    join_us: Annotated[
        int,
        Meta(ge=1, description="Time between two Join messages while gathering; as `retry_us`."),
    ] = 30_000
    consensus_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Who has not agreed on the members after so long is taken for dead. Ten times `join_us`, so "
            "that a live site is left out by loss once in 100,000 cases at a loss of 0.3.",
        ),
    ] = 300_000
    beacon_us: Annotated[
        int,
        Meta(ge=1, description="Time between two beacons to those not on the ring: how soon partitions merge."),
    ] = 200_000
    burst: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Messages a site may broadcast while it has the token. 1 is the rule by which Chang and Hwang "
            "compare; the default 50 is the order of Totem's own.",
        ),
    ] = 50
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Flow control: messages broadcast by all in one rotation of the token, at the most. Receive "
            "buffers must hold as many; the default is 500.",
        ),
    ] = 500
    queue: Annotated[
        int,
        Meta(ge=1, le=1 << 20, description="Broadcasts that may wait for the token; more are held back."),
    ] = 1024


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "idle_us": (0, 5_000),
    "retry_us": (10_000, 50_000),
    "loss_us": (200_000, 800_000),
    "join_us": (10_000, 60_000),
    "consensus_us": (150_000, 600_000),
    "beacon_us": (50_000, 400_000),
    "burst": (1, 100),
    "window": (1, 1_000),
    "queue": (1, 2_048),
}
SMALL = {
    "records_max": 8,
    "burst": 1,
    "window": 2,
    "queue": 2,
}  # limits that a short run passes many times; the swarm runs with them, too
