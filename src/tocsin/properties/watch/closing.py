"""Which messages of a run that goes on can be answered for good, so that their rows need not be held.

A cut says for each stream from which number on its messages are open; all before are closed. A cut is *strict* when
every log delivers what is closed before what is open, and has broadcast what is closed before it did anything with what
is open. Then nothing that properties compare lies on both sides of it: no two messages of the two sides are delivered
in different orders, no chain of causes and no cycle leads back over it, and the two sides may be judged apart. It is
*complete* when every log that delivers in a group has all of it that is closed. Messages are closed at cuts that are
both; where too many rows are held, at one that may be neither, and that is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import BROADCAST, DELIVER, LogPart
from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.parts import has_rows, taken
from tocsin.properties.kernels.slices import LOWEST
from tocsin.properties.kernels.streams import Stream


@dataclass(slots=True)
class Sides:
    """The rows of some parts on both sides of a cut."""

    closed: list[LogPart]
    opened: list[LogPart]


def needed_logs(facts: RunFacts, members: Members) -> dict[str, list[int]]:
    """By group: the logs whose sites have to deliver what is closed of it. Who is down may come back."""
    found: dict[str, list[int]] = {}
    for group in facts.groups:
        sites = {site.site for site in facts.whole if site.is_last and group in site.delivered}
        sites |= members.last(group)
        found[group] = sorted(facts.index.get(site, -1) for site in sites)
    return found


def reached_by_all(facts: RunFacts, needed: dict[str, list[int]]) -> dict[Stream, int]:
    """By stream: one more than the highest number that every needed log has delivered. Streams that some have not begun
    are left out."""
    found: dict[Stream, int] = {}
    streams = {stream for site in facts.whole for stream in site.reached}
    for stream in streams:
        logs = needed.get(stream[0] or "", [])
        if logs and all(log >= 0 and stream in facts.whole[log].reached for log in logs):
            found[stream] = 1 + min(facts.whole[log].reached[stream] for log in logs)
    return found


def reached_half_way(parts: Iterable[LogPart]) -> dict[Stream, int]:
    """A cut that waits for nobody: in the middle of the deliveries that are held of the longest log, one more than the
    highest number of each stream before it."""
    logs: dict[str, list[LogPart]] = {}
    for part in parts:
        logs.setdefault(part.log, []).append(part)
    counts = {log: sum(int(np.count_nonzero(part.event == DELIVER)) for part in own) for log, own in logs.items()}
    if not counts or not max(counts.values()):
        return {}
    longest = max(sorted(counts), key=lambda log: counts[log])
    left = (counts[longest] + 1) // 2
    found: dict[Stream, int] = {}
    for part in logs[longest]:
        rows = np.flatnonzero(part.event == DELIVER)[:left]
        left -= len(rows)
        for number in np.unique(part.stream[rows]).tolist():
            high = int(part.seqno[rows][part.stream[rows] == number].max())
            found[part.streams[number]] = max(found.get(part.streams[number], 0), high + 1)
    return found


def split(parts: Iterable[LogPart], numbers: dict[Stream, int], streams: Iterable[Stream]) -> Sides:
    """Rows on both sides; a stream without a number is open. A reception that names no group may be of any stream of
    its origin (`streams`: those that are known), and lies on each side on which one of them has its number."""
    known: dict[str, list[int]] = {}  # by origin
    for stream in {*numbers, *(each for each in streams if each[0] is not None)}:
        known.setdefault(stream[1], []).append(numbers.get(stream, LOWEST))
    closed: list[LogPart] = []
    opened: list[LogPart] = []
    for part in parts:
        limits = np.array([numbers.get(stream, LOWEST) for stream in part.streams], np.int64)
        lowest, highest = limits.copy(), limits.copy()
        for number, (group, origin) in enumerate(part.streams):
            if group is None:
                lowest[number] = min(known.get(origin, [LOWEST]))
                highest[number] = max(known.get(origin, [LOWEST]))
        before = part.seqno < limits[part.stream]
        got_before = part.receipt_seqno < highest[part.receipt_stream]
        got_behind = part.receipt_seqno >= lowest[part.receipt_stream]
        early = [each for each in part.duplicates if each[1] < numbers.get(each[0], LOWEST)]
        late = [each for each in part.duplicates if each[1] >= numbers.get(each[0], LOWEST)]
        sides = (
            taken(part, np.flatnonzero(before), np.flatnonzero(got_before), early),
            taken(part, np.flatnonzero(~before), np.flatnonzero(got_behind), late),
        )
        closed += filter(has_rows, sides[:1])
        opened += filter(has_rows, sides[1:])
    return Sides(closed, opened)


def is_strict(sides: Sides) -> bool:
    """Whether every log keeps the two sides apart."""
    last: dict[str, tuple[int, int]] = {}  # by log: orders of the last delivery and the last broadcast that are closed
    for part in sides.closed:
        delivered, sent = last.get(part.log, (-1, -1))
        last[part.log] = (
            max(delivered, _last(part, DELIVER)),
            max(sent, _last(part, BROADCAST)),
        )
    for part in sides.opened:
        delivered, sent = last.get(part.log, (-1, -1))
        deliveries = part.order[part.event == DELIVER]
        if len(deliveries) and int(deliveries[0]) < delivered:
            return False
        if len(part.order) and int(part.order[0]) < sent:
            return False
    return True


def _last(part: LogPart, event: int) -> int:
    found = part.order[part.event == event]
    return int(found[-1]) if len(found) else -1


def lacking(case: Case, needed: dict[str, list[int]]) -> set[str]:
    """The sites that do not have all of what is closed, of the groups that they deliver in. Messages that were given up
    are owed by nobody; who was told that it misses some lacks them."""
    groups = case.group_of_stream[case.stream_of]
    owed = np.ones(case.count, np.bool_)
    for site in case.facts.whole:
        owed[case.numbers(site.lost)] = False
    found: set[str] = set()
    for number, group in enumerate(case.group_names):
        wanted = np.flatnonzero((groups == number) & owed)
        for log in needed.get(group, []):
            if log < 0:
                found.add("")
                continue
            has = case.delivery(log, wanted) >= 0
            has |= np.isin(wanted, case.duplicates(log))
            if not has.all():
                found.add(case.site(log))
    return found
