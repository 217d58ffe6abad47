"""A sealed packet to MTU-sized datagrams and back.

Each datagram is the packet's header, an offset, and the part of the sealed packet that begins there. Datagrams are not
sealed one by one: a packet is opened once, when it is whole. What is kept of unfinished packets is bounded, and no more
than has come. A lost datagram is asked for again by the receiver (`gaps`), a few times, before the protocol has to send
the packet again.
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
ASK_BYTES: Final = 256  # that must have come of a packet for each request: a request itself takes less


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

    __slots__ = ("asked", "asked_bytes", "chunks", "received", "total", "touched_at")

    def __init__(self, total: int, now: int) -> None:
        self.total = total  # as its header says; memory is spent only on what has come
        self.chunks: dict[int, bytes] = {}  # by offset
        self.received = 0  # bytes
        self.touched_at = now
        self.asked = 0
        self.asked_bytes = 0  # asked for so far


class Assembler:
    """Puts packets together from datagrams that come in any order."""

    def __init__(self) -> None:
        self.stat_evicted = 0  # unfinished packets that gave way to others
        self._unfinished: dict[int, dict[bytes, _Unfinished]] = {}  # by sender, then by header, oldest first
        self._bytes: dict[int, int] = {}  # by sender: held of unfinished packets

    def __len__(self) -> int:
        return sum(len(packets) for packets in self._unfinished.values())

    def has_begun(self, sender: int, header: bytes) -> bool:
        packets = self._unfinished.get(sender)
        return packets is not None and header in packets

    def add(self, now: int, sender: int, header: bytes, total: int, offset: int, chunk: memoryview) -> bytes | None:
        """The sealed packet, if this datagram was the last one missing."""
        if total > SEALED_BYTES_MAX or offset + len(chunk) > total or not chunk:
            return None
        packets = self._unfinished.setdefault(sender, {})
        packet = packets.get(header)
        if packet is None:
            packet = packets[header] = _Unfinished(total, now)
        elif offset in packet.chunks or len(packet.chunks) > total // 256 + 1:
            return None  # came twice; or in crumbs, which no member of ours sends
        packet.chunks[offset] = bytes(chunk)
        packet.received += len(chunk)
        packet.touched_at = now
        self._bytes[sender] = self._bytes.get(sender, 0) + len(chunk)
        if packet.received < total:
            self._make_room(sender, packets)
            return None
        self._forget(sender, header)
        return b"".join([packet.chunks[at] for at in sorted(packet.chunks)])

    def _make_room(self, sender: int, packets: dict[bytes, _Unfinished]) -> None:
        """The packet of which least has come gives way: who would push out a genuine one has to send as much."""
        while len(packets) > UNFINISHED_PER_SENDER_MAX or self._bytes[sender] > UNFINISHED_BYTES_PER_SENDER_MAX:
            least = min(packets, key=lambda header: packets[header].received)
            self._forget(sender, least)
            self.stat_evicted += 1

    def _forget(self, sender: int, header: bytes) -> None:
        packet = self._unfinished[sender].pop(header)
        self._bytes[sender] -= packet.received

    def gaps(self, now: int) -> list[tuple[int, bytes, list[tuple[int, int]]]]:
        """The packets whose missing datagrams should be asked for now: (sender, header, [(offset, end)]).

        Never more is asked for than has come of the packet: whoever sends a part of a packet that was not for us, to
        make us ask for the rest, gains nothing."""
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
                gaps = _affordable(packet)
                if gaps:
                    found.append((sender, header, gaps))
        return found


def _affordable(packet: _Unfinished) -> list[tuple[int, int]]:
    """The first gaps, or the beginning of one, whose answer costs no more than has come and is not yet asked for."""
    if packet.received < ASK_BYTES * packet.asked:
        return []
    left = packet.received - packet.asked_bytes
    chunk = max(map(len, packet.chunks.values()))  # datagrams are sent again as they were cut
    gaps: list[tuple[int, int]] = []
    for offset, end in _missing(packet):
        length = end - offset if end - offset <= left else left // chunk * chunk
        if length == 0:
            break
        left -= length
        gaps.append((offset, offset + length))
    packet.asked_bytes = packet.received - left
    return gaps


def _missing(packet: _Unfinished) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    at = 0
    for offset in sorted(packet.chunks):
        if offset > at:
            gaps.append((at, offset))
        at = max(at, offset + len(packet.chunks[offset]))
    if at < packet.total:
        gaps.append((at, packet.total))
    return gaps[:GAPS_MAX]
