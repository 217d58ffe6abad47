"""ABCAST: priorities proposed by all, the largest agreed."""

from tocsin.core.data import Account, Enquiry, PeerRenewed, Renewed
from tocsin.protocols.baselines.two_phase.limits import limits_of
from tocsin.protocols.baselines.two_phase.machine import TwoPhase
from tocsin.protocols.baselines.two_phase.messages import (
    Agreed,
    Ask,
    Data,
    Final,
    Propose,
    Proposed,
    Sent,
    Stream,
    Summary,
)
from tocsin.protocols.baselines.two_phase.options import RANGES, SMALL, TwoPhaseOptions
from tocsin.protocols.protocol import ONE_ORDER, Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="two_phase",
    title="priorities proposed by all, the largest agreed (ABCAST)",
    paper="Birman, Joseph 1987 (Skeen)",
    make=TwoPhase,
    options=TwoPhaseOptions,
    messages=(Data, Propose, Final, Ask, Enquiry, Account),
    records=(Sent, Proposed, Agreed, Stream, Summary, PeerRenewed, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=(*ONE_ORDER, "safe"),
    assumptions=Assumptions(
        crashes_recover=True,
        note="while a member is down its groups agree on nothing new; every crashed site must come back",
    ),
    # A source that changes groups with every message needs a round trip and two syncs for each: sixty that were held up
    # (the swarm's most), at 40 ms and 20 ms, are 4.8 s. See docs/protocols/two_phase.md.
    limits=limits_of,
    liveness_us=5_000_000,
)
