"""What `sequencer` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class SequencerOptions(Options, frozen=True):
    delivery: Annotated[
        Literal["ordered", "committed"],
        Meta(
            description="`ordered`: deliver when the place is known, and roll back if the sequencer's successor "
            "never heard of it. `committed`: deliver when a majority has it; one more round, and no rollback ever."
        ),
    ] = "ordered"
    rotate: Annotated[
        bool,
        Meta(
            description="The token site of Chang and Maxemchuk: the right to order moves on with every message, and a "
            "message is committed when the token has moved on to so many sites that a majority has it."
        ),
    ] = False
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
        Meta(
            ge=1,
            description="Questions without an answer before the sequencer is taken for dead (R of Chang, Maxemchuk). "
            "Wrong suspicion costs a change of term, no guarantee; 5 survives a loss of 0.3 in 998 of 1000 cases.",
        ),
    ] = 5
    election_us: Annotated[
        int,
        Meta(
            ge=1,
            description="A candidate waits one to two times this long for a majority before it tries again. "
            "Take several round trips, so that one candidate is done before the next begins; 100 ms.",
        ),
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
            description="Committed messages kept for sites that lack them; who lacks more is told what it has missed. "
            "The default 4096 keeps them within a megabyte at 200 bytes a message.",
        ),
    ] = 4096


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "resend_us": (5_000, 50_000),
    "suspect_after": (3, 10),
    "election_us": (50_000, 300_000),
    "window": (1, 1_024),
}
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
