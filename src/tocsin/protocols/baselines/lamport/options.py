"""What `lamport` can be told."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.message import Options


class LamportOptions(Options, frozen=True):
    nulls: Annotated[
        bool,
        Meta(
            description="Send null messages when others wait for this site and it has nothing to say. "
            "False is the bare algorithm: one silent site stops every delivery."
        ),
    ] = True
    null_us: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a site waits for a broadcast of its own before it sends a null. "
            "0 answers every stamp at once, the least delay; with k ms, the broadcasts of k ms share one null.",
        ),
    ] = 0
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for acknowledgements, or for the silent, before sending or asking again. "
            "Take twice the usual round trip; the default is 20 ms, twice the 10 ms of a busy local network.",
        ),
    ] = 20_000
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 16,
            description="Broadcasts of one site that may wait for acknowledgements; more are held back. Receivers hold "
            "as many out of order from each site, so the default 256 bounds that to 256 messages a site.",
        ),
    ] = 256


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "null_us": (0, 20_000),
    "resend_us": (5_000, 50_000),
    "window": (1, 1_024),
}
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
