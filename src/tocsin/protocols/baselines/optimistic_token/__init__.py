"""Deliver on receipt, agree later by a token, roll back where it disagrees."""

from tocsin.core.data import Account, Enquiry, Renewed, Sent
from tocsin.protocols.baselines.optimistic_token.limits import limits_of
from tocsin.protocols.baselines.optimistic_token.machine import OptimisticToken
from tocsin.protocols.baselines.optimistic_token.messages import Tentative, Token
from tocsin.protocols.baselines.optimistic_token.options import RANGES, SMALL, OptimisticTokenOptions
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
from tocsin.protocols.protocol import ONE_ORDER, Assumptions, Protocol

PROTOCOL: Protocol = Protocol(
    name="optimistic_token",
    title="deliver on receipt, agree later by a token, roll back where it disagrees",
    paper="Chung, Liu, Lin 1990, as Chang, Hwang describe it",
    make=OptimisticToken,
    options=OptimisticTokenOptions,
    messages=(Submit, Token, Ordered, Status, Have, Lacks, Fill, Skip, Seek, Vote, Newer, Enquiry, Account),
    records=(Sent, Tentative, Appended, Truncated, Committed, Termed, Summary, Learned, Renewed),
    ranges=RANGES,
    small=SMALL,
    guarantees=ONE_ORDER,
    assumptions=Assumptions(
        crashes_recover=True,
        note="net of rollbacks; a majority must be up for commits",
    ),
    limits=limits_of,
    liveness_us=15_000_000,
    expects=("rollbacks",),
)
