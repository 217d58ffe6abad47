"""From the reports of a view's members to the next view: what may have been delivered is kept, in its place.

A message is delivered in a view only when all its destinations there have counted it, each having it on stable storage
first. Members that report have stopped counting. So an entry that a reporting destination has not counted was delivered
by nobody and will be by nobody; its sender announces it again. An entry that all reporting destinations have counted
may have been delivered by one that does not report: it is kept (`keep_limit`). If all its destinations report, it is
known to be everywhere and is delivered in the old view (`full_limit`); otherwise first thing in the new one, whose
members all have it.

That is why newcomers are let in, and leavers let go, only by a change in which all members of the old view take part:
whatever is kept is then full, and nobody in the new view lacks what the others deliver there.
"""

from tocsin.core.machine import SiteId
from tocsin.protocols.counter_token.messages import Item, Proposal, Report


class Decision:
    """The two limits that reports allow."""

    def __init__(self, full_limit: int, keep_limit: int) -> None:
        self.full_limit = full_limit
        self.keep_limit = keep_limit


def has_quorum(
    members: list[SiteId],
    groups: list[list[SiteId]],
    present: list[SiteId],
    current: list[SiteId],
    majority: bool,
) -> bool:
    """Whether the present members may decide the next view; `current` are those that lag behind nothing.

    Besides the majority, every group needs one current member: only its members know what was delivered in it, and
    one of them must have all of it to give to others.
    """
    if majority and 2 * len(present) <= len(members):
        return False
    for group in groups:
        concerned = False
        here = False
        for member in members:
            if member in group:
                concerned = True
                if member in current:
                    here = True
        if concerned and not here:
            return False
    return len(present) > 0


def decide_limits(members: list[SiteId], groups: list[list[SiteId]], reports: dict[SiteId, Report]) -> Decision:
    """How far the old view's entries are settled, from the reports of members of it."""
    full_limit = 0
    for member in members:
        if member in reports:
            full_limit = max(full_limit, reports[member].full)
    counted: dict[SiteId, set[int]] = {}
    known: dict[int, int] = {}  # place: group, of every entry that a reporting destination knows
    for member in members:
        if member in reports:
            mine: set[int] = set()
            for item in reports[member].items:
                if item.place >= full_limit:
                    known[item.place] = item.group
                    if item.counted:
                        mine.add(item.place)
            counted[member] = mine
    keep_limit = full_limit
    all_present = True
    for place in sorted(known):
        group = groups[known[place]]
        for member in members:
            if member in group:
                if member not in reports:
                    all_present = False
                elif place not in counted[member]:
                    return Decision(full_limit, keep_limit)
        keep_limit = place + 1
        if all_present:
            full_limit = keep_limit
    return Decision(full_limit, keep_limit)


def propose(
    base: Proposal, groups: list[list[SiteId]], reports: dict[SiteId, Report], invited: list[SiteId]
) -> Proposal:
    """The next view, from the reports of members of `base` and of the invited."""
    members: list[SiteId] = list(base.members)
    decision = decide_limits(members, groups, reports)
    following = [member for member in members if member in reports]
    complete = len(following) == len(members)
    if complete:
        for member in members:
            if reports[member].leaving and may_leave(member, following, list(base.absent), groups, reports):
                following.remove(member)
        following.extend([site for site in sorted(invited) if site in reports and site not in members])
    absent = [site for site in base.absent if site not in following]
    absent.extend([site for site in members if site not in reports])
    positions: list[int] = []
    frontier: list[tuple[int, ...]] = []
    for group in range(len(groups)):
        position = base.positions[group]
        front = list(base.frontier[group])
        for member in members:
            if member in groups[group] and member in reports:
                report = reports[member]
                position = report.positions[group]
                front = list(report.frontier[group])
                for item in _settled(report, group, decision.keep_limit):
                    position += item.count
                    front[item.sender] = item.following
                break
        positions.append(position)
        frontier.append(tuple(front))
    return Proposal(
        base.view + 1,
        tuple(following),
        tuple(sorted(absent)),
        decision.full_limit,
        decision.keep_limit,
        tuple(positions),
        tuple(frontier),
    )


def may_leave(
    leaver: SiteId,
    members: list[SiteId],
    absent: list[SiteId],
    groups: list[list[SiteId]],
    reports: dict[SiteId, Report],
) -> bool:
    """Whether nobody of its groups needs the leaver's log: somebody else has everything, or nobody lacks anything."""
    for group in groups:
        if leaver not in group:
            continue
        needed = False
        spare = False
        for site in group:
            if site in absent:
                needed = True
            elif site in members and site != leaver:
                if reports[site].lagging:
                    needed = True
                else:
                    spare = True
        if needed and not spare:
            return False
    return True


def _settled(report: Report, group: int, keep_limit: int) -> list[Item]:
    """The report's items of the group that the decision commits, in order."""
    found = [item for item in report.items if item.group == group and report.full <= item.place < keep_limit]
    found.sort(key=_item_place)
    return found


def _item_place(item: Item) -> int:
    place: int = item.place
    return place


def is_sound_report(report: Report, groups: int, sites: int) -> bool:
    """Whether a peer's report can be reckoned with."""
    if len(report.positions) != groups or len(report.frontier) != groups:
        return False
    for front in report.frontier:
        if len(front) != sites:
            return False
    for item in report.items:  # noqa: SIM110  (a generator would not compile to plain code)
        if item.group >= groups or item.sender >= sites:
            return False
    return True


def is_sound_proposal(proposal: Proposal, groups: int, sites: int) -> bool:
    """Whether a peer's proposal can be installed."""
    if len(proposal.positions) != groups or len(proposal.frontier) != groups:
        return False
    for front in proposal.frontier:
        if len(front) != sites:
            return False
    seen: set[int] = set()
    for site in proposal.members:
        if site >= sites or site in seen:
            return False
        seen.add(site)
    for site in proposal.absent:  # noqa: SIM110
        if site >= sites:
            return False
    return True
