"""The scans of a log's parts, joined into one: fingerprints add up, chunks that a part border cuts are made whole."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tocsin.properties.kernels.arrays import Hashes, Ints
from tocsin.properties.kernels.facts import RunFacts, SiteFacts
from tocsin.properties.kernels.scan import Chunks, Interleaving, OwnScan, PartScan, StreamScan

MODULUS = 1 << 64


@dataclass(slots=True)
class GroupSequence:
    """A site's sequence of one group's messages, in chunks."""

    begins: Hashes
    counts: Ints
    sums: Hashes
    ordered: Hashes

    def total(self) -> tuple[int, int]:
        return int(self.counts.sum()), int(self.sums.sum(dtype=np.uint64))

    def equals(self, other: "GroupSequence") -> bool:
        return all(
            np.array_equal(one, another)
            for one, another in (
                (self.begins, other.begins),
                (self.counts, other.counts),
                (self.sums, other.sums),
                (self.ordered, other.ordered),
            )
        )


@dataclass(slots=True)
class LogScan:
    """One site's log."""

    facts: SiteFacts
    has_rollbacks: bool = False
    delivered: dict[tuple[str, str], StreamScan] = field(default_factory=dict)
    broadcast: dict[tuple[str, str], StreamScan] = field(default_factory=dict)
    sequences: dict[str, GroupSequence] = field(default_factory=dict)  # by group
    interleaved: dict[tuple[str, str], Hashes] = field(default_factory=dict)  # by two groups: by chunk of the first
    intervals: list[dict[str, tuple[int, int]]] = field(default_factory=lambda: [{}])
    own: OwnScan = field(default_factory=lambda: OwnScan((0, 0, 0), (0, 0, 0), {}))
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)  # by group


def join_scans(parts: list[PartScan]) -> LogScan:
    """The parts of one log, in order."""
    log = LogScan(SiteFacts(parts[0].facts.site, parts[0].facts.incarnation))
    for part in parts:
        log.facts.join(part.facts)
        log.has_rollbacks |= part.has_rollbacks
        _join_streams(log.delivered, part.delivered)
        _join_streams(log.broadcast, part.broadcast)
        _join_intervals(log.intervals, part.intervals)
        _add_totals(log.sent, part.sent)
        log.own = _join_own(log.own, part.own)
    groups = sorted(set[str]().union(*(part.chunks for part in parts)))
    for group in groups:
        log.sequences[group] = _join_chunks([part.chunks[group] for part in parts if group in part.chunks])
    for one, other in combinations(groups, 2):
        log.interleaved[one, other] = _join_interleaving(parts, one, other)
    return log


def join_logs(scans: Iterable[PartScan]) -> list[LogScan]:
    """The logs of a run, in any order."""
    parts: dict[str, list[PartScan]] = {}
    for scanned in scans:
        parts.setdefault(scanned.facts.log, []).append(scanned)
    return [join_scans(sorted(parts[log], key=lambda part: part.facts.first_order)) for log in sorted(parts)]


def whole_logs(facts: RunFacts, logs: Iterable[LogScan]) -> list[LogScan]:
    """Those that are whole, as they lie in `facts.whole`."""
    by_name = {log.facts.log: log for log in logs}
    return [by_name[name] for name in facts.logs]


def _join_streams(total: dict[tuple[str, str], StreamScan], part: dict[tuple[str, str], StreamScan]) -> None:
    for stream, scan in part.items():
        before = total.get(stream)
        if before is None:
            total[stream] = StreamScan(scan.count, scan.first, scan.last, scan.rises)
            continue
        before.rises = before.rises and scan.rises and before.last < scan.first
        before.count += scan.count
        before.first = min(before.first, scan.first)
        before.last = max(before.last, scan.last)


def _join_intervals(total: list[dict[str, tuple[int, int]]], part: list[dict[str, tuple[int, int]]]) -> None:
    _add_totals(total[-1], part[0])
    total += part[1:]


def _add_totals(total: dict[str, tuple[int, int]], part: dict[str, tuple[int, int]]) -> None:
    for group, (count, hashed) in part.items():
        before = total.get(group, (0, 0))
        total[group] = (before[0] + count, (before[1] + hashed) % MODULUS)


def _join_own(before: OwnScan, after: OwnScan) -> OwnScan:
    leads = dict(before.leads)
    for group, (ahead, least) in after.leads.items():
        was, least_before = leads.get(group, (0, 0))
        leads[group] = (was + ahead, min(least_before, was + least))
    return OwnScan(
        _join_ordered(before.broadcasts, after.broadcasts),
        _join_ordered(before.deliveries, after.deliveries),
        leads,
    )


def _join_ordered(before: tuple[int, int, int], after: tuple[int, int, int]) -> tuple[int, int, int]:
    """Places in the second part are higher by the count of the first: 2 * count more for each hash."""
    count, hashed, ordered = before
    moved = after[2] + 2 * count * after[1]
    return count + after[0], (hashed + after[1]) % MODULUS, (ordered + moved) % MODULUS


def _join_chunks(pieces: list[Chunks]) -> GroupSequence:
    """The last chunk of a part goes on in the next one."""
    begins: list[Hashes] = []
    counts: list[Ints] = []
    sums: list[Hashes] = []
    ordered: list[Hashes] = []
    opened = 0  # the hash that began the chunk which is not yet complete
    so_far = (0, 0, 0)  # its count, sum and ordered sum
    for piece in pieces:
        so_far = _join_ordered(so_far, (int(piece.counts[0]), int(piece.sums[0]), int(piece.ordered[0])))
        if len(piece.begins) > 1:
            begins += [np.array([opened], np.uint64), piece.begins[1:-1]]
            counts += [np.array([so_far[0]], np.int64), piece.counts[1:-1]]
            sums += [np.array([so_far[1]], np.uint64), piece.sums[1:-1]]
            ordered += [np.array([so_far[2]], np.uint64), piece.ordered[1:-1]]
            opened = int(piece.begins[-1])
            so_far = (int(piece.counts[-1]), int(piece.sums[-1]), int(piece.ordered[-1]))
    return GroupSequence(
        np.concatenate([*begins, np.array([opened], np.uint64)]),
        np.concatenate([*counts, np.array([so_far[0]], np.int64)]),
        np.concatenate([*sums, np.array([so_far[1]], np.uint64)]),
        np.concatenate([*ordered, np.array([so_far[2]], np.uint64)]),
    )


def _join_interleaving(parts: list[PartScan], one: str, other: str) -> Hashes:
    """By chunk of the first group. A part's heads are completed with the other group's last message before the
    part.
    """
    pieces: list[Hashes] = []
    last = np.uint64(0)  # nothing yet: such messages add nothing
    for part in parts:
        if one in part.chunks:
            found = part.interleaved.get((one, other))
            if found is None:  # nothing of the other group in this part: all of it is head
                found = Interleaving(np.zeros_like(part.chunks[one].sums), part.chunks[one].sums)
            pieces.append(found.sums + found.heads * last)
        if other in part.last:
            last = np.uint64(part.last[other])
    lengths = np.array([len(piece) - 1 for piece in pieces])
    offsets = np.concatenate(([0], np.cumsum(lengths)))  # the last chunk of a part and the first of the next are one
    total = np.zeros(int(offsets[-1]) + 1, np.uint64)
    for piece, offset in zip(pieces, offsets.tolist(), strict=False):
        total[offset : offset + len(piece)] += piece
    return total
