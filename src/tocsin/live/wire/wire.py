"""Between sites and datagrams: seals, cuts, sends, receives, assembles, opens; injects faults; asks for lost datagrams.

What comes out towards the driver is authentic, of a member of the group, meant for this member, and not a replay.
Everything else is counted by reason and dropped here, in bounded work.
"""

import asyncio
import heapq
import socket
from collections import OrderedDict
from typing import Any, Final, Protocol

import msgspec

from tocsin.live.clock import now_us
from tocsin.live.group_config import UDP_HEADERS, Address, Group
from tocsin.live.wire import kernel_filter, wire_messages
from tocsin.live.wire.datagrams import (
    ASK_AFTER_US,
    DATAGRAM_HEADER_BYTES,
    HEADER_BYTES,
    OFFSET,
    SEALED_BYTES_MAX,
    Assembler,
    Splitter,
)
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.seal import HEADER, TAG_BYTES, Keyring, Opener, Sealer
from tocsin.live.wire.udp import RECEIVE_BYTES, Endpoint, receive

MESSAGE: Final = 0  # a message of the protocol
ASK: Final = 1  # datagrams are missing
PROBE: Final = 2  # is anybody there; `tocsin doctor` asks
REPLY: Final = 3
BUNDLE: Final = 4  # several messages of the protocol

LATE_TICK_SECONDS: Final = 0.0005  # how exact injected delays are
DRAIN_MAX: Final = 64  # calls of receive in one turn of the loop, so that timers and the application get theirs
BUNDLED_OVERHEAD: Final = 8  # bytes at most that a message costs in a bundle beside its own
SENT_BYTES_MAX: Final = 16 << 20  # packets kept for receivers that lack a datagram
SINGLES_MAX: Final = 3  # targets of a single datagram, up to which multicast saves nothing (docs/runtime.md)
PROBER: Final = 0xFFFF  # the sender of probes that come from no site


class Receiver(Protocol):
    """Who takes what arrives."""

    is_due: bool  # it has told the application something, which should have its turn now

    def on_content(self, source: int, body: memoryview) -> None: ...

    def on_turn_end(self) -> None: ...


class Wire:
    """One member's connection to the others."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        keyring: Keyring,
        session_number: int,
        newest: dict[int, int],
    ) -> None:
        self.drops: dict[str, int] = {}  # datagrams and packets dropped, by reason
        self.stat_packets_sent = 0
        self.stat_packets_received = 0
        self.stat_bytes_received = 0
        self.stat_asked = 0  # requests for lost datagrams, sent
        self.stat_repaired = 0  # datagrams sent again
        self.injector = Injector(group.sites)
        self.endpoint = Endpoint(group, site)
        self.filtered = group.kernel_filter and self._filter(group, site, keyring.tag)
        self.sealer = Sealer(keyring, site, session_number)
        self.opener = Opener(keyring, newest)
        self._keyring = keyring
        self._group = group
        self._site = site
        self._loop = loop
        self._receiver: Receiver | None = None
        self._sources = {address: index for index, address in enumerate(group.addresses)}
        self._splitter = Splitter(group.mtu - UDP_HEADERS[socket.AddressFamily(group.family)])
        self._assembler = Assembler()
        self._buffer = bytearray(RECEIVE_BYTES)
        self._sent: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()  # counter -> header, sealed; many datagrams
        self._sent_bytes = 0
        self._bitmap_bytes = (len(group.sites) + 7) // 8
        self._prefix_bytes = 1 + self._bitmap_bytes
        self._bundle: list[bytes] = []  # small messages that wait for `flush`, all for the same sites
        self._bundle_targets: list[int] = []
        self._bundle_bytes = 0
        self._bundle_bytes_max = self._splitter.chunk_bytes - self._prefix_bytes - TAG_BYTES - BUNDLED_OVERHEAD
        self._bundle_droppable = False
        self._prefixes: dict[tuple[int, tuple[int, ...]], bytes] = {}
        self._asking: asyncio.TimerHandle | None = None
        self._writing = False
        self._paused = False
        self._late: list[tuple[int, int, bytes, Address]] = []  # injected delays: due, counter, datagram, source
        self._late_count = 0
        self._late_handle: asyncio.TimerHandle | None = None

    def _filter(self, group: Group, site: int, tag: bytes) -> bool:
        members = group.addresses if group.family == socket.AF_INET else ()
        steps = kernel_filter.program(tag, PROBER, members, group.addresses[site])
        return all(kernel_filter.attach(sock, steps) for sock in self.endpoint.sockets)

    def drops_now(self) -> dict[str, int]:
        """By reason; what the kernel dropped at the member's own address, too."""
        kernel = kernel_filter.dropped(self.endpoint.main)
        return {**self.drops, "kernel": kernel} if kernel else dict(self.drops)

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.resume()

    def pause(self) -> None:
        """Stop taking datagrams: the kernel keeps some, then loses them."""
        if not self._paused:
            self._paused = True
            for sock in self.endpoint.sockets:
                self._loop.remove_reader(sock)

    def resume(self) -> None:
        self._paused = False
        for sock in self.endpoint.sockets:
            self._loop.add_reader(sock, self._on_readable, sock)

    def close(self) -> None:
        for sock in self.endpoint.sockets:
            self._loop.remove_reader(sock)
        if self._writing:
            self._loop.remove_writer(self.endpoint.main)
        for handle in (self._asking, self._late_handle):
            if handle is not None:
                handle.cancel()
        self.endpoint.close()

    # Sending

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
            self._send_packet(targets, MESSAGE, body, droppable)
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
            self._send_packet(self._bundle_targets, MESSAGE, bundle[0], self._bundle_droppable)
        else:
            self._send_packet(self._bundle_targets, BUNDLE, wire_messages.encode(bundle), self._bundle_droppable)

    def _send_packet(self, targets: list[int], kind: int, body: bytes, droppable: bool) -> None:
        """One sealed packet for all these sites."""
        header, sealed = self.sealer.seal(b"".join((self._prefix(kind, targets), body)))
        bursts = self._splitter.split(header, sealed)
        if len(sealed) > self._splitter.chunk_bytes:
            self._keep(header, sealed)
        cut = self.injector.cut
        if self._goes_by_multicast(len(targets), len(bursts), len(bursts[0].data)) and not cut:
            assert self.endpoint.multicast_address is not None
            addresses: list[Address] = [self.endpoint.multicast_address]
        else:
            addresses = [self._group.addresses[target] for target in self._next_first(targets) if target not in cut]
        self.stat_packets_sent += 1
        for address in addresses:
            for burst in bursts:
                self.endpoint.send(address, burst, droppable)
        self._watch_writable()

    def _goes_by_multicast(self, targets: int, bursts: int, size: int) -> bool:
        """A single datagram for a few goes to each by itself: the same work for the kernel, and the first is awake
        while the second is still being sent to."""
        if self.endpoint.multicast_address is None or targets < 2:
            return False
        return targets > SINGLES_MAX or bursts > 1 or size > self._splitter.datagram_bytes

    def _next_first(self, targets: list[int]) -> list[int]:
        """The sites after this one first: where a token goes round, the next has the most to do."""
        if len(targets) < 2:
            return targets
        site = self._site
        return [each for each in targets if each > site] + [each for each in targets if each < site]

    def _watch_writable(self) -> None:
        if self.endpoint.wants_to_write() and not self._writing:
            self._writing = True
            self._loop.add_writer(self.endpoint.main, self._on_writable)

    def _on_writable(self) -> None:
        self.endpoint.on_writable()
        if not self.endpoint.wants_to_write():
            self._writing = False
            self._loop.remove_writer(self.endpoint.main)

    def _prefix(self, kind: int, targets: list[int]) -> bytes:
        """Kind and bitmap of targets: sealed with the content, so that nobody can redirect a packet."""
        key = (kind, tuple(targets))
        prefix = self._prefixes.get(key)
        if prefix is None:
            bits = sum(1 << target for target in set(targets))
            prefix = bytes((kind,)) + bits.to_bytes(self._bitmap_bytes, "little")
            if len(self._prefixes) < 4096:
                self._prefixes[key] = prefix
        return prefix

    def _keep(self, header: bytes, sealed: bytes) -> None:
        counter = HEADER.unpack(header)[6]
        self._sent[counter] = (header, sealed)
        self._sent_bytes += len(sealed)
        while self._sent_bytes > SENT_BYTES_MAX:
            _, (_, oldest) = self._sent.popitem(last=False)
            self._sent_bytes -= len(oldest)

    # Receiving

    def _on_readable(self, sock: socket.socket) -> None:
        buffer = self._buffer
        view = memoryview(buffer)
        for _ in range(DRAIN_MAX):
            got = receive(sock, buffer)
            if got is None:
                break
            count, size, address = got
            if count:
                self.stat_bytes_received += count
                self._on_burst(view[:count], size, address)
            if self._paused or (self._receiver is not None and self._receiver.is_due):
                break
        if self._receiver is not None:
            self._receiver.on_turn_end()
        if len(self._assembler) and self._asking is None:
            self._asking = self._loop.call_later(ASK_AFTER_US / 1e6, self._ask)

    def _on_burst(self, view: memoryview, size: int, address: Address) -> None:
        """What one call has brought: one datagram, or many of `size` each but the last."""
        if self.injector.is_active():
            self._inject(view, size or len(view), address)
        elif size == 0 or len(view) <= size:
            self._on_datagram(view, address)
        elif not self._on_whole_packet(view, size, address):
            for at in range(0, len(view), size):
                self._on_datagram(view[at : at + size], address)

    def _on_whole_packet(self, view: memoryview, size: int, address: Address) -> bool:
        """The usual case: the datagrams of this call are one packet, in order. The seal tells whether it is so."""
        if len(view) < DATAGRAM_HEADER_BYTES or OFFSET.unpack_from(view, HEADER_BYTES)[0] != 0:
            return False
        header = bytes(view[:HEADER_BYTES])
        fields = HEADER.unpack(header)
        total = fields[7]
        if total != len(view) - -(-len(view) // size) * DATAGRAM_HEADER_BYTES:
            return False
        sender = self._checked_sender(fields, address)
        if sender < 0:
            return True
        sealed = b"".join([view[at + DATAGRAM_HEADER_BYTES : at + size] for at in range(0, len(view), size)])
        content, reason = self.opener.open_fields(header, fields, sealed)
        if content is None and reason == "seal":
            return False  # datagrams of several packets: take them one by one
        self._on_opened(sender, content, reason, address)
        return True

    def _inject(self, view: memoryview, size: int, address: Address) -> None:
        for at in range(0, len(view), size):
            datagram = view[at : at + size]
            if self._sources.get(address, -1) in self.injector.cut:
                self._drop("cut")
                continue
            for delay in self.injector.delays():
                if delay == 0:
                    self._on_datagram(datagram, address)
                else:
                    self._late_count += 1
                    heapq.heappush(self._late, (now_us() + delay, self._late_count, bytes(datagram), address))
        if self._late and self._late_handle is None:
            self._late_handle = self._loop.call_later(LATE_TICK_SECONDS, self._on_late)

    def _on_late(self) -> None:
        """Take the datagrams whose injected delay is over."""
        self._late_handle = None
        now = now_us()
        while self._late and self._late[0][0] <= now:
            _, _, datagram, address = heapq.heappop(self._late)
            self._on_datagram(memoryview(datagram), address)
        if self._late:
            self._late_handle = self._loop.call_later(LATE_TICK_SECONDS, self._on_late)
        if self._receiver is not None:
            self._receiver.on_turn_end()

    def _on_datagram(self, view: memoryview, address: Address) -> None:
        if len(view) <= DATAGRAM_HEADER_BYTES:
            self._drop("short")
            return
        header = bytes(view[:HEADER_BYTES])
        fields = HEADER.unpack(header)
        sender = self._checked_sender(fields, address)
        if sender < 0:
            return
        total = fields[7]
        chunk = view[DATAGRAM_HEADER_BYTES:]
        if total == len(chunk):
            sealed: bytes | None = bytes(chunk)
        elif sender == PROBER or total > SEALED_BYTES_MAX:
            self._drop("large")
            return
        elif self.opener.has_taken(sender, fields[4], fields[5], fields[6]):
            self._drop("replay")
            return
        else:
            offset = OFFSET.unpack_from(view, HEADER_BYTES)[0]
            sealed = self._assembler.add(now_us(), sender, header, total, offset, chunk)
        if sealed is not None:
            content, reason = self.opener.open_fields(header, fields, sealed)
            self._on_opened(sender, content, reason, address)

    def _checked_sender(self, fields: tuple[Any, ...], address: Address) -> int:
        """The site that the header names, or -1 if this datagram is none of ours."""
        tag, key_id, sender, version = fields[:4]
        if tag != self._keyring.tag or version != 1:
            self._drop("foreign")
        elif not self._keyring.knows(key_id):
            self._drop("key")
        elif sender == PROBER:
            return int(sender)
        elif sender == self._site:
            if address != self._group.addresses[self._site]:
                self._drop("address")  # our own multicast comes back to us; from elsewhere it is a forgery
        elif self._sources.get(address, -1) != sender:
            self._drop("address")
        else:
            return int(sender)
        return -1

    def _on_opened(self, sender: int, content: bytes | None, reason: str, address: Address) -> None:
        if content is None:
            self._drop(reason)
            return
        if len(content) < self._prefix_bytes:
            self._drop("decode")
            return
        kind = content[0]
        body = memoryview(content)[self._prefix_bytes :]
        if kind == PROBE:
            self._reply(body, address)
            return
        site = self._site
        if sender == PROBER or not content[1 + (site >> 3)] >> (site & 7) & 1:
            self._drop("target")
            return
        self.stat_packets_received += 1
        if kind == MESSAGE:
            if self._receiver is not None:
                self._receiver.on_content(sender, body)
        elif kind == BUNDLE:
            self._on_bundle(sender, body)
        elif kind == ASK:
            self._on_ask(sender, body)
        else:
            self._drop("decode")

    def _on_bundle(self, sender: int, body: memoryview) -> None:
        try:
            bodies = wire_messages.decode_bundle(body)
        except msgspec.MsgspecError:
            self._drop("decode")
            return
        if self._receiver is not None:
            for each in bodies:
                self._receiver.on_content(sender, each)

    def _reply(self, body: memoryview, address: Address) -> None:
        """Answer a probe with as many bytes as it had, to where it came from: never more than was sent."""
        header, sealed = self.sealer.seal(b"".join((self._prefix(REPLY, []), body)))
        for burst in self._splitter.split(header, sealed)[:1]:
            self.endpoint.send(address, burst, True)
        self._watch_writable()

    # Lost datagrams

    def _ask(self) -> None:
        self._asking = None
        for sender, header, gaps in self._assembler.gaps(now_us()):
            self.stat_asked += 1
            counter = HEADER.unpack(header)[6]
            self._send_packet([sender], ASK, wire_messages.encode(wire_messages.Ask(counter, gaps)), False)
        if len(self._assembler):
            self._asking = self._loop.call_later(ASK_AFTER_US / 1e6, self._ask)

    def _on_ask(self, sender: int, body: memoryview) -> None:
        try:
            ask = wire_messages.decode_ask(body)
        except msgspec.MsgspecError:
            self._drop("decode")
            return
        kept = self._sent.get(ask.counter)
        if kept is None or sender in self.injector.cut:
            return
        header, sealed = kept
        for offset, end in ask.gaps[:64]:
            if 0 <= offset < end <= len(sealed) and offset % self._splitter.chunk_bytes == 0:
                for burst in self._splitter.part(header, sealed, offset, end):
                    self.stat_repaired += 1
                    self.endpoint.send(self._group.addresses[sender], burst, True)
        self._watch_writable()

    def _drop(self, reason: str) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + 1
