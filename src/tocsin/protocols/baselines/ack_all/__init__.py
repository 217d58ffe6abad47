"""The papers' basic algorithm: send to each, resend until each has acknowledged."""

from tocsin.core.data import Account, Data, Enquiry, Received, Renewed
from tocsin.protocols.baselines.ack_all.limits import limits_of
from tocsin.protocols.baselines.ack_all.machine import AckAll
from tocsin.protocols.baselines.ack_all.messages import Ack, Acknowledged, Sent, Summary
from tocsin.protocols.baselines.ack_all.options import RANGES, SMALL, AckAllOptions
from tocsin.protocols.protocol import Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="ack_all",
    title="send to each, resend until each has acknowledged",
    paper="the basic algorithm of Garcia-Molina, Kogan 1988",
    make=AckAll,
    options=AckAllOptions,
    messages=(Data, Ack, Enquiry, Account),
    records=(Sent, Acknowledged, Received, Summary, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=("integrity", "validity", "agreement", "uniform_agreement", "settled"),
    assumptions=Assumptions(
        crashes_recover=True,
        note="an origin that never comes back may leave its last messages at some sites only",
    ),
    limits=limits_of,
    liveness_us=2_000_000,
    variations={"resend_us": (2_000, 20_000, 100_000), "window": (1, 4, 1024), "multicast": (True, False)},
)
