"""Between sites and datagrams: one member's connection to the others.

The driver sends messages and takes those that have arrived; it is told only that there may be something to take. What
the wires of two members say to each other (which datagrams are missing, is anybody there) stays below.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Final

import msgspec

from tocsin.live.clock import now_us
from tocsin.live.group_config import Group
from tocsin.live.wire import kernel_filter, wire_messages
from tocsin.live.wire.datagrams import ASK_AFTER_US
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.receiving import Opened, Receiver
from tocsin.live.wire.seal import HEADER, Keyring, Sealer
from tocsin.live.wire.sending import Sender
from tocsin.live.wire.udp import Endpoint
from tocsin.live.wire.wire_messages import ASK, BUNDLE, MESSAGE, PROBE, PROBER

LATE_TICK_SECONDS: Final = 0.0005  # how exact injected delays are

Arrived = tuple[int, memoryview]  # a site, and a message of the protocol that came from it


class Wire:
    """See above. `newest`: session numbers of the peers, kept by the owner over restarts."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        keyring: Keyring,
        session_number: int,
        newest: dict[int, int],
    ) -> None:
        self.stat_packets_received = 0
        self.stat_asked = 0  # requests for lost datagrams, sent
        self.injector = Injector(group.sites)
        self.endpoint = Endpoint(group, site)
        self.filtered = group.kernel_filter and self._filter(group, site, keyring.tag)
        self.sender = Sender(group, site, loop, self.endpoint, Sealer(keyring, site, session_number), self.injector)
        self.receiver = Receiver(group, site, keyring, newest, self.injector)
        self._site = site
        self._loop = loop
        self._on_readable: Callable[[socket.socket], None] | None = None
        self._asking: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._paused = True

    def _filter(self, group: Group, site: int, tag: bytes) -> bool:
        members = group.addresses if group.family == socket.AF_INET else ()
        steps = kernel_filter.program(tag, PROBER, members, group.addresses[site])
        return all(kernel_filter.attach(sock, steps) for sock in self.endpoint.sockets)

    def drops(self) -> dict[str, int]:
        """By reason; what the kernel dropped at the member's own address, too."""
        kernel = kernel_filter.dropped(self.endpoint.main)
        return {**self.receiver.drops, "kernel": kernel} if kernel else dict(self.receiver.drops)

    # Life

    def start(self, on_readable: Callable[[socket.socket], None]) -> None:
        """Call `on_readable` with a socket from which `receive` may take something."""
        self._on_readable = on_readable
        self.resume()

    def pause(self) -> None:
        """Stop taking datagrams: the kernel keeps some, then loses them."""
        if not self._paused:
            self._paused = True
            for sock in self.endpoint.sockets:
                self._loop.remove_reader(sock)

    def resume(self) -> None:
        if self._paused and self._on_readable is not None:
            self._paused = False
            for sock in self.endpoint.sockets:
                self._loop.add_reader(sock, self._on_readable, sock)
            self._watch_late()

    def close(self) -> None:
        self.pause()
        self.sender.close()
        for handle in (self._asking, self._late):
            if handle is not None:
                handle.cancel()
        self.endpoint.close()

    # Receiving

    def receive(self, sock: socket.socket) -> list[Arrived] | None:
        """The messages that one call of the kernel brings; None when there is nothing to take."""
        arrived: list[Arrived] = []
        if self.receiver.has_late():
            for opened in self.receiver.receive_late():
                self._take(opened, arrived)
        found = self.receiver.receive(sock)
        if found is not None:
            for opened in found:
                self._take(opened, arrived)
        self._watch_late()
        if len(self.receiver.assembler) and self._asking is None:
            self._asking = self._loop.call_later(ASK_AFTER_US / 1e6, self._ask)
        return None if found is None and not arrived else arrived

    def _take(self, opened: Opened, arrived: list[Arrived]) -> None:
        """Add the messages of a packet, or answer it."""
        content = opened.content
        sender = opened.sender
        prefix_bytes = self.sender.prefix_bytes
        if len(content) < prefix_bytes:
            self.receiver.drop("decode")
            return
        kind = content[0]
        body = memoryview(content)[prefix_bytes:]
        if kind == PROBE:
            self.sender.reply(body, opened.address)
            return
        site = self._site
        if sender == PROBER or not content[1 + (site >> 3)] >> (site & 7) & 1:
            self.receiver.drop("target")
            return
        self.stat_packets_received += 1
        try:
            if kind == MESSAGE:
                arrived.append((sender, body))
            elif kind == BUNDLE:
                for each in wire_messages.decode_bundle(body):
                    arrived.append((sender, each))
            elif kind == ASK:
                self.sender.repair(sender, wire_messages.decode_ask(body))
            else:
                self.receiver.drop("decode")
        except msgspec.MsgspecError:
            self.receiver.drop("decode")

    def _ask(self) -> None:
        """Ask for datagrams that should have come by now."""
        self._asking = None
        for sender, header, gaps in self.receiver.assembler.gaps(now_us()):
            self.stat_asked += 1
            ask = wire_messages.Ask(HEADER.unpack(header)[6], gaps)
            self.sender.send_packet([sender], ASK, wire_messages.encode(ask), False)
        if len(self.receiver.assembler):
            self._asking = self._loop.call_later(ASK_AFTER_US / 1e6, self._ask)

    def _watch_late(self) -> None:
        if self._late is None and not self._paused and self.receiver.has_late():
            self._late = self._loop.call_later(LATE_TICK_SECONDS, self._on_late)

    def _on_late(self) -> None:
        self._late = None
        if self._on_readable is not None and not self._paused:
            self._on_readable(self.endpoint.main)
