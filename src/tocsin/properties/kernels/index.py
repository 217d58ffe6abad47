"""Where in a log which messages are: enough to cut a run into slices of messages and to find each slice's rows
again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tocsin.properties.kernels.arrays import Codes, Ints, group_bounds
from tocsin.properties.kernels.encode import DELIVER, LogPart
from tocsin.properties.kernels.streams import Stream

INDEX_ROWS: Final = 16_384  # deliveries between two looks at how far each stream has come


@dataclass(slots=True)
class PartIndex:
    """A part of a log, by stream."""

    log: str  # its name
    first_order: int
    rows: int  # broadcast, deliver, rollback and receive rows
    spans: dict[Stream, tuple[int, int]]  # lowest and highest number in any of them, or in a duplicate row
    reached: list[dict[Stream, int]]  # by block of deliveries: the highest number delivered in it


def index_part(part: LogPart, index_rows: int = INDEX_ROWS) -> PartIndex:
    streams = np.concatenate((part.stream, part.receipt_stream))
    seqnos = np.concatenate((part.seqno, part.receipt_seqno))
    spans: dict[Stream, tuple[int, int]] = {}
    for stream, low, high in _extremes(streams, seqnos):
        spans[part.streams[stream]] = (low, high)
    for name, seqno in part.duplicates:
        low, high = spans.get(name, (seqno, seqno))
        spans[name] = (min(low, seqno), max(high, seqno))
    delivered = np.flatnonzero(part.event == DELIVER)
    reached: list[dict[Stream, int]] = []
    for start in range(0, len(delivered), index_rows):
        block = delivered[start : start + index_rows]
        found = _extremes(part.stream[block], part.seqno[block])
        reached.append({part.streams[stream]: high for stream, _, high in found})
    return PartIndex(part.log, part.first_order, len(streams), spans, reached)


def _extremes(streams: Codes, seqnos: Ints) -> list[tuple[int, int, int]]:
    if len(streams) == 0:
        return []
    order = np.argsort(streams, kind="stable")
    sorted_streams, sorted_seqnos = streams[order], seqnos[order]
    starts = group_bounds(sorted_streams)[:-1]
    lows = np.minimum.reduceat(sorted_seqnos, starts)
    highs = np.maximum.reduceat(sorted_seqnos, starts)
    return list(zip(sorted_streams[starts].tolist(), lows.tolist(), highs.tolist(), strict=True))
