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
from tocsin.live.wire.meeting import About, Meetings
from tocsin.live.wire.receiving import Opened, Receiver
from tocsin.live.wire.seal import HEADER, Keyring, Sealer
from tocsin.live.wire.sending import Sender
from tocsin.live.wire.udp import Endpoint
from tocsin.live.wire.wire_messages import ASK, BUNDLE, GREETING, MESSAGE, PROBE, PROBER

LATE_TICK_SECONDS: Final = 0.0005  # how exact injected delays are

Arrived = tuple[int, memoryview]  # a site, and a message of the protocol that came from it


class Wire:
    """See above. `about`: what this member says of itself when it meets others."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        keyring: Keyring,
        about: About,
    ) -> None:
        self.stat_packets_received = 0
        self.stat_asked = 0  # requests for lost datagrams, sent
        self.injector = Injector(group.sites)
        self.endpoint = Endpoint(group, site)
        self.filtered = group.kernel_filter and self._filter(group, site, keyring.tag)
        self.sender = Sender(group, site, loop, self.endpoint, Sealer(keyring, site), self.injector)
        self.receiver = Receiver(group, site, keyring, self.injector)
        self.meetings = Meetings(about, [peer for peer in range(len(group.sites)) if peer != site])
        self._site = site
        self._loop = loop
        self._on_readable: Callable[[socket.socket], None] | None = None
        self._asking: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._greeting: asyncio.TimerHandle | None = None
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
        self._greet()

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
        for handle in (self._asking, self._late, self._greeting):
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
        if content and content[0] == GREETING and sender != PROBER:
            self._on_greeting(sender, opened.session, memoryview(content)[1:])
            return
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
        if not self.receiver.opener.has_met(sender, opened.session):
            self.receiver.drop("unmet")
            self.meetings.doubt(now_us(), sender, opened.session, len(content))
            self._plan_greeting()
            return
        if self.receiver.refused:
            self.receiver.refused.pop(sender, None)
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

    # Meeting

    def _greet(self) -> None:
        """Greet those who were not met, and again later."""
        self._greeting = None
        for peer in self.meetings.due(now_us()):
            self.sender.greet(peer, self.meetings.greeting(peer))
        self._plan_greeting()

    def _plan_greeting(self) -> None:
        at_us = self.meetings.next_us()
        if at_us >= 0:
            if self._greeting is not None:
                self._greeting.cancel()
            self._greeting = self._loop.call_later(max(0, at_us - now_us()) / 1e6, self._greet)

    def _on_greeting(self, sender: int, session: bytes, body: memoryview) -> None:
        if not self.receiver.opener.knows(sender, session):
            self.receiver.drop("unmet")  # too many sessions at once: it will greet again
            return
        heard = self.meetings.hear(now_us(), sender, session, body)
        if heard.meets:
            self.receiver.opener.meet(sender, session)
        if heard.answers:
            self.sender.greet(sender, self.meetings.greeting(sender))
        self._plan_greeting()

    def why_unmet(self, peer: int) -> str:
        """Why a peer is not heard, in words; "" if it is."""
        known = self.meetings.of(peer)
        if known.is_apart():
            return f"its file differs in {', '.join(known.differs)}"
        if peer in self.receiver.refused:
            return self.receiver.refused[peer]
        if known.session:
            return ""
        return "no answer" if known.about is None else "it has just come"

    # Repair

    def _ask(self) -> None:
        """Ask for datagrams that should have come by now."""
        self._asking = None
        for sender, header, gaps in self.receiver.assembler.gaps(now_us()):
            self.stat_asked += 1
            ask = wire_messages.Ask(HEADER.unpack(header)[5], gaps)
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
