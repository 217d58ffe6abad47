"""Reliable broadcast down any tree, surviving crashes and restarts (Schneider, Gries, Schlichting 1982)."""

from tocsin.core.data import Links
from tocsin.protocols.protocol import Assumptions, Protocol
from tocsin.protocols.tree_ack.limits import limits_of
from tocsin.protocols.tree_ack.machine import TreeAck
from tocsin.protocols.tree_ack.messages import (
    Ack,
    Batch,
    Checkpoint,
    Complete,
    Data,
    Hello,
    Kept,
    Noted,
    Probe,
    Relay,
    Request,
    Skipped,
    Started,
    Welcome,
)
from tocsin.protocols.tree_ack.options import RANGES, RETENTION, SMALL, TreeAckOptions

PROTOCOL: Protocol = Protocol(
    name="tree_ack",
    title="reliable broadcast down any tree; whoever has the message takes over for whoever fails",
    paper="Schneider, Gries, Schlichting 1982",
    make=TreeAck,
    options=TreeAckOptions,
    messages=(Data, Ack, Complete, Hello, Welcome, Request, Batch, Probe, Noted, Links, Relay),
    records=(Started, Kept, Skipped, Checkpoint),
    ranges=RANGES,
    small=SMALL,
    retention=RETENTION,
    guarantees=("integrity", "validity", "agreement", "fifo", "single_source", "settled"),
    assumptions=Assumptions(
        disks_lost="any",
        dead_links=True,
        detector=True,
        note="agreement is among sites that are up in the end: a root that crashes for ever may have delivered its "
        "last messages alone. For a site that is away `retain` numbers of each root are kept; older ones it missed.",
    ),
    limits=limits_of,
    liveness_us=5_000_000,
    variations={
        "detector": ("perfect", "timeout"),
        "shape": ("minimum", "chain", "bush"),
        "watch": ("sender", "root"),
        "window": (1, 3, 16),
        "announce_us": (0, 50_000),
    },
)
