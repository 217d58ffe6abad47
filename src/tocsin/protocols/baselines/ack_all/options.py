"""What `ack_all` can be told."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.message import Options


class AckAllOptions(Options, frozen=True):
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for acknowledgements before sending again. Take twice the usual round trip; "
            "the default is 20 ms, twice the 10 ms of a busy local network.",
        ),
    ] = 20_000
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="Broadcasts of one site that may wait for acknowledgements; more are held back. "
            "The default 1024 keeps a site's resend list within a few hundred kilobytes at 100 bytes a message.",
        ),
    ] = 1024
    multicast: Annotated[
        bool,
        Meta(
            description="Send a broadcast the first time as one multicast, where the network has one. "
            "False is the papers' basic algorithm to the letter: a message of its own to each site."
        ),
    ] = True


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {"resend_us": (2_000, 100_000), "window": (1, 4_096)}
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
