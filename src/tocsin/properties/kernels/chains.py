"""The smallest witness of broken causal order: the shortest chain from a message to one delivered before it.

Each link has two rows, and two deliveries are late and early. The late delivery may itself be where the chain begins:
its site delivered the effect, then the cause, and only then broadcast what leads to the effect. That saves a row.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Ints, running_max_before
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.facts import Spot

STEPS_MAX: Final = 2_000_000  # of the search for a shorter chain; after that, the shortest found so far


class _Link(NamedTuple):
    """A site saw a cause, in one row, and then broadcast the effect, in another."""

    cause: int
    cause_row: int
    effect: int
    effect_row: int


def find_chain(case: Case, late: Ints) -> tuple[tuple[Spot, ...], str]:
    """`late`: deliveries (indices into the sequences) that come after an effect of theirs; at least one."""
    at, links = _find_direct_here(case, late) or _find_direct(case, late) or _find_longer(case, late)
    log = int(case.sequence_log[at])
    cause, effect = links[0].cause, links[-1].effect
    rows = [row for link in links for row in (link.cause_row, link.effect_row)]
    rows += [int(case.sequence[case.delivery(log, np.array([effect]))[0]]), int(case.sequence[at])]
    how = " and then ".join(
        f"site {case.site(int(case.rows.log[link.effect_row]))} broadcast {case.text(link.effect)} "
        f"when it had seen {case.text(link.cause)}"
        for link in links
    )
    words = f"site {case.site(log)} delivered {case.text(effect)} before {case.text(cause)}, but {how}"
    return tuple(case.spot(row) for row in dict.fromkeys(rows)), words


def _find_direct_here(case: Case, late: Ints) -> tuple[int, list[_Link]] | None:
    """A late delivery of a message whose effect the same site broadcast after that."""
    mine = np.where(
        case.source[case.sequence_message] == case.sequence_log, case.first_broadcast[case.sequence_message], -1
    )
    base = case.sequence_log * len(case.message)  # a later log is above all before it
    limit = running_max_before(np.where(mine >= 0, mine + base, -1), -1) - base
    direct = late[case.sequence[late] < limit[late]]
    if len(direct) == 0:
        return None
    at, row = int(direct[0]), int(limit[direct[0]])
    return at, [_Link(int(case.sequence_message[at]), int(case.sequence[at]), int(case.message[row]), row)]


def _find_direct(case: Case, late: Ints) -> tuple[int, list[_Link]] | None:
    """A late delivery of a message whose effect was broadcast by a site that had itself seen the message."""
    for log in np.unique(case.sequence_log[late]).tolist():
        begin, end = case.sequence_bounds[log], case.sequence_bounds[log + 1]
        messages = case.sequence_message[begin:end]
        source = case.source[messages]
        places = late[case.sequence_log[late] == log] - begin
        causes = messages[places]
        for site in np.unique(source[source >= 0]).tolist():
            reach = np.where(source == site, case.first_broadcast[messages], -1)
            limit = running_max_before(reach, -1)[places]
            delivered = case.delivery(site, causes)
            seen = np.where(delivered >= 0, case.sequence[delivered], np.iinfo(np.int64).max)
            own = case.source[causes] == site
            seen[own] = np.minimum(seen[own], case.first_broadcast[causes[own]])
            direct = np.flatnonzero(seen < limit)
            if len(direct):
                row = int(limit[direct[0]])
                cause = int(causes[direct[0]])
                link = _Link(cause, int(seen[direct[0]]), int(case.message[row]), row)
                return int(places[direct[0]] + begin), [link]
    return None


def _find_longer(case: Case, late: Ints) -> tuple[int, list[_Link]]:
    search = _Search(case)
    best: list[_Link] = []
    best_at = -1
    rows = 0  # of the best
    for at in late.tolist():
        begin = case.sequence_bounds[case.sequence_log[at]]
        before = set(case.sequence_message[begin:at].tolist())
        search.steps += len(before)
        message = int(case.sequence_message[at])
        here = (int(case.sequence_log[at]), int(case.sequence[at]))
        links = search.chain(message, [here], before, rows // 2)
        if links:
            best, best_at, rows = links, at, 2 * len(links) + 1
        links = search.chain(message, search.seen(message), before, (rows - 1) // 2 if rows else 0)
        if links:
            best, best_at, rows = links, at, 2 * len(links) + 2
        if best and search.steps > STEPS_MAX:
            break
    return best_at, best


class _Search:
    """Breadth first through what each site broadcast after it had seen a message."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.steps = 0
        rows = np.sort(case.first_broadcast[case.first_broadcast >= 0])
        ends = np.searchsorted(case.rows.log[rows], np.arange(len(case.facts.whole) + 1))
        self._broadcasts = [rows[low:high].tolist() for low, high in pairwise(ends.tolist())]

    def chain(self, message: int, seen: list[tuple[int, int]], before: set[int], below: int) -> list[_Link]:
        """The shortest chain from a message, seen at some logs and rows, to one of `before`, if it has fewer links than
        `below` (0: any).
        """
        came_by: dict[int, _Link] = {}
        reached = [len(own) for own in self._broadcasts]  # by log: from here on its broadcasts are reached
        edge = [message]
        depth = 0
        while edge and (below == 0 or depth + 1 < below):
            depth += 1
            fresh: list[int] = []
            for cause in edge:
                for log, row in seen if cause == message else self.seen(cause):
                    own = self._broadcasts[log]
                    while reached[log] > 0 and own[reached[log] - 1] > row:
                        reached[log] -= 1
                        self.steps += 1
                        effect_row = own[reached[log]]
                        effect = int(self._case.message[effect_row])
                        if effect != message and effect not in came_by:
                            came_by[effect] = _Link(cause, row, effect, effect_row)
                            fresh.append(effect)
            end = next((effect for effect in fresh if effect in before), None)
            if end is not None:
                return _links_to(end, message, came_by)
            edge = fresh
        return []

    def seen(self, message: int) -> list[tuple[int, int]]:
        """The logs in which a message was broadcast or delivered, and the rows."""
        case = self._case
        one = np.array([message])
        found: list[tuple[int, int]] = []
        for log in range(len(case.facts.whole)):
            at = int(case.delivery(log, one)[0])
            if at >= 0:
                found.append((log, int(case.sequence[at])))
        row = int(case.first_broadcast[message])
        if row >= 0:
            found.append((int(case.rows.log[row]), row))
        return found


def _links_to(end: int, start: int, came_by: dict[int, _Link]) -> list[_Link]:
    links = [came_by[end]]
    while links[-1].cause != start:
        links.append(came_by[links[-1].cause])
    return links[::-1]
