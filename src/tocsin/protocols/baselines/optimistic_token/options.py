"""What `optimistic_token` can be told."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.message import Options


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
    retain: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="Committed messages kept for sites that lack them; as in `sequencer`.",
        ),
    ] = 4096


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "hold_us": (1_000, 20_000),
    "resend_us": (5_000, 50_000),
    "suspect_after": (3, 10),
    "election_us": (50_000, 300_000),
    "window": (1, 1_024),
}
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
