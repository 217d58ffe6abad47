"""From the reports of a majority to the next graph: section 5.2.1, what the manager works out.

A site that reports has stopped, so nobody who takes part has more of the present graph than it says. What the one with
most of a group has counts, and the others get it from there; what only sites without report have does not count, and is
undone when they are back. The survivors' deliveries are beginnings of one order of the graph (the keys, order.py), so
what one lacks comes after all it has.

A group of whose live members nobody reports is dead from then on: nobody knows what was delivered in it last. The
others go on without; nothing is ordered in the group. The first of those members that is back says how far it was: the
next graph has that as the group's end (`Decision.ends`), and its members go on from there.
"""

from typing import Final

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.propagation_graph.messages import Change, Decision, Report

OPEN: Final = 1 << 60  # of finals: how many messages count is not known, since all that know it are away


class Revival:
    """Somebody is back who knows the end of a dead group: how many messages there were, how far its sources were."""

    def __init__(self, rank: int, places: list[tuple[GroupId, SiteId, int]]) -> None:
        self.rank = rank
        self.places = places


Changes = dict[tuple[SiteId, int], Change]
Revivals = dict[GroupId, Revival]


def is_dead(decision: Decision, group: GroupId) -> bool:
    for dead, _ in decision.dead:  # noqa: SIM110  (a generator would not compile to plain code)
        if dead == group:
            return True
    return False


def live_members(decision: Decision, group: GroupId) -> list[SiteId]:
    """Those that order and deliver in the graph; of a dead group nobody does."""
    if is_dead(decision, group):
        return []
    return [site for site in decision.groups[group] if site not in decision.away]


def may_decide(sites: int, reporters: list[SiteId]) -> bool:
    return 2 * len(reporters) > sites


def next_decision(
    present: Decision,
    sites: int,
    reports: dict[SiteId, Report],
    changes: Changes,
    revivals: Revivals,
    anew: dict[SiteId, int] | None = None,
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
    groups, applied = apply_changes(present, changes)
    dead, ends = _deaths(present, [site for site in sorted(reports) if not reports[site].is_behind], revivals)
    dying = [group for group, graph in dead if graph == present.number]
    away: list[SiteId] = []
    for site in range(sites):
        if site not in reports or reports[site].is_behind or _waits(present, site, dying):
            away.append(site)
    return Decision(
        present.number + 1,
        tuple(groups),
        tuple(sorted(applied.items())),
        tuple(away),
        _finals(present, reports),
        _places(present, groups, reports, revivals, tuple(away)),
        tuple(dead),
        tuple(ends),
        anew=tuple(sorted({**dict(present.anew), **(anew or {})}.items())),
    )


def _deaths(
    present: Decision, reporters: list[SiteId], revivals: Revivals
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """The dead groups of the next graph: of whose live members nobody reports; and the ends of those that are not any
    more."""
    dead: list[tuple[int, int]] = []
    ends: list[tuple[int, int, int]] = []
    since = dict(present.dead)
    for group in range(len(present.groups)):
        if group in since:
            if group in revivals:
                ends.append((group, since[group], revivals[group].rank))
            else:
                dead.append((group, since[group]))
        else:
            live = live_members(present, group)
            if live and not [site for site in live if site in reporters]:
                dead.append((group, present.number))
    return dead, ends


def _waits(present: Decision, site: SiteId, dying: list[GroupId]) -> bool:
    """Whether a site that was away needs messages of a group that dies now: it will have to wait for its end."""
    return site in present.away and bool([group for group in dying if site in present.groups[group]])


def _finals(present: Decision, reports: dict[SiteId, Report]) -> tuple[int, ...]:
    """By group: what the one with most of it has counts. Where nobody knows, all of it, until somebody does."""
    finals: list[int] = []
    for group in range(len(present.groups)):
        known = [
            reports[site].ranks[group]
            for site in live_members(present, group)
            if site in reports and group < len(reports[site].ranks)
        ]
        if known:
            finals.append(max(known))
        else:
            finals.append(OPEN if live_members(present, group) else 0)
    return tuple(finals)


def apply_changes(present: Decision, changes: Changes) -> tuple[list[tuple[int, ...]], dict[SiteId, int]]:
    """The groups with the changes whose turn it is, and how many of each asker are in then."""
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


def changed_groups(present: Decision, groups: list[tuple[int, ...]]) -> list[GroupId]:
    """The groups that get or lose members."""
    return [group for group in range(len(present.groups)) if groups[group] != present.groups[group]]


def returned_groups(present: Decision, reporters: list[SiteId]) -> list[GroupId]:
    """The groups of sites that were away and report: they may have missed some of their messages for good."""
    found: list[GroupId] = []
    for group in range(len(present.groups)):
        if [site for site in present.groups[group] if site in present.away and site in reporters]:
            found.append(group)
    return found


def counted_groups(present: Decision, changes: Changes) -> list[GroupId]:
    """The groups in which somebody may be new or back: how far their sources are has to be reported."""
    groups, _ = apply_changes(present, changes)
    return sorted({*changed_groups(present, groups), *returned_groups(present, list(present.away))})


def _places(
    present: Decision,
    groups: list[tuple[int, ...]],
    reports: dict[SiteId, Report],
    revivals: Revivals,
    away: tuple[int, ...],
) -> tuple[tuple[int, int, int], ...]:
    """How far each source has got in the groups with members that are new or back, and in those without any that are
    there: who comes later finds it here."""
    counted = {*changed_groups(present, groups), *returned_groups(present, sorted(reports)), *revivals}
    for group in range(len(groups)):
        if not [site for site in groups[group] if site not in away]:
            counted.add(group)
    most: dict[tuple[GroupId, SiteId], int] = {}
    for group, source, place in present.places:
        if group in counted and not live_members(present, group):
            most[(group, source)] = place
    for site in sorted(reports):
        for group, source, place in reports[site].places:
            if group in counted and group < len(present.groups) and site in live_members(present, group):
                most[(group, source)] = max(most.get((group, source), 0), place)
    for group in sorted(revivals):
        for revived, source, place in revivals[group].places:
            if revived == group:
                most[(group, source)] = max(most.get((group, source), 0), place)
    return tuple([(group, source, most[(group, source)]) for group, source in sorted(most)])


def resolved(decision: Decision, ends: dict[tuple[GroupId, int], int]) -> Decision:
    """The decision with the ends of groups that died with it, as far as they are known by now."""
    finals = list(decision.finals)
    for group in range(len(finals)):
        if finals[group] == OPEN and (group, decision.number - 1) in ends:
            finals[group] = ends[(group, decision.number - 1)]
    return Decision(
        decision.number,
        decision.groups,
        decision.applied,
        decision.away,
        tuple(finals),
        decision.places,
        decision.dead,
        decision.ends,
        anew=decision.anew,
    )
