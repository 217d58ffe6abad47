"""Causal order: no site delivers a message after one that it may have caused (docs/guarantees.md, section 4)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tocsin.properties.obstacles import NO_BROADCASTS
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Message, Run, text
from tocsin.traces.rows import BROADCAST, Row

FEWEST_ROWS: Final = 3  # that a witness may have
Sightings = dict[str, list[tuple[Message, Row]]]  # by site: what it saw, in log order


def find_causal(run: Run) -> Finding:
    obstacle = run.truncation or run.shortening
    if not run.broadcasts:
        return Finding(run.delivered, obstacle=obstacle or run.lacking(NO_BROADCASTS))
    past = _pasts(run)
    late: list[tuple[str, Message]] = []
    for site, sequence in run.sequences.items():
        caused = 0  # what may have caused the messages delivered so far
        for message in sequence:
            bit, causes = past[message]
            if caused & bit:
                late.append((site, message))
            caused |= causes
    if not late:
        return Finding(run.delivered, obstacle=obstacle)
    rows, why = _tell(run, *_shortest_chain(run, late))
    return Finding(run.delivered, len(late), rows, why, obstacle)


def _seen(run: Run, log: Log) -> Iterator[tuple[Message, Row]]:
    """What a site may have been caused by, in log order: first broadcasts, and the deliveries of its sequence."""
    for message, row in log.entries:
        if row.event == BROADCAST:
            if run.broadcasts[message] is row:
                yield message, row
        elif log.sequence.get(message) is row:
            yield message, row


def _pasts(run: Run) -> dict[Message, tuple[int, int]]:
    """By message: its bit, and the bits of all messages that may have caused it.

    All logs are walked again until nothing changes, about in the order of their times, so that mostly one walk finds
    everything; but nothing depends on the times.
    """
    walk: list[tuple[int, str, Message, bool]] = []  # time, site, message, whether it is broadcast
    for log in run.logs.values():
        time_us = min((entry.row.time_us for entry in log.entries), default=0)
        for message, row in _seen(run, log):
            time_us = max(time_us, row.time_us)  # a log stays in its order
            walk.append((time_us, log.name, message, row.event == BROADCAST))
    walk.sort(key=lambda each: each[0])
    bits: dict[Message, int] = {}
    for _, _, message, _ in walk:
        if message not in bits:
            bits[message] = 1 << len(bits)
    past = dict.fromkeys(bits, 0)
    changed = True
    while changed:
        changed = False
        seen = dict.fromkeys(run.logs, 0)  # by site: what it has seen so far, and all that may have caused it
        for _, site, message, is_broadcast in walk:
            if is_broadcast and past[message] != past[message] | seen[site]:
                past[message] |= seen[site]
                changed = True
            seen[site] |= past[message] | bits[message]
    return {message: (bits[message], causes) for message, causes in past.items()}


class _Link(NamedTuple):
    """A site saw a cause, and then broadcast the effect."""

    cause: Message
    seen: Row
    effect: Message
    broadcast: Row


def _shortest_chain(run: Run, late: list[tuple[str, Message]]) -> tuple[str, list[_Link]]:
    """The site of a late delivery, and links from its message to one delivered there before it, with the fewest rows:
    two for each link and two deliveries, one less if the late delivery is itself where the chain begins.
    """
    sightings = {site: list(_seen(run, log)) for site, log in run.logs.items()}
    best: list[_Link] = []
    best_site = ""
    rows = 0  # of the best
    for site, message in late:
        before: set[Message] = set()
        for each in run.sequences[site]:
            if each == message:
                break
            before.add(each)
        late_row = run.sequences[site][message]
        since = [(each, row) for each, row in sightings[site] if row.order >= late_row.order]
        links = _chain(sightings, {site: since}, message, before, rows // 2)
        if links:
            best, best_site, rows = links, site, 2 * len(links) + 1
        links = _chain(sightings, sightings, message, before, (rows - 1) // 2 if rows else 0)
        if links:
            best, best_site, rows = links, site, 2 * len(links) + 2
        if rows == FEWEST_ROWS:
            break
    return best_site, best


def _chain(sightings: Sightings, first: Sightings, start: Message, before: set[Message], below: int) -> list[_Link]:
    """A search in breadth for the shortest chain, if it has fewer links than `below` (0: any). `first`: where its first
    link may be.
    """
    came_by: dict[Message, _Link] = {}
    edge = {start}
    depth = 0
    while edge and (below == 0 or depth + 1 < below):
        depth += 1
        fresh: set[Message] = set()
        for seen_there in (first if depth == 1 else sightings).values():
            cause: tuple[Message, Row] | None = None  # the first of the edge that this site saw
            for message, row in seen_there:
                if cause is not None and row.event == BROADCAST and message != start and message not in came_by:
                    came_by[message] = _Link(*cause, message, row)
                    fresh.add(message)
                if cause is None and message in edge:
                    cause = (message, row)
        ends = sorted(fresh & before)
        if ends:
            links = [came_by[ends[0]]]
            while links[0].cause != start:
                links.insert(0, came_by[links[0].cause])
            return links
        edge = fresh
    return []


def _tell(run: Run, site: str, links: list[_Link]) -> tuple[tuple[Row, ...], str]:
    cause, effect = links[0].cause, links[-1].effect
    rows = [row for link in links for row in (link.seen, link.broadcast)]
    rows += [run.sequences[site][effect], run.sequences[site][cause]]
    how = " and then ".join(
        f"site {link.broadcast.site} broadcast {text(link.effect)} when it had seen {text(link.cause)}"
        for link in links
    )
    why = f"site {run.logs[site].site} delivered {text(effect)} before {text(cause)}, but {how}"
    return tuple(dict.fromkeys(rows)), why
