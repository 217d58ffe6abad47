"""Reliable broadcast on unreliable multicast: coordinator trees heal partitions cheaply."""

from tocsin.core.data import Links
from tocsin.protocols.coordinator_tree.limits import limits_of
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.messages import (
    Anew,
    CoordinatorIs,
    Data,
    Delivered,
    Desc,
    Have,
    Held,
    IAmCoordinator,
    Known,
    Missed,
    Null,
    Ping,
    Pong,
    Probe,
    Relay,
    Request,
    StreamSummary,
    Summary,
    Tidings,
)
from tocsin.protocols.coordinator_tree.options import RANGES, RETENTION, SMALL, CoordinatorTreeOptions
from tocsin.protocols.protocol import Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="coordinator_tree",
    title="unreliable multicast made reliable; partitions healed by coordinator trees",
    paper="Garcia-Molina, Kogan 1988",
    make=CoordinatorTree,
    options=CoordinatorTreeOptions,
    messages=(
        Data,
        Null,
        Tidings,
        Probe,
        CoordinatorIs,
        Desc,
        IAmCoordinator,
        Request,
        Have,
        Ping,
        Pong,
        Anew,
        Known,
        Links,
        Relay,
    ),
    records=(Held, Delivered, Missed, StreamSummary, Summary),
    ranges=RANGES,
    small=SMALL,
    retention=RETENTION,
    guarantees=("integrity", "validity", "agreement", "uniform_agreement", "settled"),
    assumptions=Assumptions(
        dead_links=True,
        crashes_recover=True,
        networks=("mesh", "lan", "switched"),
        note='who is away longer than `retain` messages misses the oldest and is told so; order = "fifo" adds fifo',
    ),
    limits=limits_of,
    liveness_us=10_000_000,
    variations={"order": ("none", "fifo"), "gap_us": (0, 10_000)},
)
