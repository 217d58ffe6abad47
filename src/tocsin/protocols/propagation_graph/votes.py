"""From the reports of a majority to the next graph: section 5.2.1, what the manager works out.

A site that reports has stopped, so nobody who takes part has more of the present graph than it says. What the one with
most of a group has counts, and the others get it from there; what only sites without report have does not count, and is
undone when they are back. The survivors' deliveries are beginnings of one order of the graph (the keys, order.py), so
what one lacks comes after all it has.
"""

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.propagation_graph.messages import Change, Decision, Report


def live_members(decision: Decision, group: GroupId) -> list[SiteId]:
    return [site for site in decision.groups[group] if site not in decision.away]


def may_decide(present: Decision, sites: int, reporters: list[SiteId]) -> bool:
    """A majority, and of every group somebody who knows what was delivered in it."""
    if 2 * len(reporters) <= sites:
        return False
    for group in range(len(present.groups)):
        live = live_members(present, group)
        if live and not [site for site in live if site in reporters]:
            return False
    return True


def next_decision(
    present: Decision, sites: int, reports: dict[SiteId, Report], changes: dict[tuple[SiteId, int], Change]
) -> Decision:
    """The next graph: what was voted for, if anything was; else of those who reported, with all changes."""
    voted: Decision | None = None
    ballot = 0
    for site in sorted(reports):
        report = reports[site]
        if report.voted and report.voted_ballot > ballot:
            ballot = report.voted_ballot
            voted = report.voted[0]
    if voted is not None:
        return voted
    groups, applied = _apply(present, changes)
    away = [site for site in range(sites) if site not in reports]
    finals: list[int] = []
    for group in range(len(present.groups)):
        most = 0
        for site in live_members(present, group):
            if site in reports and group < len(reports[site].ranks):
                most = max(most, reports[site].ranks[group])
        finals.append(most)
    return Decision(
        present.number + 1,
        tuple(groups),
        tuple(sorted(applied.items())),
        tuple(away),
        tuple(finals),
        _places(present, groups, reports),
    )


def _apply(
    present: Decision, changes: dict[tuple[SiteId, int], Change]
) -> tuple[list[tuple[int, ...]], dict[SiteId, int]]:
    groups = list(present.groups)
    applied = dict(present.applied)
    for asker, number in sorted(changes):
        if number == applied.get(asker, 0):
            change = changes[(asker, number)]
            applied[asker] = number + 1
            while len(groups) <= change.group:
                groups.append(())
            groups[change.group] = change.members
    return groups, applied


def joined_groups(present: Decision, groups: list[tuple[int, ...]]) -> list[GroupId]:
    """The groups that get members they did not have."""
    found: list[GroupId] = []
    for group in range(len(present.groups)):
        if [site for site in groups[group] if site not in present.groups[group]]:
            found.append(group)
    return found


def returned_groups(present: Decision, reporters: list[SiteId]) -> list[GroupId]:
    """The groups of sites that were away and report: they may have missed some of their messages for good."""
    found: list[GroupId] = []
    for group in range(len(present.groups)):
        if [site for site in present.groups[group] if site in present.away and site in reporters]:
            found.append(group)
    return found


def counted_groups(present: Decision, changes: dict[tuple[SiteId, int], Change]) -> list[GroupId]:
    """The groups in which somebody may be new or back: how far their sources are has to be reported."""
    groups, _ = _apply(present, changes)
    return sorted({*joined_groups(present, groups), *returned_groups(present, list(present.away))})


def _places(
    present: Decision, groups: list[tuple[int, ...]], reports: dict[SiteId, Report]
) -> tuple[tuple[int, int, int], ...]:
    """How far each source has got in the groups with members that are new or back."""
    joined = joined_groups(present, groups) + returned_groups(present, sorted(reports))
    most: dict[tuple[GroupId, SiteId], int] = {}
    for site in sorted(reports):
        for group, source, place in reports[site].places:
            if group in joined and site in present.groups[group]:
                most[(group, source)] = max(most.get((group, source), 0), place)
    return tuple([(group, source, most[(group, source)]) for group, source in sorted(most)])
