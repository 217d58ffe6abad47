"""What `propagation_graph` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class PropagationGraphOptions(Options, frozen=True):
    failures: Annotated[
        Literal["atomic", "non_atomic"],
        Meta(
            description="Section 5.2.2: what needs a failed site waits for it, and goes on where it left off when it "
            "is back; nothing is ever undone. `non_atomic` is section 5.2.1: a graph without the failed site opens; "
            "when it is back, it may have to take back its last deliveries."
        ),
    ] = "atomic"
    null_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Non-atomic: how often a parent says that it is alive, and children and parents look whether "
            "they have heard from one another.",
        ),
    ] = 50_000
    suspect_after: Annotated[
        int,
        Meta(
            ge=1,
            description="Non-atomic: periods of `null_us` without a word before a site counts as failed. A false "
            "suspicion costs a new graph and rollbacks at the suspected site; 8 lost words in a row are one in 15,000 "
            "at 30 % loss.",
        ),
    ] = 8
    grace_us: Annotated[
        int,
        Meta(
            ge=1,
            description="Non-atomic: how long a manager waits for all reports before it goes on with those of a "
            "majority.",
        ),
    ] = 100_000
    keep: Annotated[
        int,
        Meta(
            ge=1,
            description="Non-atomic: messages that a site keeps for those that are away, beyond those that a present "
            "site may lack. A site that was away for longer is told what it missed (`missed`) and goes on after it. "
            "The default 65,536 is 20 MB at 100 bytes.",
        ),
    ] = 65_536
    manager: Annotated[
        int,
        Meta(
            ge=0,
            description="Atomic: the site that decides on new graphs; it needs to be up for that only. Non-atomic: the "
            "live site with the smallest number does, and the others take over in turn.",
        ),
    ] = 0
    resend_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long a sender waits for an acknowledgement before it asks with a null message, which the "
            "receiver answers with what it lacks. Take twice the usual round trip; doubled up to 16 times in vain.",
        ),
    ] = 20_000
    ack_us: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a receiver collects before it acknowledges: one acknowledgement per edge in this "
            "time. A quarter of `resend_us`, so that no null message is sent meanwhile.",
        ),
    ] = 5_000
    gap_us: Annotated[
        int,
        Meta(ge=0, description="How long a gap may be a reordering before the missing messages are asked for."),
    ] = 2_000
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 16,
            description="Messages under way on one edge; the rest waits at the sender. Bounds the wait queues.",
        ),
    ] = 256
    balance: Annotated[
        Annotated[int, Meta(ge=0, le=1 << 16)] | None,
        Meta(
            description="Figure 5: messages of a group may pass so many more sites on their longest way, if sites with "
            "much to send have less to do then. Without it the forest is that of appendix I, which is shallow. "
            "`tocsin plan propagation` shows what it gains. The same at every site."
        ),
    ] = None
    causal: Annotated[
        bool,
        Meta(
            description="A message waits at its source until what the source sent to other groups, and delivered of "
            "other groups, is delivered everywhere: the order is causal then. Costs the time until that is known. "
            'Only with `failures = "atomic"`: who was left out catches up in another order.'
        ),
    ] = False
    backlog: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="Messages that a primary destination takes before some member has them, and that a source may "
            "have unsettled: how much may happen while a member is down.",
        ),
    ] = 4_096

    def __post_init__(self) -> None:
        if self.causal and self.failures != "atomic":
            raise ValueError('causal = true needs failures = "atomic"')


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "null_us": (20_000, 100_000),
    "suspect_after": (3, 16),
    "grace_us": (40_000, 300_000),
    "resend_us": (5_000, 50_000),
    "ack_us": (0, 20_000),
    "gap_us": (0, 10_000),
    "window": (1, 1_024),
    "backlog": (1, 4_096),
}
SMALL = {
    "records_max": 8,
    "window": 2,
    "backlog": 3,
}  # limits that a short run passes many times; the swarm runs with them, too
RETENTION = {"keep": 4}  # what is kept for those who are away, as small
