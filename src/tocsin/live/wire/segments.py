"""A sealed frame to MTU-sized segments and back.

Each segment is the frame's header, the segment's offset, and a part of the sealed frame. Segments are not sealed one by
one: a frame is opened once, when it is whole. What an outsider can do with forged segments is bounded here: a few
unfinished frames of each sender, and the oldest gives way. A lost segment is asked for again by the receiver (`gaps`),
a few times, before the protocol has to send the frame again.
"""

import struct
from typing import Final

from tocsin.live.wire.seal import HEADER

OFFSET: Final = struct.Struct("!I")
HEADER_BYTES: Final = HEADER.size
SEGMENT_HEADER_BYTES: Final = HEADER.size + OFFSET.size
SEALED_BYTES_MAX: Final = 4 << 20  # a frame with its envelope is 60 KiB; what protocols put together is below this
BURST_BYTES_MAX: Final = 65_000  # of one call with segmentation offload; IP's limit is 65,507
BURST_SEGMENTS_MAX: Final = 60  # the kernel's limit was 64 before it became 128

UNFINISHED_PER_SENDER_MAX: Final = 64
UNFINISHED_BYTES_PER_SENDER_MAX: Final = 8 << 20
ASK_AFTER_US: Final = 2_000  # segments of a burst arrive within microseconds of one another; longer is a loss
ASK_TIMES_MAX: Final = 4
GAPS_MAX: Final = 64  # in one request


class Burst:
    """Segments to be sent by one call: all of `segment_bytes` but the last."""

    __slots__ = ("data", "segment_bytes")

    def __init__(self, data: bytes, segment_bytes: int) -> None:
        self.data = data
        self.segment_bytes = segment_bytes


class Splitter:
    """Cuts sealed frames into bursts of segments of one size."""

    def __init__(self, segment_bytes: int) -> None:
        self.segment_bytes = segment_bytes  # a datagram's payload, our header included
        self.chunk_bytes = segment_bytes - SEGMENT_HEADER_BYTES
        self._per_burst = max(1, min(BURST_SEGMENTS_MAX, BURST_BYTES_MAX // segment_bytes))
        self._offsets = [OFFSET.pack(index * self.chunk_bytes) for index in range(2 * self._per_burst)]

    def split(self, header: bytes, sealed: bytes) -> list[Burst]:
        total = len(sealed)
        chunk = self.chunk_bytes
        if total <= chunk:
            return [Burst(b"".join((header, self._offsets[0], sealed)), self.segment_bytes)]
        view = memoryview(sealed)
        bursts: list[Burst] = []
        for first in range(0, total, chunk * self._per_burst):
            parts: list[bytes | memoryview] = []
            for offset in range(first, min(first + chunk * self._per_burst, total), chunk):
                index = offset // chunk
                packed = self._offsets[index] if index < len(self._offsets) else OFFSET.pack(offset)
                parts += (header, packed, view[offset : offset + chunk])
            bursts.append(Burst(b"".join(parts), self.segment_bytes))
        return bursts

    def part(self, header: bytes, sealed: bytes, offset: int, end: int) -> list[Burst]:
        """The segments that cover [offset, end), for a receiver that lacks them."""
        view = memoryview(sealed)
        return [
            Burst(b"".join((header, OFFSET.pack(at), view[at : min(at + self.chunk_bytes, end)])), self.segment_bytes)
            for at in range(offset, end, self.chunk_bytes)
        ]


class _Unfinished:
    """A frame of which segments are missing."""

    __slots__ = ("asked", "buffer", "have", "missing", "touched_at")

    def __init__(self, total: int, now: int) -> None:
        self.buffer = bytearray(total)
        self.have: dict[int, int] = {}  # offset -> end, of the segments that came
        self.missing = total  # bytes
        self.touched_at = now
        self.asked = 0


class Assembler:
    """Puts frames together from segments that come in any order."""

    def __init__(self) -> None:
        self.stat_evicted = 0  # unfinished frames that gave way to newer ones
        self._unfinished: dict[int, dict[bytes, _Unfinished]] = {}  # by sender, then by header, oldest first
        self._bytes: dict[int, int] = {}  # by sender: buffers of unfinished frames

    def __len__(self) -> int:
        return sum(len(frames) for frames in self._unfinished.values())

    def add(self, now: int, sender: int, header: bytes, total: int, offset: int, chunk: memoryview) -> bytes | None:
        """The sealed frame, if this segment was the last one missing."""
        if total > SEALED_BYTES_MAX or offset + len(chunk) > total or not chunk:
            return None
        frames = self._unfinished.setdefault(sender, {})
        frame = frames.get(header)
        if frame is None:
            self._make_room(sender, frames, total)
            frame = frames[header] = _Unfinished(total, now)
            self._bytes[sender] = self._bytes.get(sender, 0) + total
        if offset in frame.have or len(frame.have) > total // 256 + 1:
            return None  # came twice; or in crumbs, which no member of ours sends
        end = offset + len(chunk)
        frame.buffer[offset:end] = chunk
        frame.have[offset] = end
        frame.missing -= len(chunk)
        frame.touched_at = now
        if frame.missing > 0:
            return None
        self._forget(sender, header)
        return bytes(frame.buffer)

    def _make_room(self, sender: int, frames: dict[bytes, _Unfinished], total: int) -> None:
        while frames and (
            len(frames) >= UNFINISHED_PER_SENDER_MAX
            or self._bytes.get(sender, 0) + total > UNFINISHED_BYTES_PER_SENDER_MAX
        ):
            self._forget(sender, next(iter(frames)))
            self.stat_evicted += 1

    def _forget(self, sender: int, header: bytes) -> None:
        frame = self._unfinished[sender].pop(header)
        self._bytes[sender] -= len(frame.buffer)

    def gaps(self, now: int) -> list[tuple[int, bytes, list[tuple[int, int]]]]:
        """The frames whose missing segments should be asked for now: (sender, header, [(offset, end)])."""
        found: list[tuple[int, bytes, list[tuple[int, int]]]] = []
        for sender in sorted(self._unfinished):
            frames = self._unfinished[sender]
            for header in list(frames):
                frame = frames[header]
                if now - frame.touched_at < ASK_AFTER_US << frame.asked:
                    continue
                if frame.asked >= ASK_TIMES_MAX:
                    self._forget(sender, header)
                    self.stat_evicted += 1
                    continue
                frame.asked += 1
                frame.touched_at = now
                found.append((sender, header, _missing(frame)))
        return found


def _missing(frame: _Unfinished) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    at = 0
    for offset in sorted(frame.have):
        if offset > at:
            gaps.append((at, offset))
        at = max(at, frame.have[offset])
    if at < len(frame.buffer):
        gaps.append((at, len(frame.buffer)))
    return gaps[:GAPS_MAX]
