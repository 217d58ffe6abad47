"""Timestamp order: deliver once every potential source was heard beyond."""

from tocsin.core.data import Account, Enquiry, PeerRenewed, Renewed
from tocsin.protocols.baselines.lamport.limits import limits_of
from tocsin.protocols.baselines.lamport.machine import Lamport
from tocsin.protocols.baselines.lamport.messages import (
    Ack,
    Acknowledged,
    Data,
    Delivered,
    Null,
    Received,
    Reserved,
    Sent,
    Summary,
)
from tocsin.protocols.baselines.lamport.options import RANGES, SMALL, LamportOptions
from tocsin.protocols.protocol import ONE_ORDER, Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="lamport",
    title="timestamp order: deliver once every potential source was heard beyond",
    paper="Lamport 1978; Schneider 1982",
    make=Lamport,
    options=LamportOptions,
    messages=(Data, Null, Ack, Enquiry, Account),
    records=(Sent, Acknowledged, Received, Delivered, Reserved, Summary, PeerRenewed, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=ONE_ORDER,
    assumptions=Assumptions(
        crashes_recover=True,
        note="while a site is down or silent nobody delivers; every crashed site must come back",
    ),
    limits=limits_of,
    liveness_us=2_000_000,
)
