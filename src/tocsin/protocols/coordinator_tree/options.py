"""What `coordinator_tree` can be told."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.core.message import Options


class CoordinatorTreeOptions(Options, frozen=True):
    delta_us: Annotated[
        int,
        Meta(
            ge=1,
            description="The paper's delta: the period of the one timer of a site. In each, a source that has sent no "
            "data says a null message, and a coordinator says that it is there. Half of it is the mean time to find "
            "out that the last message was lost. The default 100 ms costs a source ten small messages a second.",
        ),
    ] = 100_000
    silence: Annotated[
        int,
        Meta(
            ge=2,
            le=1000,
            description="The paper's m: periods without a word from the source before it counts as failed (a part of a "
            "period counts as one). Its words are at most two periods apart; the default 4 forgives a lost one, "
            "whatever the phase of the two timers.",
        ),
    ] = 4
    patience: Annotated[
        int,
        Meta(
            ge=2,
            le=1000,
            description="Periods without a word from the coordinator (or, for a coordinator, from a descendant) before "
            "it counts as lost. The default 4 forgives two lost messages.",
        ),
    ] = 4
    gap_us: Annotated[
        int,
        Meta(
            ge=0,
            description="How long a gap in the numbers may be a mere reordering before it is a failure. "
            "0 is the paper's rule: at once. The default 10 ms is the usual spread of delays in a local network.",
        ),
    ] = 10_000
    probe_us: Annotated[
        int,
        Meta(
            ge=1,
            description="How long to wait for an answer before probing the next host of the list. Take twice the "
            "usual round trip; the default is 50 ms.",
        ),
    ] = 50_000
    fill_us: Annotated[
        int,
        Meta(
            ge=0,
            description="Pause before and between batches of redelivered messages; requests that come meanwhile are "
            "served by the same multicasts. With fill_batch it limits redelivery to fill_batch / fill_us messages.",
        ),
    ] = 2_000
    fill_batch: Annotated[
        int,
        Meta(
            ge=1,
            le=65_536,
            description="Messages redelivered without pause. The default 64 (of 1,400 bytes) fit the 208 KiB that a "
            "Linux socket buffers by default.",
        ),
    ] = 64
    report_periods: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Periods between two reports of a host to a source of what it has. Messages are kept at least "
            "that long. The default 5 makes it two messages a second per host and source. 0 is the paper's rule: no "
            "reports, nothing is known to be stable, and `retain` alone bounds what is kept.",
        ),
    ] = 5
    measure_periods: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="Periods between two measurements of the round trip to a host of the lists, in turn; lists are "
            "kept in the order of the smoothed round trips. 0 keeps the order of the lists as given.",
        ),
    ] = 10
    window: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 24,
            description="Flow control: a source takes no more broadcasts while a host that reports lacks so many of a "
            "stream; hosts report anew after a quarter of it. A host that is silent does not hold the source back: it "
            "may be cut off, and finds `retain` messages. The default is a quarter of `retain`. Without reports "
            "(`report_periods` = 0) nobody is held back, as in the paper.",
        ),
    ] = 16_384
    retain: Annotated[
        int,
        Meta(
            ge=1,
            le=1 << 24,
            description="Messages of one stream kept for redelivery while somebody lacks them. Beyond it the oldest "
            "go, and who lacks them is told that it missed them. The default 65,536 is 6.5 MB at 100 bytes.",
        ),
    ] = 65_536
    order: Annotated[
        Literal["none", "fifo"],
        Meta(description="`none` delivers at once, out of order; `fifo` waits for the earlier ones of the source."),
    ] = "none"
    relays: Annotated[
        bool,
        Meta(
            description="Where a link stays dead, others pass messages on. false is the paper's network, which finds a "
            "way by itself where there is one."
        ),
    ] = True
    lists: Annotated[
        dict[str, dict[str, tuple[str, ...]]],
        Meta(
            description="Priority lists by source and host, as `tocsin plan priorities` answers them: names of hosts "
            "of the topology, or numbers of sites where there is none. A source not named gets "
            "Shortest-Distance-First lists, by site number where there is no topology."
        ),
    ] = {}
    unsafe_lists: Annotated[
        bool,
        Meta(description="Run even with lists that are not acyclic and jointly complete. For experiments."),
    ] = False


# Within these ranges the protocol keeps what its page says, the bound on time included; the swarm draws inside them.
RANGES = {
    "delta_us": (20_000, 200_000),
    "silence": (3, 8),
    "patience": (3, 8),
    "gap_us": (0, 50_000),
    "probe_us": (10_000, 100_000),
    "fill_us": (0, 10_000),
    "fill_batch": (1, 256),
    "report_periods": (1, 20),
    "measure_periods": (0, 40),
}
SMALL = {
    "records_max": 8,
    "fill_batch": 1,
    "window": 8,
}  # limits that a short run passes many times; the swarm runs with them, too
RETENTION = {"retain": 4}  # what is kept for those who are away, as small
