"""From the promises of a majority to the next view: what may have been delivered is kept, in its place.

An entry of a view is safe when all members of the view have counted it; only then does anybody deliver it. Members that
promise have stopped counting. Among those who promise, take the ones whose last vote was for the largest view:
- What that view took over, they were told to keep, so it is kept.
- An entry of that view which one of them has not counted was delivered by nobody and will be by nobody; it ends there,
  with all that follows it, and its sender announces it again in a new place.
- An entry that all of them have counted may have been delivered by one that does not promise. It is kept.
What is kept and not known to be safe is counted again in the new view, in its old place, and delivered when all members
of the new view have it.

Why nothing safe is ever left out. A view has a majority of the voters among its members, and is decided by such a
majority. Any two majorities share a site. So whoever makes a later view hears from a member of that one, or from
somebody who voted for a later one, which by the same argument has kept what was safe.

Voters change with a view, one at a time, and a majority of the voters before and after must agree to it, and to
whatever follows until that view is known to be decided. A site that lost its disk has another incarnation than the one
that is a voter: its promise does not count until a view lists the new one.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.protocols.counter_token.messages import Carried, Item, Mark, Promise, View, Voters
from tocsin.protocols.counter_token.ring import RUNS_MAX, checked_slot
from tocsin.protocols.counter_token.seats import Wish, seated

MARKS_OF_ALL: Final = 8  # ends of views that every view names
MARKS_OF_ABSENT: Final = 4  # … and of those that a site which is away was last a member of
CARRIED_MAX: Final = 1 << 16


def is_majority(voters: Voters, present: dict[SiteId, int]) -> bool:
    """Whether most of the voters are among those present, by site: their incarnations."""
    found = 0
    for site, incarnation in voters:
        if present.get(site, 0) == incarnation:
            found += 1
    return 2 * found > len(voters)


def decides(view: View, present: dict[SiteId, int]) -> bool:
    """Whether those present may decide about a view: most of the voters before it, and of its own."""
    return is_majority(view.voters, present) and is_majority(view.before, present)


def may_follow(view: View, present: dict[SiteId, int], is_decided: bool) -> bool:
    """Whether those present may decide about what follows a view: its voters, and as long as it may not be decided,
    those before it, too."""
    return is_majority(view.voters, present) and (is_decided or is_majority(view.before, present))


def voting(promises: dict[SiteId, Promise]) -> dict[SiteId, int]:
    """By site: the incarnation of those whose promise counts."""
    return {site: promises[site].incarnation for site in sorted(promises) if not promises[site].in_doubt}


def last_view(promises: dict[SiteId, Promise]) -> View | None:
    """The largest view that anybody has voted for."""
    best: View | None = None
    for site in sorted(promises):
        accepted = promises[site].accepted
        if accepted is not None and (best is None or accepted.ballot > best.ballot):
            best = accepted
    return best


def kept_entries(last: View, promises: dict[SiteId, Promise], start: int) -> list[Carried]:
    """What the next view takes over, by place."""
    kept = [entry for entry in last.carried if entry.place >= start]
    reports = [promises[site] for site in sorted(promises) if _voted_for(promises[site], last)]
    counted: list[set[int]] = []
    known: dict[int, Item] = {}
    for report in reports:
        mine: set[int] = set()
        if report.installed == last.ballot:
            for item in report.items:
                if item.place >= last.base and item.place >= start:
                    known[item.place] = item
                    if item.counted:
                        mine.add(item.place)
        counted.append(mine)
    for place in sorted(known):
        for mine in counted:
            if place not in mine:
                return kept
        item = known[place]
        kept.append(Carried(place, item.group, item.sender, item.ranges))
    return kept


def _voted_for(promise: Promise, view: View) -> bool:
    return promise.accepted is not None and promise.accepted.ballot == view.ballot


def next_voters(
    last: View, members: list[SiteId], promises: dict[SiteId, Promise], wishes: list[Wish], majority: bool
) -> Voters:
    """The voters of the next view: at most one is another than before."""
    present = voting(promises)
    changed: list[dict[SiteId, int]] = []
    for site, incarnation in last.voters:
        promise = promises.get(site)
        if promise is not None and promise.incarnation > incarnation and not promise.lagging:
            changed.append({**dict(last.voters), site: promise.incarnation})
    for seat in last.seats:
        voters = dict(last.voters)
        if seat.votes and seat.site not in voters and seat.site in members and not promises[seat.site].lagging:
            changed.append({**voters, seat.site: promises[seat.site].incarnation})
    for wish in wishes:
        voters = dict(last.voters)
        if wish.address and not wish.add:
            continue
        if wish.add and wish.site not in voters and wish.site in members and wish.site not in last.removed:
            if not promises[wish.site].lagging:
                changed.append({**voters, wish.site: promises[wish.site].incarnation})
        elif not wish.add and wish.site in voters and len(voters) > 1:
            del voters[wish.site]
            changed.append(voters)
    for voters in changed:
        following = tuple([(site, voters[site]) for site in sorted(voters)])
        inside = {site: incarnation for site, incarnation in present.items() if site in members}
        if not majority or is_majority(following, inside):
            return following
    return last.voters


def propose(
    ballot: int,
    last: View,
    promises: dict[SiteId, Promise],
    leaving: list[SiteId],
    wishes: list[Wish],
    is_decided: bool,
    majority: bool,
    sites: int = 0,
    recovers: bool = False,
) -> View:
    """The next view. `is_decided`: the last one is known to be. `sites`: the limit of numbers. `recovers`: whoever is
    here goes on, whatever the others had."""
    furthest = min(promises)
    for site in sorted(promises):
        if promises[site].ordered > promises[furthest].ordered:
            furthest = site
    report = promises[furthest]
    start: int = max(report.ordered, last.start)
    positions, frontier = report.positions, report.frontier
    if report.ordered < last.start:
        positions, frontier = last.positions, last.frontier
    carried = kept_entries(last, promises, start)
    highest = max(start, last.base)
    for site in promises:
        for item in promises[site].items:
            highest = max(highest, item.place + 1)
    seats, unseated = seated(last, wishes, sites)
    removed = [*last.removed, *unseated]
    members = [site for site in sorted(promises) if site not in leaving and site not in removed]
    before: Voters = last.voters if is_decided else last.before
    voters = last.voters
    if recovers:
        voters = before = _survivors(last, members, promises)
    elif is_decided or last.voters == last.before:
        voters = next_voters(last, members, promises, wishes, majority)
    kept_voters = dict(voters)
    for site, _ in last.voters:
        if site not in kept_voters and not recovers:
            removed.append(site)
    members = _list_order(last, [site for site in members if site not in removed])
    known = {*last.absent, *last.members, *[site for site, _ in voters]}
    absent = [site for site in sorted(known) if site not in members and site not in removed]
    base = -(-highest // RUNS_MAX) * RUNS_MAX
    marks = _marks(last, start, carried, absent)
    return View(
        ballot,
        tuple(members),
        tuple([promises[site].incarnation for site in members]),
        voters,
        before,
        tuple(sorted(removed)),
        tuple(absent),
        start,
        base,
        positions,
        frontier,
        tuple(carried),
        marks,
        tuple([(site, promises[site].floor) for site in sorted(members)]),
        seats,
    )


def _survivors(last: View, members: list[SiteId], promises: dict[SiteId, Promise]) -> Voters:
    """Who votes after a recovery: the voters that are here with their disks, or, if there is none, who knows the last
    view."""
    found = tuple([(site, inc) for site, inc in last.voters if site in members and promises[site].incarnation == inc])
    if found:
        return found
    return tuple([(site, promises[site].incarnation) for site in members if promises[site].accepted is not None])


def _list_order(last: View, members: list[SiteId]) -> list[SiteId]:
    """The token-passing-list: those of the last one as they were, then the others."""
    old = [site for site in last.members if site in members]
    return old + [site for site in members if site not in old]


def _marks(last: View, start: int, carried: list[Carried], absent: list[SiteId]) -> tuple[Mark, ...]:
    """How the last view ended, and those before it that somebody may still ask for."""
    every = [*last.marks, Mark(last.ballot, last.members, start, tuple([entry.place for entry in carried]))]
    wanted: set[int] = {mark.view for mark in every[-MARKS_OF_ALL:]}
    for site in absent:
        own = [mark.view for mark in every if site in mark.members]
        wanted.update(own[-MARKS_OF_ABSENT:])
    return tuple([mark for mark in every if mark.view in wanted])


# What a peer says


def is_sound_view(view: View, groups: int, sites: int) -> bool:
    """Whether a peer's view can be installed."""
    if not _is_sound_state(view.positions, view.frontier, groups, sites) or not view.members or not view.voters:
        return False
    if len(set(view.members)) != len(view.members) or max(view.members) >= sites:
        return False
    if len(view.incarnations) != len(view.members):
        return False
    for site, _ in (*view.voters, *view.before):
        if site >= sites:
            return False
    for site in (*view.absent, *view.removed):
        if site >= sites:
            return False
    if len(view.seats) > sites or [place for place, seat in enumerate(view.seats) if seat.site != place]:
        return False
    place = view.start - 1
    for entry in view.carried:
        if entry.place <= place or entry.place >= view.base or entry.group >= groups or entry.sender >= sites:
            return False
        if checked_slot(entry.place, 0, entry.sender, entry.group, entry.ranges) is None:
            return False
        place = entry.place
    return len(view.carried) <= CARRIED_MAX


def is_sound_promise(promise: Promise, groups: int, sites: int) -> bool:
    """Whether a peer's promise can be reckoned with."""
    if not _is_sound_state(promise.positions, promise.frontier, groups, sites):
        return False
    for item in promise.items:
        if item.group >= groups or item.sender >= sites:
            return False
        if checked_slot(item.place, 0, item.sender, item.group, item.ranges) is None:
            return False
    return promise.accepted is None or is_sound_view(promise.accepted, groups, sites)


def _is_sound_state(positions: tuple[int, ...], frontier: tuple[tuple[int, ...], ...], groups: int, sites: int) -> bool:
    if len(positions) != groups or len(frontier) != groups:
        return False
    for front in frontier:  # noqa: SIM110  (a generator would not compile to plain code)
        if len(front) != sites:
            return False
    return True
