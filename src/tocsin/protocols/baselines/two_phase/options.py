"""What `two_phase` can be told."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.message import Options


class TwoPhaseOptions(Options, frozen=True):
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for proposals, or for the outcome, before sending or asking again. "
            "Take twice the usual round trip; the default is 20 ms, twice the 10 ms of a busy local network.",
        ),
    ] = 20_000
    takeover: Annotated[
        bool,
        Meta(
            description="A member that has asked for the outcome `takeover_after` times in vain finishes the broadcast "
            "itself. False blocks as two-phase commit does: a source that dies between the phases stops everybody."
        ),
    ] = True
    takeover_after: Annotated[
        int,
        Meta(
            ge=1,
            description="Questions before a takeover. A takeover too many costs messages and is harmless, since every "
            "proposal is given once; the default 3 waits three round trips' time-outs.",
        ),
    ] = 3
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 16,
            description="Broadcasts of one site that may wait for their final priority; more are held back. "
            "The default 256 bounds a receiver's queue to 256 messages a source.",
        ),
    ] = 256


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "resend_us": (5_000, 50_000),
    "takeover_after": (1, 6),
    "window": (1, 1_024),
}
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
