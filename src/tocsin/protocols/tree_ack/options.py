"""What `tree_ack` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.data import Number
from tocsin.core.message import Options

WINDOW_MAX = 1024  # so that what a site holds back out of order stays within some hundred kilobytes


class TreeAckOptions(Options, frozen=True):
    shape: Annotated[
        Literal["minimum", "chain", "bush"],
        Meta(
            description="The broadcast strategy: `minimum` (section 4, from `delay` and `gap`), `chain`, or "
            "`bush`. `minimum` is the fastest where the network behaves as the paper assumes."
        ),
    ] = "minimum"
    delay: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="D of the minimum-time strategy, in any unit: how long a message takes. Only D : E "
            "matters. The default 4 : 1 supposes a network where a message is under way four times as long as "
            "its sender is busy with it: measure yours.",
        ),
    ] = 4
    gap: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="E of the minimum-time strategy, in the unit of `delay`: time between two sends.",
        ),
    ] = 1
    tree: Annotated[
        tuple[tuple[Number, Number], ...],
        Meta(
            description="A strategy of one's own: (sender, receiver) pairs of relative names 1 … N, the root "
            "being 1, in sending order, as `edges` of `tocsin plan strategy`. Empty: none. Broadcasts among "
            "another number of sites than the tree has take `shape`."
        ),
    ] = ()
    watch: Annotated[
        Literal["sender", "root"],
        Meta(
            description="Whom a receiver watches until the broadcast is complete: the site it has the message "
            "from (the paper's optimization), or the root."
        ),
    ] = "sender"
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=WINDOW_MAX,
            description="Broadcasts of one root under way at once. 1 is the paper's Broadcast Sequencing "
            "Restriction. Must be the same at all sites: who receives number n knows that number n - window is "
            "complete.",
        ),
    ] = 1
    detector: Annotated[
        Literal["timeout", "perfect"],
        Meta(
            description="`timeout`: a watched site that leaves suspect_probes probes unanswered has failed; "
            "works anywhere, may be wrong. `perfect`: the driver says who has failed (simulator and explorer)."
        ),
    ] = "timeout"
    retain: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 40,
            description="Numbers of one root that are kept for a site that is away. Beyond it the oldest go, and a "
            "site that comes back for them is told that it missed them. The default 1,048,576 is 100 MB of log at "
            "100 bytes.",
        ),
    ] = 1 << 20
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Time without an acknowledgement after which a message is sent again; doubles up to eight "
            "times that. Take twice the usual round trip; the default is 20 ms, twice the 10 ms of a busy local "
            "network.",
        ),
    ] = 20_000
    announce_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Idle time after which a root tells everybody that its last broadcast is complete, so "
            "that nobody watches any more and logs are trimmed. 0: never, as in the paper. The default is five "
            "times resend_us: a root that goes on broadcasting never sends it.",
        ),
    ] = 100_000
    probe_us: Annotated[
        int,
        Meta(
            ge=1,
            description="timeout detector: silence of a watched site after which it is probed. Ten times the "
            "usual round trip; the default is 100 ms.",
        ),
    ] = 100_000
    suspect_probes: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="timeout detector: probes, one in each period of probe_us, that a site leaves unanswered "
            "before it has failed. With loss p, a silent site that lives is suspected with probability "
            "(1 - (1 - p)^2)^n, about (2p)^n: 5 makes that 1 in 100,000 at 5 %.",
        ),
    ] = 5
    recheck_us: Annotated[
        int,
        Meta(
            ge=1,
            description="timeout detector: time between two probes of a site that has failed. The default of 1 s "
            "keeps a dead site's cost at one small message per second and site.",
        ),
    ] = 1_000_000


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "delay": (1, 10),
    "gap": (1, 10),
    "window": (1, 64),
    "resend_us": (5_000, 50_000),
    "announce_us": (0, 200_000),
    "probe_us": (50_000, 200_000),
    "suspect_probes": (1, 8),
    "recheck_us": (200_000, 1_000_000),
}
RETENTION = {"retain": 4}  # what is kept for those who are away, so small that a short run passes it
SMALL = {"records_max": 8, "window": 2}  # limits that a short run passes many times; the swarm runs with them, too
