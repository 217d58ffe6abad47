"""One look at a part of a log by itself: what it adds to the proof that a run is in order.

A site's log already is in delivery order, so one pass over it is enough. It leaves, for each group, fingerprints
of the sequence of its messages in chunks whose borders the messages themselves decide (a message begins a chunk
if its hash says so): a site that lacks a message, or joined late, has the same chunks as the others wherever it
has the same messages. For each two groups it leaves, chunk by chunk, a fingerprint of how they are interleaved:
the hash of each message of the one times the hash of the last message of the other before it. All of them are
sums, and add up over parts.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from tocsin.properties.kernels.arrays import Codes, Flags, Hashes, Ints, group_bounds
from tocsin.properties.kernels.encode import BROADCAST, DELIVER, ROLLBACK, LogPart
from tocsin.properties.kernels.facts import PartFacts, part_facts
from tocsin.properties.kernels.hashing import hash_messages, hash_stream

CHUNK_MASK: Final = np.uint64((1 << 14) - 1)  # a chunk has 16384 messages on average
BLOCK: Final = 1 << 15  # rows hashed at a time: they stay in the processor's cache
ONE: Final = np.uint64(1)


@dataclass(slots=True)
class StreamScan:
    """The messages of one stream that a part delivers (or broadcasts), by their numbers."""

    count: int
    first: int
    last: int
    rises: bool  # each number is greater than the one before


@dataclass(slots=True)
class Chunks:
    """A sequence of messages in chunks; the first one is the end of a chunk that began in an earlier part."""

    begins: Hashes  # the hash of the message that begins it; 0 for the first
    counts: Ints
    sums: Hashes  # of the messages' hashes
    ordered: Hashes  # of the same, each times (2 i + 1), where i is the message's place in the chunk


@dataclass(slots=True)
class Interleaving:
    """How the messages of one group lie between those of another, by chunk of the first."""

    sums: Hashes  # of each message's hash times that of the last message of the other group before it
    heads: Hashes  # sum of the hashes of messages before the first of the other group in this part


@dataclass(slots=True)
class OwnScan:
    """A site's own messages: the sequence in which it broadcast them, and that in which it delivered them."""

    broadcasts: tuple[int, int, int]  # count, sum, ordered sum
    deliveries: tuple[int, int, int]
    leads: dict[str, tuple[int, int]]  # by group: by how many broadcasts are ahead of deliveries at the end, at least


@dataclass(slots=True)
class PartScan:
    """All that `certify` needs to know of a part."""

    facts: PartFacts
    has_rollbacks: bool
    delivered: dict[tuple[str, str], StreamScan]  # by group and origin
    broadcast: dict[tuple[str, str], StreamScan]
    sent: dict[str, tuple[int, int]]  # by group: count and sum of the hashes of what was broadcast to it
    chunks: dict[str, Chunks]  # by group
    interleaved: dict[tuple[str, str], Interleaving]  # by two groups, in the order of their names
    last: dict[str, int]  # by group: the hash of its last message
    intervals: list[dict[str, tuple[int, int]]]  # between the part's views: count and sum of hashes by group
    own: OwnScan


def scan(part: LogPart) -> PartScan:
    hashes = _hashes(part)
    deliveries = np.flatnonzero(part.event == DELIVER)
    broadcasts = np.flatnonzero(part.event == BROADCAST)
    everything = len(deliveries) == len(part.event)
    stream = part.stream if everything else part.stream[deliveries]
    delivered_hashes = hashes if everything else hashes[deliveries]
    names = sorted({group for group, _ in part.streams if group is not None})
    numbers = {name: number for number, name in enumerate(names)}
    group_of = np.array([-1 if group is None else numbers[group] for group, _ in part.streams], np.int16)
    group = group_of[stream]
    flags = [group == number for number in range(len(names))]
    places = [np.flatnonzero(flag) for flag in flags]
    own_hashes = [delivered_hashes[own] if len(names) > 1 else delivered_hashes for own in places]
    chunks: dict[str, Chunks] = {}
    bounds: dict[str, Ints] = {}
    for number, name in enumerate(names):
        if len(places[number]):
            chunks[name], bounds[name] = _chunks(own_hashes[number])
    return PartScan(
        facts=part_facts(part),
        has_rollbacks=bool((part.event == ROLLBACK).any()),
        delivered=_streams(part, stream, part.seqno if everything else part.seqno[deliveries]),
        broadcast=_streams(part, part.stream[broadcasts], part.seqno[broadcasts]),
        sent=_sent(names, group_of[part.stream[broadcasts]], hashes[broadcasts]),
        chunks=chunks,
        interleaved=_interleavings(names, flags, places, own_hashes, bounds),
        last={name: int(own[-1]) for name, own in zip(names, own_hashes, strict=True) if len(own)},
        intervals=_intervals(part, deliveries, names, places, delivered_hashes),
        own=_own(part, hashes, group_of, names, deliveries[_is_own(part)[stream]], broadcasts),
    )


def _hashes(part: LogPart) -> Hashes:
    stream_hashes = np.array([hash_stream(stream) for stream in part.streams], np.uint64)
    hashes = np.empty(len(part.seqno), np.uint64)
    for start in range(0, len(hashes), BLOCK):
        block = slice(start, start + BLOCK)
        hashes[block] = hash_messages(stream_hashes, part.stream[block], part.seqno[block])
    return hashes


def _streams(part: LogPart, stream: Codes, seqno: Ints) -> dict[tuple[str, str], StreamScan]:
    """By stream: its numbers, and whether they rise."""
    if len(stream) == 0:
        return {}
    small = stream.astype(np.int16) if len(part.streams) < 1 << 15 else stream  # sorted by counting, not comparing
    order = np.argsort(small, kind="stable")
    streams, seqnos = stream[order], seqno[order]
    bounds = group_bounds(streams)
    firsts, lasts = bounds[:-1], bounds[1:] - 1
    falls = seqnos[1:] <= seqnos[:-1]
    falls[firsts[1:] - 1] = False
    fallen = set(streams[np.flatnonzero(falls)].tolist())
    lowest = np.minimum.reduceat(seqnos, firsts) if fallen else seqnos[firsts]
    highest = np.maximum.reduceat(seqnos, firsts) if fallen else seqnos[lasts]
    found: dict[tuple[str, str], StreamScan] = {}
    for index, number in enumerate(streams[firsts].tolist()):
        name, origin = part.streams[number]
        assert name is not None, "only receive rows name no group"
        count = int(bounds[index + 1] - bounds[index])
        found[name, origin] = StreamScan(count, int(lowest[index]), int(highest[index]), number not in fallen)
    return found


def _chunks(hashes: Hashes) -> tuple[Chunks, Ints]:
    """The chunks of a sequence, and where they begin; the first may be empty."""
    begins = np.flatnonzero((hashes & CHUNK_MASK) == 0)
    starts = np.concatenate(([0], begins))
    sums = _sums(hashes, starts)
    places = np.arange(1, 2 * len(hashes) + 1, 2, dtype=np.uint64)
    places *= hashes
    # With i counted from the start of the part the sum is too great by 2 * start for each hash.
    ordered = _sums(places, starts) - sums * (starts.astype(np.uint64) << ONE)
    counts = np.diff(starts, append=len(hashes))
    names = np.concatenate((np.zeros(1, np.uint64), hashes[begins]))
    return Chunks(names, counts, sums, ordered), starts


def _sums(values: Hashes, starts: Ints) -> Hashes:
    """The sum from each start to the next, modulo 2 to the 64. Only the first may be empty."""
    sums = np.zeros(len(starts), np.uint64)
    skip = 1 if len(starts) > 1 and starts[1] == 0 else 0
    sums[skip:] = np.add.reduceat(values, starts[skip:])
    return sums


def _interleavings(
    names: list[str], flags: list[Flags], places: list[Ints], hashes: list[Hashes], bounds: dict[str, Ints]
) -> dict[tuple[str, str], Interleaving]:
    """By two groups: `flags`, `places` and `hashes` are those of each group's deliveries."""
    found: dict[tuple[str, str], Interleaving] = {}
    for other in range(1, len(names)):
        if len(places[other]) == 0:
            continue
        so_far = np.cumsum(flags[other], dtype=np.int32)  # by delivery: messages of the other group up to it
        last = np.concatenate((np.zeros(1, np.uint64), hashes[other]))  # none yet: adds nothing
        for one in range(other):
            if len(places[one]) == 0:
                continue
            behind = so_far[places[one]]
            starts = bounds[names[one]]
            heads = np.zeros(len(starts), np.uint64)
            head = int(np.searchsorted(behind, 1))
            if head:
                inside = starts[: int(np.searchsorted(starts, head))]
                heads[: len(inside)] = _sums(hashes[one][:head], inside)
            sums = last[behind]
            sums *= hashes[one]
            found[names[one], names[other]] = Interleaving(_sums(sums, starts), heads)
    return found


def _intervals(
    part: LogPart, deliveries: Ints, names: list[str], places: list[Ints], hashes: Hashes
) -> list[dict[str, tuple[int, int]]]:
    """What was delivered before the first view of the part, between its views, and after the last."""
    edges = np.array([view.order for view in part.views], np.int64)
    cuts = np.searchsorted(part.order[deliveries], edges) if len(edges) else np.zeros(0, np.int64)
    ends = [0, *cuts.tolist(), len(deliveries)]
    found: list[dict[str, tuple[int, int]]] = []
    for low, high in pairwise(ends):
        sums: dict[str, tuple[int, int]] = {}
        for name, own in zip(names, places, strict=True):
            first, last = np.searchsorted(own, (low, high))
            if first < last:
                sums[name] = (int(last - first), int(hashes[own[first:last]].sum(dtype=np.uint64)))
        found.append(sums)
    return found


def _sent(names: list[str], groups: Codes, hashes: Hashes) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for number in np.flatnonzero(np.bincount(groups, minlength=1)).tolist() if len(groups) else ():
        own = hashes[groups == number]
        found[names[number]] = (len(own), int(own.sum(dtype=np.uint64)))
    return found


def _is_own(part: LogPart) -> Flags:
    """By stream: whether this site is its origin."""
    return np.array([origin == part.site for _, origin in part.streams], np.bool_)


def _own(part: LogPart, hashes: Hashes, group_of: Codes, names: list[str], own: Ints, broadcasts: Ints) -> OwnScan:
    """`own`: deliveries of the site's own messages."""
    leads: dict[str, tuple[int, int]] = {}
    sent_groups, own_groups = group_of[part.stream[broadcasts]], group_of[part.stream[own]]
    for number in sorted({*np.unique(sent_groups).tolist(), *np.unique(own_groups).tolist()}):
        sent, got = broadcasts[sent_groups == number], own[own_groups == number]
        ahead = np.searchsorted(sent, got) - np.arange(1, len(got) + 1)
        leads[names[number]] = (len(sent) - len(got), int(ahead.min(initial=0)))
    return OwnScan(_ordered(hashes[broadcasts]), _ordered(hashes[own]), leads)


def _ordered(hashes: Hashes) -> tuple[int, int, int]:
    places = np.arange(1, 2 * len(hashes) + 1, 2, dtype=np.uint64)
    return len(hashes), int(hashes.sum(dtype=np.uint64)), int((hashes * places).sum(dtype=np.uint64))
