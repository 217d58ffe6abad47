"""A run too large to be opened at once is cut into slices of messages, by the numbers of each stream.

A cut says for each stream from which number on its messages are behind it. Cuts follow a site's deliveries, so
that at every site the messages of one slice lie close together. A window is a few slices (its core) and one more
on each side: whatever two messages do to each other, at least one window with one of them in its core has both,
if no site lets a message of one slice come before a message of the slice before the one before it. `Extents` of
all windows together show whether that is so: what windows find is then what opening the whole run would find.
Causes may go through many messages: there the windows also have to show that no such chain leaves them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Codes, Flags, Ints
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import LogPart
from tocsin.properties.kernels.index import PartIndex
from tocsin.properties.kernels.parts import taken
from tocsin.properties.kernels.streams import Stream

LOWEST: Final = -(1 << 63)
HIGHEST: Final = (1 << 63) - 1
NOTHING: Final = (HIGHEST, LOWEST)  # no number is at least the one and at most the other


@dataclass(slots=True)
class Cuts:
    """`numbers`: by stream, the first number behind each cut, rising; one more than HIGHEST if nothing is behind it."""

    slices: int
    numbers: dict[Stream, list[int]]

    def interval(self, stream: Stream, first: int, end: int) -> tuple[int, int]:
        """The first and the last number of a stream that lie in the slices from `first` to `end`."""
        cuts = self.numbers.get(stream, [])
        if not cuts:  # all in the first slice
            return (LOWEST, HIGHEST) if first <= 0 < end else NOTHING
        low = LOWEST if first <= 0 else cuts[first - 1]
        high = HIGHEST if end >= self.slices else cuts[end - 1] - 1
        return (low, high) if low <= high else NOTHING

    def intervals(self, stream: Stream, first: int, end: int) -> list[tuple[int, int]]:
        """The same of any stream; a receive row that names no group may be of any group."""
        group, origin = stream
        if group is not None:
            return [self.interval(stream, first, end)]
        of_origin = [other for other in self.numbers if other[1] == origin]
        return [self.interval(other, first, end) for other in of_origin]

    def holds(self, streams: list[Stream], stream: Codes | Ints, seqno: Ints, first: int, end: int) -> Flags:
        """By message: whether it lies in the slices from `first` to `end`."""
        inside = np.zeros(len(stream), np.bool_)
        widest = max((len(self.intervals(each, first, end)) for each in streams), default=0)
        for choice in range(widest):
            low = np.full(len(streams), NOTHING[0], np.int64)
            high = np.full(len(streams), NOTHING[1], np.int64)
            for number, each in enumerate(streams):
                found = self.intervals(each, first, end)
                if choice < len(found):
                    low[number], high[number] = found[choice]
            inside |= (seqno >= low[stream]) & (seqno <= high[stream])
        return inside

    def slice_of(self, streams: list[Stream], stream: Ints, seqno: Ints) -> Ints:
        """By message: its slice."""
        found = np.zeros(len(stream), np.int64)
        order = np.argsort(stream, kind="stable")
        bounds = np.searchsorted(stream[order], np.arange(len(streams) + 1))
        for number, each in enumerate(streams):
            own = order[bounds[number] : bounds[number + 1]]
            cuts = [number for number in self.numbers.get(each, []) if number <= HIGHEST]
            if len(own) and cuts:
                found[own] = np.searchsorted(cuts, seqno[own], side="right")
        return found


def choose_cuts(logs: dict[str, list[PartIndex]], slices: int) -> Cuts:
    """Cuts after equal shares of the longest log's deliveries; other logs' streams are cut where those logs
    meet them.
    """
    courses = {site: [block for part in parts for block in part.reached] for site, parts in logs.items()}
    numbers: dict[Stream, list[int]] = {}
    waiting = sorted(courses, key=lambda site: (-len(courses[site]), site))
    while waiting:
        site = next((s for s in waiting if any(stream in numbers for block in courses[s] for stream in block)), None)
        site = waiting[0] if site is None else site
        waiting.remove(site)
        course = courses[site]
        ends = _meeting_places(course, numbers, slices)
        fresh = {stream for block in course for stream in block} - numbers.keys()
        if fresh:
            numbers |= _reached_at(course, fresh, ends)
    return Cuts(slices, numbers)


def _meeting_places(course: list[dict[Stream, int]], numbers: dict[Stream, list[int]], slices: int) -> list[int]:
    """By cut: how many blocks of a log's course come before it."""
    cut_streams = {stream for block in course for stream in block if stream in numbers}
    if not cut_streams:
        return [round(len(course) * cut / slices) for cut in range(1, slices)]
    ends: list[int] = []
    at = 0
    for cut in range(slices - 1):
        while at < len(course) and not any(
            high >= numbers[stream][cut] for stream, high in course[at].items() if stream in cut_streams
        ):
            at += 1
        ends.append(at)
    return ends


def _reached_at(course: list[dict[Stream, int]], streams: set[Stream], ends: list[int]) -> dict[Stream, list[int]]:
    """By stream: one more than the highest number that the course has reached at each end."""
    found: dict[Stream, list[int]] = {stream: [] for stream in streams}
    highest: dict[Stream, int] = dict.fromkeys(streams, LOWEST)
    at = 0
    for end in ends:
        for block in course[at:end]:
            for stream, high in block.items():
                if stream in streams:
                    highest[stream] = max(highest[stream], high + 1)
        at = max(at, end)
        for stream in streams:
            found[stream].append(highest[stream])
    return found


class Window(NamedTuple):
    """The slices from `first` to `end` are its core."""

    first: int
    end: int


def windows(slices: int, core: int) -> list[Window]:
    return [Window(first, min(first + core, slices)) for first in range(0, slices, core)]


def is_needed(part: PartIndex, cuts: Cuts, window: Window) -> bool:
    """Whether a part may have rows of a window."""
    for stream, (low, high) in part.spans.items():
        for begin, end in cuts.intervals(stream, window.first - 1, window.end + 1):
            if begin <= high and low <= end:
                return True
    return False


def cut_out(part: LogPart, cuts: Cuts, window: Window) -> LogPart:
    """What a part has of a window; facts about the log are known already."""
    bounds = (window.first - 1, window.end + 1)
    rows = cuts.holds(part.streams, part.stream, part.seqno, *bounds)
    receipts = cuts.holds(part.streams, part.receipt_stream, part.receipt_seqno, *bounds)
    found = taken(part, rows, receipts, part.duplicates)
    return replace(found, hole=None, up=None, left=False, moved_us=None)


class Extent(NamedTuple):
    """Where a slice lies in a log, as orders."""

    log: str
    slice: int
    first_delivery: int
    last_delivery: int
    first_event: int  # delivery or broadcast
    last_broadcast: int


def extents(case: Case, cuts: Cuts, window: Window) -> list[Extent]:
    """Those of the core slices."""
    slice_of = cuts.slice_of(case.streams, case.stream_of, case.seqno_of)
    broadcasts = case.first_broadcast[case.first_broadcast >= 0]
    width = cuts.slices
    deliveries = case.rows.log[case.sequence].astype(np.int64) * width + slice_of[case.sequence_message]
    sent = case.rows.log[broadcasts].astype(np.int64) * width + slice_of[case.message[broadcasts]]
    slots = len(case.facts.whole) * width
    first_delivery, last_delivery = _first_last(deliveries, case.rows.order[case.sequence], slots)
    first_sent, last_sent = _first_last(sent, case.rows.order[broadcasts], slots)
    found: list[Extent] = []
    for log, site in enumerate(case.facts.whole):
        for number in range(window.first, window.end):
            slot = log * width + number
            if first_delivery[slot] != HIGHEST or first_sent[slot] != HIGHEST:
                first_event = min(int(first_delivery[slot]), int(first_sent[slot]))
                found.append(
                    Extent(
                        site.log,
                        number,
                        int(first_delivery[slot]),
                        int(last_delivery[slot]),
                        first_event,
                        int(last_sent[slot]),
                    )
                )
    return found


def _first_last(slots: Ints, orders: Ints, count: int) -> tuple[Ints, Ints]:
    first = np.full(count, HIGHEST)
    last = np.full(count, LOWEST)
    np.minimum.at(first, slots, orders)
    np.maximum.at(last, slots, orders)
    return first, last


class Exactness(NamedTuple):
    """What windows decide as surely as the whole run would."""

    order: bool  # fifo, inversions
    cycles: bool  # acyclic: cuts that no site contradicts; else a cycle over many slices might be missed
    causes: bool  # causal: every way from a cause to an effect that was delivered before it lies in a window


def exactness(found: Iterable[Extent], slices: int) -> Exactness:
    by_log: dict[str, list[Extent]] = {}
    for extent in found:
        by_log.setdefault(extent.log, []).append(extent)
    order = True
    # By slice: whether no site delivers anything of it, or of a later one, before something of an earlier slice; and
    # whether no message of it, or of a later one, may have caused one of an earlier slice. Two more behind the last.
    keeps_order = np.ones(slices + 2, np.bool_)
    keeps_causes = np.ones(slices + 2, np.bool_)
    for own in by_log.values():
        first_delivery = np.full(slices + 2, HIGHEST)
        first_event = np.full(slices + 2, HIGHEST)
        last_delivery = np.full(slices, LOWEST)
        last_broadcast = np.full(slices, LOWEST)
        for extent in own:
            first_delivery[extent.slice] = extent.first_delivery
            first_event[extent.slice] = extent.first_event
            last_delivery[extent.slice] = extent.last_delivery
            last_broadcast[extent.slice] = extent.last_broadcast
        # the earliest of this slice and all behind it; the latest of this slice and all before it
        earliest_delivery = np.minimum.accumulate(first_delivery[::-1])[::-1]
        earliest_event = np.minimum.accumulate(first_event[::-1])[::-1]
        latest_delivery = np.maximum.accumulate(last_delivery)
        latest_broadcast = np.maximum.accumulate(last_broadcast)
        order &= bool(np.all(latest_delivery < earliest_delivery[2:]))
        keeps_order[1:-1] &= latest_delivery < earliest_delivery[1:-1]
        keeps_causes[1:-1] &= latest_broadcast < earliest_event[1:-1]
    return Exactness(order, order and bool(np.all(keeps_order)), order and _chains_stay(keeps_order, keeps_causes))


def _chains_stay(keeps_order: Flags, keeps_causes: Flags) -> bool:
    """Whether every chain of causes that makes a delivery late lies in the slice of the late message, the one before it
    and the one behind it, which some window has.

    One link shows little: a chain may go back by a slice at each. But it never goes back over the begin of a slice that
    keeps causes. So, for a message of slice k, the begin of k or of k - 1 has to; and for what was delivered before it,
    a message of slice k + 1 or, if k + 1 keeps order, of k, the begin of the next slice behind that (up to k + 2).
    """
    this, following = keeps_causes[:-2], keeps_causes[1:-1]
    before = np.concatenate(([True], this[:-1]))
    return bool(np.all((this | before) & (keeps_causes[2:] | (following & keeps_order[1:-1]))))
