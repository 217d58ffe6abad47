"""One site gives every message its place; optionally the right to do so moves on with every message."""

from tocsin.core.data import Account, Enquiry, Renewed, Sent
from tocsin.protocols.baselines.sequencer.limits import limits_of
from tocsin.protocols.baselines.sequencer.machine import Sequencer
from tocsin.protocols.baselines.sequencer.messages import (
    Appended,
    Committed,
    Fill,
    Have,
    Lacks,
    Learned,
    Newer,
    Ordered,
    Seek,
    Skip,
    Status,
    Submit,
    Summary,
    Termed,
    Truncated,
    Vote,
)
from tocsin.protocols.baselines.sequencer.options import RANGES, SMALL, SequencerOptions
from tocsin.protocols.protocol import ONE_ORDER, Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="sequencer",
    title="one site gives every message its place",
    paper="Chang, Maxemchuk 1984",
    make=Sequencer,
    options=SequencerOptions,
    messages=(Submit, Ordered, Status, Have, Lacks, Fill, Skip, Seek, Vote, Newer, Enquiry, Account),
    records=(Sent, Appended, Truncated, Committed, Termed, Summary, Learned, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=ONE_ORDER,
    assumptions=Assumptions(
        crashes_recover=True,
        note="net of rollbacks where delivery = ordered; a majority must be up for progress",
    ),
    limits=limits_of,
    liveness_us=15_000_000,
    variations={"delivery": ("ordered", "committed"), "rotate": (False, True)},
    expects=("rollbacks",),
)
