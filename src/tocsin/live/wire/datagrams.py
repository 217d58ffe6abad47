"""A sealed packet to MTU-sized datagrams and back.

Each datagram is the packet's header, an offset, and the part of the sealed packet that begins there. Datagrams are not
sealed one by one: a packet is opened once, when it is whole. What an outsider can do with forged datagrams is bounded
here: a few unfinished packets of each sender, and the oldest gives way. A lost datagram is asked for again by the
receiver (`gaps`), a few times, before the protocol has to send the packet again.
"""

import struct
from typing import Final

from tocsin.live.wire.seal import HEADER

OFFSET: Final = struct.Struct("!I")
HEADER_BYTES: Final = HEADER.size
DATAGRAM_HEADER_BYTES: Final = HEADER.size + OFFSET.size
SEALED_BYTES_MAX: Final = 4 << 20  # a packet with its envelope is 60 KiB; what protocols put together is below this
BURST_BYTES_MAX: Final = 65_000  # of one call with segmentation offload; IP's limit is 65,507
BURST_DATAGRAMS_MAX: Final = 60  # the kernel's limit was 64 before it became 128

UNFINISHED_PER_SENDER_MAX: Final = 64
UNFINISHED_BYTES_PER_SENDER_MAX: Final = 8 << 20
ASK_AFTER_US: Final = 2_000  # datagrams of a burst arrive within microseconds of one another; longer is a loss
ASK_TIMES_MAX: Final = 4
GAPS_MAX: Final = 64  # in one request


class Burst:
    """Datagrams to be sent by one call: all of `datagram_bytes` but the last."""

    __slots__ = ("data", "datagram_bytes")

    def __init__(self, data: bytes, datagram_bytes: int) -> None:
        self.data = data
        self.datagram_bytes = datagram_bytes


class Splitter:
    """Cuts sealed packets into bursts of datagrams of one size."""

    def __init__(self, datagram_bytes: int) -> None:
        self.datagram_bytes = datagram_bytes  # a datagram's payload, our header included
        self.chunk_bytes = datagram_bytes - DATAGRAM_HEADER_BYTES
        self._per_burst = max(1, min(BURST_DATAGRAMS_MAX, BURST_BYTES_MAX // datagram_bytes))
        self._offsets = [OFFSET.pack(index * self.chunk_bytes) for index in range(2 * self._per_burst)]

    def split(self, header: bytes, sealed: bytes) -> list[Burst]:
        total = len(sealed)
        chunk = self.chunk_bytes
        if total <= chunk:
            return [Burst(b"".join((header, self._offsets[0], sealed)), self.datagram_bytes)]
        view = memoryview(sealed)
        bursts: list[Burst] = []
        for first in range(0, total, chunk * self._per_burst):
            parts: list[bytes | memoryview] = []
            for offset in range(first, min(first + chunk * self._per_burst, total), chunk):
                index = offset // chunk
                packed = self._offsets[index] if index < len(self._offsets) else OFFSET.pack(offset)
                parts += (header, packed, view[offset : offset + chunk])
            bursts.append(Burst(b"".join(parts), self.datagram_bytes))
        return bursts

    def part(self, header: bytes, sealed: bytes, offset: int, end: int) -> list[Burst]:
        """The datagrams that cover [offset, end), for a receiver that lacks them."""
        view = memoryview(sealed)
        return [
            Burst(b"".join((header, OFFSET.pack(at), view[at : min(at + self.chunk_bytes, end)])), self.datagram_bytes)
            for at in range(offset, end, self.chunk_bytes)
        ]


class _Unfinished:
    """A packet of which datagrams are missing."""

    __slots__ = ("asked", "buffer", "have", "missing", "touched_at")

    def __init__(self, total: int, now: int) -> None:
        self.buffer = bytearray(total)
        self.have: dict[int, int] = {}  # offset -> end, of the datagrams that came
        self.missing = total  # bytes
        self.touched_at = now
        self.asked = 0


class Assembler:
    """Puts packets together from datagrams that come in any order."""

    def __init__(self) -> None:
        self.stat_evicted = 0  # unfinished packets that gave way to newer ones
        self._unfinished: dict[int, dict[bytes, _Unfinished]] = {}  # by sender, then by header, oldest first
        self._bytes: dict[int, int] = {}  # by sender: buffers of unfinished packets

    def __len__(self) -> int:
        return sum(len(packets) for packets in self._unfinished.values())

    def add(self, now: int, sender: int, header: bytes, total: int, offset: int, chunk: memoryview) -> bytes | None:
        """The sealed packet, if this datagram was the last one missing."""
        if total > SEALED_BYTES_MAX or offset + len(chunk) > total or not chunk:
            return None
        packets = self._unfinished.setdefault(sender, {})
        packet = packets.get(header)
        if packet is None:
            self._make_room(sender, packets, total)
            packet = packets[header] = _Unfinished(total, now)
            self._bytes[sender] = self._bytes.get(sender, 0) + total
        if offset in packet.have or len(packet.have) > total // 256 + 1:
            return None  # came twice; or in crumbs, which no member of ours sends
        end = offset + len(chunk)
        packet.buffer[offset:end] = chunk
        packet.have[offset] = end
        packet.missing -= len(chunk)
        packet.touched_at = now
        if packet.missing > 0:
            return None
        self._forget(sender, header)
        return bytes(packet.buffer)

    def _make_room(self, sender: int, packets: dict[bytes, _Unfinished], total: int) -> None:
        while packets and (
            len(packets) >= UNFINISHED_PER_SENDER_MAX
            or self._bytes.get(sender, 0) + total > UNFINISHED_BYTES_PER_SENDER_MAX
        ):
            self._forget(sender, next(iter(packets)))
            self.stat_evicted += 1

    def _forget(self, sender: int, header: bytes) -> None:
        packet = self._unfinished[sender].pop(header)
        self._bytes[sender] -= len(packet.buffer)

    def gaps(self, now: int) -> list[tuple[int, bytes, list[tuple[int, int]]]]:
        """The packets whose missing datagrams should be asked for now: (sender, header, [(offset, end)])."""
        found: list[tuple[int, bytes, list[tuple[int, int]]]] = []
        for sender in sorted(self._unfinished):
            packets = self._unfinished[sender]
            for header in list(packets):
                packet = packets[header]
                if now - packet.touched_at < ASK_AFTER_US << packet.asked:
                    continue
                if packet.asked >= ASK_TIMES_MAX:
                    self._forget(sender, header)
                    self.stat_evicted += 1
                    continue
                packet.asked += 1
                packet.touched_at = now
                found.append((sender, header, _missing(packet)))
        return found


def _missing(packet: _Unfinished) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    at = 0
    for offset in sorted(packet.have):
        if offset > at:
            gaps.append((at, offset))
        at = max(at, packet.have[offset])
    if at < len(packet.buffer):
        gaps.append((at, len(packet.buffer)))
    return gaps[:GAPS_MAX]
