"""costs: a run sends no more copies than the protocol states, and an idle group no more than that.

The statement is a sum (protocols/limits.py): for every broadcast; for every second that somebody lacks one; for every
second of every site; for every copy that did not arrive; for every thing that went wrong with a site. What a partition,
a slow receiver or a repair may cost follows from it.
"""

from typing import Final

from tocsin.core.machine import Micros
from tocsin.protocols.limits import Limits
from tocsin.sim import faults
from tocsin.sim.duties.notes import Notes, name_of
from tocsin.sim.world import Tally

SLACK: Final = 50.0  # copies of the start and the end of a run, which are no whole second of anything


def excess_of_run(limits: Limits, sites: int, now: Micros, tally: Tally, lacking_s: float, dead_links: int = 0) -> str:
    """By how much a run was too dear; "" if it was not. `dead_links`: ways of links that are dead at its end."""
    parts = {
        "broadcasts": limits.first * tally.broadcasts,
        "what somebody lacked": limits.again_per_second * lacking_s,
        "idle": limits.idle_per_second * sites * now / 1e6,
        "trouble": limits.troubled_per_second * sites * now / 1e6 if tally.faults or tally.drops else 0.0,
        "dead links": limits.round_dead_per_second * dead_links * now / 1e6,
        "lost copies": limits.lost * lost(tally),
        "upsets": limits.upset * upsets(tally, sites),
    }
    allowed = SLACK * sites + sum(parts.values())
    spent = copies(tally)
    if spent <= allowed:
        return ""
    sums = ", ".join(f"{what} {part:.0f}" for what, part in parts.items())
    return f"{spent} copies were sent; the limit is {allowed:.0f} ({sums})"


def excess_of_idle(limits: Limits, sites: int, span_us: Micros, spent: int, dead_links: int = 0) -> str:
    """The same of a group that has nothing to do."""
    in_a_second = limits.idle_per_second * sites + limits.round_dead_per_second * dead_links
    allowed = SLACK + in_a_second * span_us / 1e6
    if spent <= allowed:
        return ""
    return f"an idle group sent {spent} copies in {span_us / 1e6:.1f} s; the limit is {allowed:.0f}"


def copies(tally: Tally) -> int:
    return sum(tally.sends.values()) + sum(tally.multicasts.values())


def lost(tally: Tally) -> int:
    """Copies that did not arrive, but for those that met a full buffer: who sends more than its receiver takes is not
    paid for it."""
    return sum(count for reason, count in tally.drops.items() if reason != "buffer")


def upsets(tally: Tally, sites: int) -> int:
    """Things that went wrong, and their ends, one for each site that they happened to."""
    total = 0
    for kind, count in tally.faults.items():
        if kind not in (faults.SAVE, faults.CALM):
            total += count * sites if kind in (faults.PARTITION, faults.HEAL) else count
    return total


def lacking_s(notes: Notes, tally: Tally, now: Micros) -> float:
    """Seconds from broadcast to last delivery, over all messages; to the end for those that a member lacks."""
    holders: dict[int, int] = {}
    for log in notes.logs:
        for names in log.told.values():
            for name in names:
                holders[name] = holders.get(name, 0) + 1
    total = 0
    for (group, origin), numbers in notes.sent.items():
        members = len(notes.members_told(origin, group))
        for seqno in numbers:
            at = tally.broadcast_at[(origin, seqno)]
            is_everywhere = holders.get(name_of(origin, seqno), 0) >= members
            total += (tally.delivered_at[(origin, seqno)] if is_everywhere and members > 0 else now) - at
    return total / 1e6
