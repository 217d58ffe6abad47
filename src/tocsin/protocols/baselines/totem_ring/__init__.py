"""Totem's single ring: the holder of a circulating token broadcasts."""

from tocsin.core.data import Account, Enquiry, Renewed, Sent
from tocsin.protocols.baselines.totem_ring.limits import limits_of
from tocsin.protocols.baselines.totem_ring.machine import TotemRing
from tocsin.protocols.baselines.totem_ring.messages import (
    Beacon,
    Before,
    Commit,
    Data,
    Delivered,
    Had,
    History,
    Installed,
    Join,
    Kept,
    Met,
    Seen,
    Stored,
    Token,
    Want,
)
from tocsin.protocols.baselines.totem_ring.options import RANGES, SMALL, TotemRingOptions
from tocsin.protocols.protocol import ONE_ORDER, Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="totem_ring",
    title="the holder of a circulating token broadcasts; rings split and merge",
    paper="Amir, Moser, Melliar-Smith, Agarwal, Ciarfella 1995",
    make=TotemRing,
    options=TotemRingOptions,
    messages=(Data, Token, Beacon, Join, Commit, Want, Before, Had, Enquiry, Account),
    records=(Sent, Stored, Delivered, Seen, Installed, Kept, History, Met, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=(*ONE_ORDER, "safe", "view_synchrony"),
    assumptions=Assumptions(
        disks_lost="any",
        sites_max=12,
        several_groups=False,
        note="a component goes on by itself; what is promised is promised among the members of a view",
    ),
    limits=limits_of,
    liveness_us=20_000_000,
    has_views=True,
    parts_alone=True,
    expects=("views",),
)
