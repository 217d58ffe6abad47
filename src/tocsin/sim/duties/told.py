"""told: what an application hears beside its messages is what happened, no more and no less.

- Positions go up by one, and `missed` alone skips some: exactly those that come next.
- What was missed is real (somebody has it at that position, or it is one of the group's messages that nobody has: it
  was ordered, and lost with a disk; that origin has used those numbers), and is not delivered here, before or after.
  There was a reason: while everybody keeps its disk, nobody misses what the protocol says it keeps for those who are
  away.
- Where positions are the group's, one position is one message at every site, on every disk. Where only its members
  know them, and all of them lose their disks, they begin again.
- Only a protocol that states it takes deliveries back, and only the newest.
- A site that was asked to leave, and is still running when all has healed, was told that it is out.
"""

from tocsin.core.machine import GroupId
from tocsin.sim.duties.acknowledged import missed_names, shares_positions
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.notes import NOT_TOLD, Log, Missing, name_of


def first_untruth(ending: Ending) -> str:
    """What was told and is not so; "" if all was true."""
    notes = ending.notes
    if notes.untrue:
        return notes.untrue
    if notes.rollbacks and ending.limits is not None and not ending.limits.rolls_back:
        return f"{notes.rollbacks} deliveries were taken back by a protocol that never does"
    for site in range(len(ending.names)):
        log = notes.logs[site]
        for group in sorted(set(log.told) | {missing.group for missing in log.missing}):
            found = _untruth(ending, log, group)
            if found:
                return f"{ending.names[site]} {found}"
    return _second_order(ending) or _never_out(ending)


def _untruth(ending: Ending, log: Log, group: GroupId) -> str:
    """What one application was told wrongly about a group."""
    notes = ending.notes
    for missing in log.missing:
        if missing.group == group and len(notes.named(missing)) < missing.count:
            return (
                f"was told that it missed {missing.count} messages of {ending.names[missing.origin]} from number "
                f"{missing.first} on, which has sent {len(notes.named(missing))}"
            )
        if missing.group == group and _is_kept(ending, missing):
            return (
                f"was told that it missed {missing.count} messages of {ending.names[missing.origin]} from number "
                f"{missing.first} on, and only {missing.later} came after them: so many are kept for who is away"
            )
    names = log.of_group(group)
    order = notes.order(group)
    unknown = [place for place in range(len(names)) if names[place] == NOT_TOLD and place not in order]
    lost = _had_by_nobody(ending, group)
    if len(unknown) > lost:
        return f"was told that it missed position {unknown[lost]}, which nobody has"
    both = set(names).intersection(missed_names(notes, log, group, shares_positions(ending)))
    if both:
        return f"was told that it missed {notes.label(min(both))}, which it has delivered"
    return ""


def _had_by_nobody(ending: Ending, group: GroupId) -> int:
    """How many messages of a group nobody has, on whatever disk; none, unless a disk was lost."""
    notes = ending.notes
    if not notes.past:
        return 0
    known = set(notes.order(group).values())
    sent = [name_of(origin, seqno) for (to, origin), numbers in notes.sent.items() if to == group for seqno in numbers]
    return len([name for name in sent if name not in known])


def _is_kept(ending: Ending, missing: Missing) -> bool:
    """Whether it was not to be missed: so few came after it that it was to be kept, and no disk was lost with it."""
    kept = ending.limits.kept if ending.limits is not None else 0
    return missing.later < kept and not ending.notes.past


def _second_order(ending: Ending) -> str:
    """Two messages at one position, where positions are the group's."""
    limits = ending.limits
    if limits is None or not shares_positions(ending):
        return ""
    if limits.rolls_back and (ending.unhealed() or ending.restless()):
        return ""  # what stands at a position is not yet settled
    return ending.notes.contradiction()


def _never_out(ending: Ending) -> str:
    """Somebody who was asked to leave and never heard that it is done."""
    if not ending.protocol.has_views or ending.unhealed():
        return ""
    for site in sorted(ending.left):
        members = ending.notes.views[site]
        if ending.machines[site] is not None and members is not None and site in members:
            return f"{ending.names[site]} was asked to leave and was never told that it is out"
    return ""
