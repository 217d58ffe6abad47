"""What an exploration is asked and what it answers."""

import msgspec

from tocsin.core.message import Message

UNSETTLED = "settled"  # the name that a violation of liveness begins with


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may go wrong, and how much work may be done."""

    losses: int = 0  # messages lost
    crashes: int = 0  # sites that crash; each may come back at any later point
    recoveries: int | None = None  # how often one comes back in all; None: no limit
    late_recoveries: bool = False  # only when nothing is in flight: a restart takes longer than a message
    late_faults: bool = False  # the scenario's faults, too, happen only then
    prompt_detector: bool = False  # the perfect detector tells everybody in the very instant
    early: int = 0  # timers that fire before their time
    repeats: int = 0  # messages that arrive twice
    wipes: int = 0  # disks that are lost, of sites that are up (which crash) or down
    restores: int = 0  # disks that are as they once were, at any earlier point
    leaves: int = 0  # sites that are asked to leave
    returns: int | None = None  # how often one that was asked is started again; None: no limit, where there are leaves
    dead_links: int = 0  # links that die for good, one way or both, while everyone reaches everyone through others
    symmetry: bool = True  # whether states that differ only by the names of interchangeable sites count once
    liveness: bool = True  # whether every state must have a way to a settled one
    continuations: int = 200  # ends that were cut off, and other states, that are continued without faults
    states_max: int = 5_000_000  # about 1 GB
    seed: int = 0


class Step(msgspec.Struct, frozen=True):
    """One thing that happened."""

    what: str
    source: int
    target: int
    message: Message | None = None
    text: str = ""
    flight: int = 0  # 0 a message, 1 and 2 word of the detector


class Violation(msgspec.Struct, frozen=True):
    why: str
    steps: list[Step]
    fewest: bool = True  # whether no schedule of a violation has fewer steps


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    states: int  # different global states, but for the names of interchangeable sites
    stands_for: int  # … and with them
    local_states: int  # different states of single sites
    transitions: int
    ends: int  # states in which nothing more can happen
    # different orders of events from start to end; None if not finished, not counted, or there is no end to them
    executions: int | None
    finished: bool
    settled: int  # states that are settled
    continued: int  # states of which the fair continuation was run
    unknown: (
        int  # states of which it is not known that a settled one can be reached: the search was cut off behind them
    )
    violation: Violation | None
