"""What `reliability_tree` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class ReliabilityTreeOptions(Options, frozen=True):
    knowledge: Annotated[
        Literal["learned", "given"],
        Meta(
            description="`learned`: topology and probabilities are learned by heartbeats (the adaptive algorithm). "
            "`given`: they are those of the scenario's topology, and nothing but data is sent (the optimal algorithm)."
        ),
    ] = "learned"
    given_loss: Annotated[
        float,
        Meta(
            ge=0.0,
            lt=1.0,
            description="With `given` knowledge and no topology: the loss of every link; all sites are neighbours.",
        ),
    ] = 0.0
    reach: Annotated[
        float,
        Meta(
            gt=0.0,
            lt=1.0,
            description="Wanted probability that everybody gets a broadcast (the paper's K) when the broadcast does "
            "not say its own. The default is the 0.9999 of the paper's experiments.",
        ),
    ] = 0.9999
    messages_per_site_max: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 20,
            description="The budget of a broadcast: so many messages for each site that it is to reach, on average. A "
            "broadcast with a reach of its own is refused if it needs more; others get the best reach for it. "
            "The default 100 is what a lone link of loss 0.9 needs for 0.9999: ln(0.0001) / ln(0.9) = 87.",
        ),
    ] = 100
    leave_out: Annotated[
        bool,
        Meta(
            description="Take a broadcast with a reach of its own, too, when no known way leads to some members: the "
            "promise is then about the others, and the receipt names who was left out. False refuses it."
        ),
    ] = False
    caution: Annotated[
        float,
        Meta(
            ge=0.0,
            le=10.0,
            description="Links are planned with the most believed loss and this many standard deviations of the "
            "belief on top: the tree takes the links that look best, and of many equal ones those look best that were "
            "lucky. 0 is the paper's. The default 2 makes up for taking the best tenth of a thousand equal links, "
            "whose mean is 1.75 deviations below the truth: without it the promise is not kept.",
        ),
    ] = 2.0
    heartbeat_us: Annotated[
        int,
        Meta(
            ge=1_000,
            description="Time between heartbeats to each neighbour (the paper's delta; it speaks of a second). The "
            "default 100 ms makes a loss of 0.05 known to within 0.02 after 24 s: (0.05 * 0.95 / 240)^0.5 = 0.014, "
            "from both ends 0.010.",
        ),
    ] = 100_000
    tick_us: Annotated[
        int,
        Meta(
            ge=1_000,
            description="Time between looks at the local clock, kept on stable storage: the unit in which a process "
            "counts how long it was up and down. The default 1 s is a small write a second.",
        ),
    ] = 1_000_000
    memory: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 30,
            description="Observations of a link or a process that are remembered: whenever there are more, all are "
            "halved, so that between half of them and all count and the older half is forgotten by half. A link that "
            "turns bad is noticed after about memory / 2 heartbeats. 0 never forgets (the paper).",
        ),
    ] = 0
    news_growth: Annotated[
        float,
        Meta(
            ge=0.0,
            le=100.0,
            description="A process tells its own estimates on when their evidence has grown by this part, or they "
            "have moved by more than their deviation. The default 1/8 keeps what others know within an eighth of the "
            "newest, in news that become rare as evidence grows. 0 tells every change (the paper).",
        ),
    ] = 0.125
    news_max: Annotated[
        int,
        Meta(
            ge=16,
            le=1 << 20,
            description="Estimates in one heartbeat at the most; more wait for the next. The default 4096 stays below "
            "the 60 KiB of a frame at up to 14 bytes an estimate.",
        ),
    ] = 4096
    full_every: Annotated[
        int,
        Meta(
            ge=2,
            le=1 << 20,
            description="Every so many heartbeats a neighbour is told everything and not only what has changed. "
            "The default 100 adds a hundredth of the whole state to the mean heartbeat.",
        ),
    ] = 100
    vanish_after: Annotated[
        int,
        Meta(
            ge=2,
            le=1_000,
            description="Suspicions in a row after which a neighbour is taken for gone and its links for cut. "
            "The default 30 is wrong once in 10^9 heartbeats at a loss of 0.5.",
        ),
    ] = 30
    settle_us: Annotated[
        int,
        Meta(
            ge=0,
            description="After a start broadcasts are held back until every member of the groups was heard of, at "
            "most this long. The default 2 s is twenty heartbeats: enough for twenty hops.",
        ),
    ] = 2_000_000


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "heartbeat_us": (20_000, 500_000),
    "tick_us": (20_000, 2_000_000),
    "memory": (0, 256),
    "news_max": (16, 4_096),
    "full_every": (2, 200),
    "vanish_after": (3, 60),
    "settle_us": (0, 2_000_000),
    "messages_per_site_max": (1, 200),
}
SMALL = {
    "records_max": 8,
    "news_max": 16,
    "memory": 8,
}  # limits that a short run passes many times; the swarm runs with them, too
