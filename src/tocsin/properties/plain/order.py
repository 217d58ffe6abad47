"""FIFO order, the papers' three orders, and no cycle over any number of sites (docs/guarantees.md, section 4)."""

from collections.abc import Callable
from typing import NamedTuple

from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Message, Run, text
from tocsin.traces.rows import Row


def find_fifo(run: Run) -> Finding:
    """Each site delivers the messages of one origin to one group in the order of their numbers."""
    late: list[tuple[str, Message, Message]] = []  # site, message, one with a greater number before it
    for site, sequence in run.sequences.items():
        highest: dict[tuple[str, str], Message] = {}  # of each stream, so far
        for message in sequence:
            stream = message[:2]
            before = highest.get(stream)
            if before is None or before[2] < message[2]:
                highest[stream] = message
            else:
                late.append((site, message, before))
    if not late:
        return Finding(run.delivered, obstacle=run.truncation)
    site, message, before = late[0]
    rows = (run.sequences[site][before], run.sequences[site][message])
    why = f"site {run.logs[site].site} delivered {text(message)} after {text(before)}"
    return Finding(run.delivered, len(late), rows, why, run.truncation)


class Link(NamedTuple):
    """At one site, one message before another."""

    log: str
    message: Message
    after: Message


Parts = tuple[tuple[str, ...], ...]  # a stream, a group, or two groups


def find_single_source(run: Run) -> Finding:
    """No two messages of one origin to one group are inverted."""
    return _inversions(run, _inverted(run, lambda message: message[:2], across=False))


def find_multiple_source(run: Run) -> Finding:
    """No two messages to one group are inverted."""
    return _inversions(run, _inverted(run, lambda message: message[:1], across=False))


def find_multiple_group(run: Run) -> Finding:
    """No two messages at all are inverted."""
    return _inversions(run, _inverted(run, lambda message: message[:1], across=True))


def _inverted(run: Run, part_of: Callable[[Message], tuple[str, ...]], across: bool) -> dict[Parts, list[Link]]:
    """By part, or two parts if inversions are also looked for across them: the two links of an inversion.

    On the way along the other's sequence each message is compared with that of each part which came last at the one.
    """
    found: dict[Parts, list[Link]] = {}
    for one, other, places in run.contradicting:
        highest: dict[tuple[str, ...], Message] = {}  # of each part: what has the greatest place so far
        for message, place in places.items():
            own = part_of(message)
            for part in highest if across else (own,):
                before = highest.get(part)
                if before is not None and places[before] > place:
                    parts = (own, part) if own <= part else (part, own)
                    if parts not in found:
                        found[parts] = [Link(one, message, before), Link(other, before, message)]
            if own not in highest or places[highest[own]] < place:
                highest[own] = message
    return found


def _inversions(run: Run, inverted: dict[Parts, list[Link]]) -> Finding:
    if not inverted:
        return Finding(run.delivered, obstacle=run.truncation)
    links = next(iter(inverted.values()))
    one, other = links
    why = (
        f"site {run.logs[one.log].site} delivered {text(one.message)} before {text(one.after)}, "
        f"site {run.logs[other.log].site} the other way round"
    )
    return Finding(run.delivered, len(inverted), _rows(run, links), why, run.truncation)


def find_acyclic(run: Run) -> Finding:
    """There is one order of all messages that every sequence respects."""
    following = _following(run)
    tangled = [message for message, (bit, after) in following.items() if after & bit]
    if not tangled:
        return Finding(run.delivered, obstacle=run.truncation)
    inverted = _inverted(run, lambda message: (), across=False)
    links = next(iter(inverted.values())) if inverted else _shortest_cycle(run, tangled)
    why = ", ".join(
        f"site {run.logs[link.log].site} delivered {text(link.message)} before {text(link.after)}" for link in links
    )
    return Finding(run.delivered, len(tangled), _rows(run, links), why, run.truncation)


def _following(run: Run) -> dict[Message, tuple[int, int]]:
    """By message: its bit, and the bits of all that follow it by m < m' < m'' …, over any number of sites.

    Each sequence is walked from its end, and all of them again until nothing changes.
    """
    bits: dict[Message, int] = {}
    for sequence in run.sequences.values():
        for message in sequence:
            if message not in bits:
                bits[message] = 1 << len(bits)
    following = dict.fromkeys(bits, 0)
    changed = True
    while changed:
        changed = False
        for sequence in run.sequences.values():
            later = 0
            for message in reversed(sequence):
                after = following[message] | later
                if after != following[message]:
                    following[message] = after
                    changed = True
                later = after | bits[message]
    return {message: (bits[message], after) for message, after in following.items()}


def _shortest_cycle(run: Run, tangled: list[Message]) -> list[Link]:
    """A cycle with the fewest links: a search in breadth from each message that is on one."""
    orders = {site: list(sequence) for site, sequence in run.sequences.items()}
    places = {site: {message: place for place, message in enumerate(order)} for site, order in orders.items()}
    best: list[Link] = []
    for start in tangled:
        came_by: dict[Message, Link] = {}
        reached = {site: len(order) for site, order in orders.items()}  # from here on a site's messages are reached
        edge = [start]
        while edge and start not in came_by:
            fresh: list[Message] = []
            for message in edge:
                for site, order in orders.items():
                    place = places[site].get(message, len(order)) + 1
                    for after in order[place : reached[site]]:
                        if after not in came_by:
                            came_by[after] = Link(site, message, after)
                            fresh.append(after)
                    reached[site] = min(reached[site], place)
            edge = fresh
        cycle = [came_by[start]]
        while cycle[0].message != start:
            cycle.insert(0, came_by[cycle[0].message])
        if not best or len(cycle) < len(best):
            best = cycle
    return best


def _rows(run: Run, links: list[Link]) -> tuple[Row, ...]:
    """Two deliveries for each link."""
    return tuple(run.sequences[link.log][message] for link in links for message in (link.message, link.after))
