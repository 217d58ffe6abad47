"""Towards the network: bundles small messages, seals packets, splits them into datagrams, and keeps large packets for
receivers that lack a datagram."""

import asyncio
import socket
from collections import OrderedDict
from typing import Final

from tocsin.live.group_config import UDP_HEADERS, Address, Group
from tocsin.live.wire.datagrams import Splitter
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.seal import HEADER, TAG_BYTES, Sealer
from tocsin.live.wire.udp import Endpoint
from tocsin.live.wire.wire_messages import BUNDLE, GREETING, MESSAGE, REPLY, Ask, encode

BUNDLED_OVERHEAD: Final = 8  # bytes at most that a message costs in a bundle beside its own
SENT_BYTES_MAX: Final = 16 << 20  # packets kept for receivers that lack a datagram
SINGLES_MAX: Final = 3  # targets of a single datagram, up to which multicast saves nothing (docs/runtime.md)
PREFIXES_MAX: Final = 4096  # of packets, kept ready made
GAPS_MAX: Final = 64  # answered of one request


class _Sent:
    """A packet of many datagrams, kept for those it was for."""

    def __init__(self, header: bytes, sealed: bytes, targets: list[int]) -> None:
        self.header = header
        self.sealed = sealed
        self.targets = targets


class Sender:
    """One member's packets to the others."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        endpoint: Endpoint,
        sealer: Sealer,
        injector: Injector,
        oldest: int,
    ) -> None:
        self.prefix_bytes = 2 + (group.numbers_max + 7) // 8  # of every packet's content: `wire_messages.py`
        self.stat_packets = 0
        self.stat_repaired = 0  # datagrams sent again
        self._group = group
        self._site = site
        self._loop = loop
        self._endpoint = endpoint
        self.sealer = sealer
        self._oldest = oldest  # version of the wire
        self._injector = injector
        self._splitter = Splitter(group.mtu - UDP_HEADERS[socket.AddressFamily(group.family)])
        self._sent: OrderedDict[int, _Sent] = OrderedDict()  # by counter: packets of many datagrams
        self._sent_bytes = 0
        self._bundle: list[bytes] = []  # small messages that wait for `flush`, all for the same sites
        self._bundle_targets: list[int] = []
        self._bundle_bytes = 0
        self._bundle_bytes_max = self._splitter.chunk_bytes - self.prefix_bytes - TAG_BYTES - BUNDLED_OVERHEAD
        self._bundle_droppable = False
        self._prefixes: dict[tuple[int, tuple[int, ...]], bytes] = {}
        self._writing = False

    def close(self) -> None:
        if self._writing:
            self._loop.remove_writer(self._endpoint.main)

    def begin_session(self, sealer: Sealer) -> None:
        """From now on this member is another session; nothing is repaired that the one before has sent."""
        self.sealer = sealer
        self._sent.clear()
        self._sent_bytes = 0

    def send(self, targets: list[int], body: bytes, droppable: bool) -> None:
        """A message of the protocol for these sites. Small ones for the same sites go in one packet, at `flush`.

        A second copy of a message is meant to arrive where the first is lost: it goes in a packet of its own.
        """
        size = len(body) + BUNDLED_OVERHEAD
        if self._bundle and (
            targets != self._bundle_targets
            or self._bundle_bytes + size > self._bundle_bytes_max
            or body == self._bundle[-1]
        ):
            self.flush()
        if size > self._bundle_bytes_max:
            self.send_packet(targets, MESSAGE, body, droppable)
            return
        self._bundle.append(body)
        self._bundle_targets = targets
        self._bundle_bytes += size
        self._bundle_droppable = droppable and (len(self._bundle) == 1 or self._bundle_droppable)

    def flush(self) -> None:
        """Send what waits."""
        bundle = self._bundle
        if not bundle:
            return
        self._bundle = []
        self._bundle_bytes = 0
        if len(bundle) == 1:
            self.send_packet(self._bundle_targets, MESSAGE, bundle[0], self._bundle_droppable)
        else:
            self.send_packet(self._bundle_targets, BUNDLE, encode(bundle), self._bundle_droppable)

    def send_packet(self, targets: list[int], kind: int, body: bytes, droppable: bool) -> None:
        """One sealed packet for all these sites."""
        header, sealed = self.sealer.seal(b"".join((self._prefix(kind, targets), body)))
        bursts = self._splitter.split(header, sealed)
        if len(sealed) > self._splitter.chunk_bytes:
            self._keep(_Sent(header, sealed, targets))
        cut = self._injector.cut
        if self._goes_by_multicast(len(targets), len(bursts), len(bursts[0].data)) and not cut:
            assert self._endpoint.multicast_address is not None
            addresses: list[Address] = [self._endpoint.multicast_address]
        else:
            known = self._group.addresses
            targets = [target for target in self._next_first(targets) if target not in cut and target < len(known)]
            addresses = [known[target] for target in targets]
        self.stat_packets += 1
        for address in addresses:
            for burst in bursts:
                self._endpoint.send(address, burst, droppable)
        self._watch_writable()

    def greet(self, target: int, body: bytes) -> None:
        """A greeting, in one datagram, in the oldest version of the wire that this member understands: the other one
        may understand no other."""
        if target in self._injector.cut:
            return
        spoken, self.sealer.version = self.sealer.version, self._oldest
        header, sealed = self.sealer.seal(bytes((GREETING, 0)) + body)
        self.sealer.version = spoken
        for burst in self._splitter.split(header, sealed)[:1]:
            self._endpoint.send(self._group.addresses[target], burst, True)
        self._watch_writable()

    def reply(self, probe: memoryview, address: Address) -> None:
        """Answer a probe with as many bytes as it had, to where it came from: never more than was sent."""
        header, sealed = self.sealer.seal(b"".join((bytes((REPLY,)), probe[1:])))
        for burst in self._splitter.split(header, sealed)[:1]:
            self._endpoint.send(address, burst, True)
        self._watch_writable()

    def send_once(self, sealer: Sealer, kind: int, body: bytes, address: Address) -> None:
        """One datagram to an address, as somebody who is no site."""
        header, sealed = sealer.seal(bytes((kind, 0)) + body)
        for burst in self._splitter.split(header, sealed)[:1]:
            self._endpoint.send(address, burst, True)
        self._watch_writable()

    def repair(self, target: int, ask: Ask) -> None:
        """Send the datagrams again that a receiver lacks, if their packet was for it and is still kept."""
        kept = self._sent.get(ask.counter)
        if kept is None or target not in kept.targets or target in self._injector.cut:
            return
        sent = 0  # up to here: nothing twice, whatever the request repeats
        for offset, end in ask.gaps[:GAPS_MAX]:
            if sent <= offset < end <= len(kept.sealed) and offset % self._splitter.chunk_bytes == 0:
                sent = end
                for burst in self._splitter.part(kept.header, kept.sealed, offset, end):
                    self.stat_repaired += 1
                    self._endpoint.send(self._group.addresses[target], burst, True)
        self._watch_writable()

    def _prefix(self, kind: int, targets: list[int]) -> bytes:
        key = (kind, tuple(targets))
        prefix = self._prefixes.get(key)
        if prefix is None:
            bits = sum([1 << target for target in set(targets)])
            size = self.prefix_bytes - 2
            prefix = bytes((kind, size)) + bits.to_bytes(size, "little")
            if len(self._prefixes) < PREFIXES_MAX:
                self._prefixes[key] = prefix
        return prefix

    def _goes_by_multicast(self, targets: int, bursts: int, size: int) -> bool:
        """A single datagram for a few goes to each by itself: the same work for the kernel, and the first is awake
        while the second is still being sent to."""
        if self._endpoint.multicast_address is None or targets < 2:
            return False
        return targets > SINGLES_MAX or bursts > 1 or size > self._splitter.datagram_bytes

    def _next_first(self, targets: list[int]) -> list[int]:
        """The sites after this one first: where a token goes round, the next has the most to do."""
        if len(targets) < 2:
            return targets
        site = self._site
        return [each for each in targets if each > site] + [each for each in targets if each < site]

    def _keep(self, packet: _Sent) -> None:
        self._sent[HEADER.unpack(packet.header)[5]] = packet
        self._sent_bytes += len(packet.sealed)
        while self._sent_bytes > SENT_BYTES_MAX:
            _, oldest = self._sent.popitem(last=False)
            self._sent_bytes -= len(oldest.sealed)

    def _watch_writable(self) -> None:
        if self._endpoint.wants_to_write() and not self._writing:
            self._writing = True
            self._loop.add_writer(self._endpoint.main, self._on_writable)

    def _on_writable(self) -> None:
        self._endpoint.on_writable()
        if not self._endpoint.wants_to_write():
            self._writing = False
            self._loop.remove_writer(self._endpoint.main)
