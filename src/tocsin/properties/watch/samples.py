"""Of messages that are closed, one of each kind stays: what is owed at the end depends on who is up then, and who is a
member, and that is known only at the end.

Two messages are of one kind if they are of one stream, and the same sites have broadcast, delivered (in the same view),
received or been told of them. Of a kind the first is kept, by its number: what is asked of any of them is asked of it.
There are few kinds: as many as views and ways in which sites lag behind them.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Hashes, Ints
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import LogPart
from tocsin.properties.kernels.hashing import hash_stream
from tocsin.properties.kernels.parts import has_rows, taken
from tocsin.properties.kernels.streams import Stream

_MIX = np.uint64(0x9E3779B97F4A7C15)


def kinds_of(case: Case) -> Hashes:
    """By message: its kind. It means the same in every case of a run."""
    streams = np.array([hash_stream(stream) for stream in case.streams], np.uint64)
    kinds: Hashes = streams[case.stream_of]
    every = np.arange(case.count)
    received = _received(case)
    for log, site in enumerate(case.facts.whole):
        name = np.uint64(hash_stream((site.log, site.site)))
        at = case.delivery(log, every)
        rows = case.sequence[np.maximum(at, 0)] if len(case.sequence) else np.zeros(case.count, np.int64)
        views = case.rows.view[rows] if len(case.rows.view) else np.zeros(case.count, np.int64)
        edges = np.array([view.order for view in site.views], np.int64)
        intervals = np.searchsorted(edges, case.rows.order[rows]) if len(case.rows.order) else views
        said = np.where(at >= 0, 8 + 2 * views + 2_000_003 * intervals, 0)
        said += np.where(case.source == log, 1, 0)
        said += 3 * np.isin(every, case.duplicates(log)) + 5 * received[log]
        with np.errstate(over="ignore"):
            kinds = (kinds ^ (said.astype(np.uint64) * _MIX + name)) * _MIX
            kinds ^= kinds >> np.uint64(29)
    return kinds


def _received(case: Case) -> list[Flags]:
    """By log and message: whether it was received there."""
    found = [np.zeros(case.count, np.bool_) for _ in case.facts.whole]
    receipts = case.receipts
    for log in np.unique(receipts.log).tolist():
        own = np.flatnonzero(receipts.log == log)
        for number in np.unique(receipts.stream[own]).tolist():
            group, origin = case.streams[number]
            seqnos = receipts.seqno[own][receipts.stream[own] == number]
            for other, (of_group, of_origin) in enumerate(case.streams):
                if of_origin == origin and (group is None or group == of_group):
                    messages = np.flatnonzero(case.stream_of == other)
                    found[log][messages[np.isin(case.seqno_of[messages], seqnos)]] = True
    return found


def sample(case: Case, parts: list[LogPart], known: set[int]) -> list[LogPart]:
    """The rows of the first message of each kind that is not known yet; it is then."""
    kinds, firsts = np.unique(kinds_of(case), return_index=True)
    fresh = [(kind, first) for kind, first in zip(kinds.tolist(), firsts.tolist(), strict=True) if kind not in known]
    known.update(kind for kind, _ in fresh)
    chosen: dict[Stream, Ints] = {}
    for _, message in fresh:
        stream = case.streams[case.stream_of[message]]
        chosen[stream] = np.append(chosen.get(stream, np.zeros(0, np.int64)), case.seqno_of[message])
    found = [_only(part, chosen) for part in parts]
    return [part for part in found if has_rows(part)]


def _only(part: LogPart, chosen: dict[Stream, Ints]) -> LogPart:
    rows = np.zeros(len(part.event), np.bool_)
    receipts = np.zeros(len(part.receipt_order), np.bool_)
    for number, (group, origin) in enumerate(part.streams):
        numbers = [seqnos for stream, seqnos in chosen.items() if stream[1] == origin and group in (None, stream[0])]
        if numbers:
            wanted = np.concatenate(numbers)
            rows |= (part.stream == number) & np.isin(part.seqno, wanted)
            receipts |= (part.receipt_stream == number) & np.isin(part.receipt_seqno, wanted)
    duplicates = [each for each in part.duplicates if each[1] in chosen.get(each[0], ())]
    return taken(part, np.flatnonzero(rows), np.flatnonzero(receipts), duplicates)


def merged(parts: Iterable[LogPart]) -> list[LogPart]:
    """The rows of each log as one part, in order: those of samples lie between those of later messages."""
    logs: dict[str, list[LogPart]] = {}
    for part in parts:
        logs.setdefault(part.log, []).append(part)
    return [_merge(own) for own in logs.values()]


def _merge(parts: list[LogPart]) -> LogPart:
    streams: list[Stream] = []
    numbers: dict[Stream, int] = {}
    codes = []
    for part in parts:
        for stream in part.streams:
            if stream not in numbers:
                numbers[stream] = len(streams)
                streams.append(stream)
        codes.append(np.array([numbers[stream] for stream in part.streams], np.int32))
    joined = replace(
        parts[0],
        streams=streams,
        event=np.concatenate([part.event for part in parts]),
        stream=np.concatenate([code[part.stream] for code, part in zip(codes, parts, strict=True)]),
        seqno=np.concatenate([part.seqno for part in parts]),
        order=np.concatenate([part.order for part in parts]),
        time_us=np.concatenate([part.time_us for part in parts]),
        view=np.concatenate([part.view for part in parts]),
        position=None
        if parts[0].position is None
        else np.concatenate([part.position for part in parts if part.position is not None]),
        receipt_stream=np.concatenate([c[part.receipt_stream] for c, part in zip(codes, parts, strict=True)]),
        receipt_seqno=np.concatenate([part.receipt_seqno for part in parts]),
        receipt_order=np.concatenate([part.receipt_order for part in parts]),
        receipt_time_us=np.concatenate([part.receipt_time_us for part in parts]),
    )
    duplicates = [each for part in parts for each in part.duplicates]
    return taken(joined, np.argsort(joined.order), np.argsort(joined.receipt_order), duplicates)
