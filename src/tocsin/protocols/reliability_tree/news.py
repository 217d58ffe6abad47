"""Estimates as bytes: five small numbers each, most of them one byte (not compiled: NumPy does the work).

An estimate is (key, successes, failures, version, distortion); keys increase, and the differences are sent. Every
number is a varint: seven bits a byte, the lowest first, the highest bit saying that more follow. A few estimates are
read and written one by one (`estimates.py`): most heartbeats have only a few.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from tocsin.protocols.reliability_tree.estimates import DISTORTION_MAX, FIELDS, read_few, write_few
from tocsin.protocols.reliability_tree.messages import EVIDENCE_MAX, VERSION_MAX

BYTES_PER_NUMBER_MAX = 9  # 63 bits
FEW_ROWS = 128
FEW_BYTES = 1024
TABLES_KEPT = 64  # sets of keys that processes share
DECODED_KEPT = 64  # the same news go to many neighbours: in one process they are decoded once


def encode_news(columns: list[Any]) -> bytes:
    """Columns keys (increasing), successes, failures, versions, distortions to bytes."""
    if len(columns[0]) <= FEW_ROWS:
        return write_few([column.tolist() for column in columns])
    return write_many(columns)


def write_many(columns: list[Any]) -> bytes:
    count = len(columns[0])
    table = np.empty((count, FIELDS), dtype=np.uint64)
    for place in range(FIELDS):
        table[:, place] = columns[place]
    table[1:, 0] -= table[:-1, 0].copy()
    return varints(table.ravel())


def varints(values: Any) -> bytes:
    """Numbers below 2^63, one after another."""
    lengths = np.ones(len(values), dtype=np.int64)
    largest = int(values.max())
    bits = 7
    while largest >> bits:
        lengths += values >= (1 << bits)
        bits += 7
    ends = np.cumsum(lengths)
    out = np.empty(int(ends[-1]), dtype=np.uint8)
    at = ends - lengths
    left = values
    while True:
        more = lengths > 1
        if not more.any():
            out[at] = left
            return out.tobytes()
        out[at] = (left & np.uint64(0x7F)) | (more.astype(np.uint64) << np.uint64(7))
        at = at[more] + 1
        left = left[more] >> np.uint64(7)
        lengths = lengths[more] - 1


class News:
    """Decoded estimates, a column each, not to be changed: the same object is handed to many."""

    def __init__(self, keys: Any, evidence: Any, ranks: Any, sites: int) -> None:
        self.keys: Any = np.array(keys, dtype=key_type(sites))  # strictly increasing
        self.evidence: Any = np.array(evidence, dtype=np.uint32)  # successes, failures
        self.ranks: Any = np.array(ranks, dtype=np.uint32)  # see knowledge.py
        self._located: Any = None  # a table's keys …
        self._places: Any = None  # … and where ours are in it, if all are

    def __len__(self) -> int:
        return len(self.keys)

    def places_in(self, keys: Any) -> Any | None:
        """Where these keys are in a table that has all of them; None if it has not. Tables that have the same keys
        share the array (`shared_keys`), so that for many processes this is found once."""
        if self._located is not keys:
            places = keys.searchsorted(self.keys)
            has_all = len(keys) > 0 and bool((keys.take(places, mode="clip") == self.keys).all())
            self._located = keys
            self._places = places if has_all else None
        return self._places


def key_type(sites: int) -> Any:
    """The smallest type for the keys of so many sites and their links."""
    return np.uint64 if sites + sites * sites > 0xFFFFFFFF else np.uint32


def shared_keys(keys: Any) -> Any:
    """An array of the same keys, the same one for everybody who has them."""
    return _shared_keys(keys.tobytes(), keys.dtype.itemsize)


@lru_cache(maxsize=TABLES_KEPT)
def _shared_keys(data: bytes, width: int) -> Any:
    return np.frombuffer(data, dtype=np.uint64 if width == 8 else np.uint32)


@lru_cache(maxsize=DECODED_KEPT)
def decode_news(data: bytes, sites: int) -> News | None:
    """The estimates of some bytes, or None for what no process of ours sends."""
    if len(data) > FEW_BYTES:
        return read_many(data, sites)
    few = read_few(data, sites)
    return None if few is None else News(*few, sites)


def read_many(data: bytes, sites: int) -> News | None:
    numbers = _numbers(data)
    if numbers is None or len(numbers) == 0 or len(numbers) % FIELDS:
        return None
    table = numbers.reshape(-1, FIELDS)
    keys_max = sites + sites * sites
    if (table[:, 0] > keys_max).any() or (table[1:, 0] == 0).any():
        return None
    table[:, 0] = np.cumsum(table[:, 0])
    keys = table[:, 0]
    if int(keys[-1]) >= keys_max or int(keys.max()) != int(keys[-1]):
        return None
    links = keys[keys >= sites] - sites
    if (links // sites == links % sites).any():
        return None
    if (table[:, 1:3] > EVIDENCE_MAX).any() or (table[:, 3] > VERSION_MAX).any():
        return None
    if (table[:, 4] > DISTORTION_MAX).any():
        return None
    nearness = DISTORTION_MAX - np.minimum(table[:, 4] + 1, DISTORTION_MAX)  # one hand further
    return News(keys, table[:, 1] << 16 | table[:, 2], table[:, 3] << 16 | nearness, sites)


def _numbers(data: bytes) -> Any | None:
    """The varints of some bytes as int64; None if the last is cut off or one is too long."""
    raw = np.frombuffer(data, dtype=np.uint8)
    if len(raw) == 0 or raw[-1] & 0x80:
        return None
    ends = np.flatnonzero(raw < 0x80)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > BYTES_PER_NUMBER_MAX:
        return None
    values = (raw[starts] & 0x7F).astype(np.int64)
    for place in range(1, longest):
        more = lengths > place
        values[more] |= (raw[starts[more] + place] & 0x7F).astype(np.int64) << (7 * place)
    return values


def varint(value: int) -> bytes:
    """One number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it; -1 for a number that is cut off or too long."""
    value = 0
    shift = 0
    while at < len(data) and shift < 7 * BYTES_PER_NUMBER_MAX:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return -1, at
