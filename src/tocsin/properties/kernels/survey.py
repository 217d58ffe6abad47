"""What a trace says beside the properties: latencies, gaps, load, messages by kind. Sums and histograms, for reports.

A latency needs two rows of two logs. Messages are drawn by their hash, so that every task draws the same ones:
first their broadcasts are collected, then each log is compared with them. Up to `SAMPLE_MAX` messages that is all
of them.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tocsin.properties.kernels.arrays import Hashes, Ints, group_bounds
from tocsin.properties.kernels.columns import column_codes, column_numbers
from tocsin.properties.kernels.encode import BROADCAST, DELIVER, LogPart
from tocsin.properties.kernels.hashing import hash_messages, hash_stream
from tocsin.properties.kernels.histogram import Histogram

SURVEY_COLUMNS: Final = ("run", "site", "time_us", "event", "kind", "size")
SAMPLE_MAX: Final = 200_000  # messages whose latencies are measured
BINS: Final = 120  # of time, in plots over time


@dataclass(frozen=True, slots=True)
class Axis:
    """Time in bins of one width."""

    start_us: int
    width_us: int

    def bins(self, times: Ints) -> Ints:
        return np.clip((times - self.start_us) // self.width_us, 0, BINS - 1)


@dataclass(slots=True)
class Survey:
    """Of some rows; `merge` adds those of others."""

    kinds: dict[tuple[str, str], int] = field(default_factory=dict)  # (event, kind): rows
    bytes: dict[tuple[str, str], int] = field(default_factory=dict)
    handled: dict[str, Ints] = field(default_factory=dict)  # by site: sends and receives in each bin
    delivered: dict[str, Ints] = field(default_factory=dict)  # by site: deliveries in each bin
    longest_gap: dict[str, Ints] = field(default_factory=dict)  # by site: longest gap that ended in each bin
    gaps: Histogram = field(default_factory=Histogram)  # between two deliveries of one site
    latencies: dict[str, Histogram] = field(default_factory=dict)  # by group: from broadcast to delivery
    edges: list[tuple[str, str, int, int, int]] = field(default_factory=list)
    # (run, site, first order, first and last time of a delivery) of each part, for the gaps between parts

    def merge(self, other: "Survey") -> None:
        for key, count in other.kinds.items():
            self.kinds[key] = self.kinds.get(key, 0) + count
        for key, count in other.bytes.items():
            self.bytes[key] = self.bytes.get(key, 0) + count
        for mine, theirs in ((self.handled, other.handled), (self.delivered, other.delivered)):
            for site, counts in theirs.items():
                mine[site] = mine[site] + counts if site in mine else counts
        for site, longest in other.longest_gap.items():
            self.longest_gap[site] = np.maximum(self.longest_gap.get(site, longest), longest)
        self.gaps.merge(other.gaps)
        for group, histogram in other.latencies.items():
            self.latencies.setdefault(group, Histogram()).merge(histogram)
        self.edges += other.edges

    def close_gaps(self, axis: Axis) -> None:
        """Count the gaps between the parts of a log, now that all parts are here."""
        before: tuple[str, str, int] | None = None  # run, site, time of the last delivery
        for run, site, _, first_us, last_us in sorted(self.edges):
            if before is not None and before[:2] == (run, site):
                self._add_gaps(site, np.array([first_us]), np.array([max(0, first_us - before[2])]), axis)
            before = (run, site, last_us)
        self.edges = []

    def _add_gaps(self, site: str, ends: Ints, gaps: Ints, axis: Axis) -> None:
        self.gaps.add(gaps)
        longest = self.longest_gap.setdefault(site, np.zeros(BINS, np.int64))
        np.maximum.at(longest, axis.bins(ends), gaps)

    # Rows

    def add_rows(self, table: Any, axis: Axis) -> None:
        """Messages on the wire, by kind and by site and time. The table has SURVEY_COLUMNS."""
        events, event_names = column_codes(table, "event")
        kinds, kind_names = column_codes(table, "kind")
        sizes = column_numbers(table, "size")
        keys = events.astype(np.int64) * (len(kind_names) + 1) + kinds + 1
        counts = np.bincount(keys)
        weights = np.bincount(keys, np.maximum(sizes, 0).astype(np.float64))
        for key in np.flatnonzero(counts).tolist():
            event, kind = divmod(key, len(kind_names) + 1)
            name = (event_names[event], kind_names[kind - 1] if kind else "")
            self.kinds[name] = self.kinds.get(name, 0) + int(counts[key])
            self.bytes[name] = self.bytes.get(name, 0) + int(weights[key])
        sites, site_names = column_codes(table, "site")
        bins = axis.bins(column_numbers(table, "time_us"))
        for words, found in ((("send", "receive"), self.handled), (("deliver",), self.delivered)):
            chosen = np.isin(events, [event_names.index(word) for word in words if word in event_names])
            self._count(sites[chosen], site_names, bins[chosen], found)

    def _count(self, sites: Any, names: list[str], bins: Ints, found: dict[str, Ints]) -> None:
        counts = np.bincount(sites.astype(np.int64) * BINS + bins, minlength=len(names) * BINS)
        for number in np.unique(sites).tolist():
            own = counts[number * BINS : (number + 1) * BINS]
            found[names[number]] = found[names[number]] + own if names[number] in found else own.copy()

    # Logs

    def add_log(self, part: LogPart, axis: Axis) -> None:
        """Gaps between deliveries."""
        times = part.time_us[part.event == DELIVER]
        if len(times):
            self.edges.append((part.run, part.site, part.first_order, int(times[0]), int(times[-1])))
            self._add_gaps(part.site, times[1:], np.maximum(np.diff(times), 0), axis)

    def add_latencies(self, part: LogPart, sample: "Sample", one_clock: bool) -> None:
        """From broadcast to delivery of the drawn messages; without one clock, only at the site that broadcast."""
        drawn, hashes = draw(part, DELIVER, sample.bound)
        if len(drawn) == 0 or len(sample.hashes) == 0:
            return
        places = np.minimum(np.searchsorted(sample.hashes, hashes), len(sample.hashes) - 1)
        known = sample.hashes[places] == hashes
        if not one_clock:
            known &= np.array([origin == part.site for _, origin in part.streams], np.bool_)[part.stream[drawn]]
        latencies = part.time_us[drawn[known]] - sample.times_us[places[known]]
        groups = np.array([group or "" for group, _ in part.streams], object)[part.stream[drawn[known]]]
        order = np.argsort(groups, kind="stable")
        bounds = group_bounds(groups[order])
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            histogram = self.latencies.setdefault(str(groups[order[low]]), Histogram())
            histogram.add(np.maximum(latencies[order[low:high]], 0))


@dataclass(slots=True)
class Sample:
    """The broadcasts of the drawn messages, by hash. A message is drawn if its hash is at most `bound`."""

    bound: int
    hashes: Hashes
    times_us: Ints

    @classmethod
    def of(cls, bound: int, parts: list[tuple[Hashes, Ints]]) -> "Sample":
        hashes = np.concatenate([np.zeros(0, np.uint64), *(hashes for hashes, _ in parts)])
        times = np.concatenate([np.zeros(0, np.int64), *(times for _, times in parts)])
        order = np.argsort(hashes, kind="stable")
        return cls(bound, hashes[order], times[order])


def sample_bound(messages: int) -> int:
    """The bound that draws about SAMPLE_MAX of so many messages; all of them if there are no more."""
    highest = (1 << 64) - 1
    return highest if messages <= SAMPLE_MAX else highest * SAMPLE_MAX // messages


def draw(part: LogPart, event: int, bound: int) -> tuple[Ints, Hashes]:
    """The drawn rows of one kind of event, and their messages' hashes."""
    rows = np.flatnonzero(part.event == event)
    # the run takes part: the same message may be in many
    streams = np.array([hash_stream((f"{part.run}/{group}", origin)) for group, origin in part.streams], np.uint64)
    hashes = hash_messages(streams, part.stream[rows], part.seqno[rows])
    drawn = hashes <= np.uint64(bound)
    return rows[drawn], hashes[drawn]


def sampled_broadcasts(part: LogPart, bound: int) -> tuple[Hashes, Ints]:
    rows, hashes = draw(part, BROADCAST, bound)
    return hashes, part.time_us[rows]
