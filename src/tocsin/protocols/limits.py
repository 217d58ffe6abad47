"""What a site may hold and what a group may send: each protocol states it, from its options, in its `limits.py`.

The simulator holds every run to it (`sim/duties`, docs/guarantees.md); the formulas are on the protocols' pages.
A message counts by its payload. A copy is what one send costs: a multicast is one where the network has multicasts, and
as many as it has receivers where not.
"""

from typing import Literal

import msgspec

from tocsin.core.message import RECORDS_MAX


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one run: a number of sites, a number of groups, one set of options."""

    # Memory and disk
    held: int  # messages that a machine holds at any time
    held_at_rest: int = 0  # messages that it still holds in a quiet group with everyone up
    records: int = RECORDS_MAX  # records on disk at any time; `records_max`, and what a checkpoint has to repeat
    log_at_rest: int = RECORDS_MAX  # deliveries that it still asks its log to keep in a quiet group with everyone up

    # Copies sent in a run, in all: the sum of these
    first: float  # for a broadcast that meets no trouble
    again_per_second: float = 0.0  # for each second that somebody lacks a broadcast
    idle_per_second: float = 0.0  # by a site that has nothing to do, in a second
    troubled_per_second: float = (
        0.0  # … and besides, in a run in which something goes wrong: it asks, and nobody answers
    )
    round_dead_per_second: float = 0.0  # by the whole group, for each way of a link that is dead: what goes round it
    lost: float = 0.0  # for a copy that does not arrive
    upset: float = 0.0  # for a crash, a start, a cut, a pause, a leave, a change of groups: of one site each

    # What it tells an application
    rolls_back: bool = False  # deliveries may be taken back
    positions_lost: bool = False  # with the disks of all members of a group its positions are, too: they begin again
    reach: Literal["members", "view", "here"] = "members"  # who has what was acknowledged: all, the view, the sender
    kept: int = 0  # of one origin, the newest so many are missed by nobody while all disks are kept; 0: it does not say
    rest_us: int = 500_000  # so long after the last machine is quiet, everybody has said and forgotten what there was


def per_second(period_us: int) -> float:
    """How often something happens that waits for so long each time."""
    return 1e6 / max(1, period_us)
