"""The fewest messages for a wanted probability of reaching everybody, learned while running."""

from tocsin.core.data import Account, Enquiry, Received, Renewed
from tocsin.protocols.protocol import Assumptions, Protocol
from tocsin.protocols.reliability_tree.limits import limits_of
from tocsin.protocols.reliability_tree.machine import ReliabilityTree
from tocsin.protocols.reliability_tree.messages import Data, Heartbeat, Published, Sent, Started, Summary, Ticked
from tocsin.protocols.reliability_tree.options import RANGES, SMALL, ReliabilityTreeOptions

PROTOCOL: Protocol = Protocol(
    name="reliability_tree",
    title="the fewest messages for a wanted probability of reaching everybody",
    paper="Garbinato, Pedone, Schmidt 2004",
    make=ReliabilityTree,
    options=ReliabilityTreeOptions,
    messages=(Data, Heartbeat, Enquiry, Account),
    records=(Started, Sent, Received, Ticked, Published, Summary, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=("integrity",),
    guarantees_of_one_group=("validity",),  # a source outside a group reaches it with a probability, as everybody else
    assumptions=Assumptions(
        disks_lost="any",
        dead_links=True,
        sites_max=12,
        joins=True,
        links_change=True,
        networks=("lossy", "mesh", "lan"),
        note="everybody is reached with the promised probability while losses are independent and as they were learned",
    ),
    limits=limits_of,
    liveness_us=1_000_000,
    plans_reach=True,
    variations={
        "knowledge": ("learned", "learned", "learned", "given"),
        "heartbeat_us": (50_000, 200_000),
        "tick_us": (20_000, 500_000),
        "memory": (0, 0, 64),
        "news_growth": (0.0, 0.125),
        "news_max": (16, 4096),
        "full_every": (3, 100),
        "vanish_after": (3, 30),
        "settle_us": (0, 500_000),
        "caution": (0.0, 2.0),
    },
)
