"""Gossip: forward, step by step, to the neighbours that may lack the message."""

from tocsin.core.data import Account, Enquiry, Received, Renewed
from tocsin.protocols.baselines.push_gossip.limits import limits_of
from tocsin.protocols.baselines.push_gossip.machine import PushGossip
from tocsin.protocols.baselines.push_gossip.messages import Ack, Data, Sent, Summary
from tocsin.protocols.baselines.push_gossip.options import RANGES, SMALL, PushGossipOptions
from tocsin.protocols.protocol import Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="push_gossip",
    title="forward, step by step, to the neighbours that may lack it",
    paper="reference gossip of Garbinato, Pedone, Schmidt 2004",
    make=PushGossip,
    options=PushGossipOptions,
    messages=(Data, Ack, Enquiry, Account),
    records=(Sent, Received, Summary, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=("integrity",),
    guarantees_of_one_group=("validity",),  # a source outside a group reaches it with a probability, as everybody else
    assumptions=Assumptions(
        disks_lost="any",
        dead_links=True,
        networks=("mesh", "lan", "lossy"),
        note="everybody is reached with a probability only, set by the number of steps",
    ),
    limits=limits_of,
    liveness_us=1_000_000,
    variations={"fanout": (0, 2), "acknowledge": (True, False)},
)
