"""Between sites and datagrams: one member's connection to the others.

The driver sends messages and takes those that have arrived; it is told only that there may be something to take. What
the wires of two members say to each other (which datagrams are missing, is anybody there) stays below.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Final

from tocsin.live.clock import now_us
from tocsin.live.errors import UNDECODABLE
from tocsin.live.group_config import Address, Group
from tocsin.live.known import Known
from tocsin.live.register import Register
from tocsin.live.wire import kernel_filter, wire_messages
from tocsin.live.wire.datagrams import ASK_AFTER_US
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.meeting import Meetings, settings_of
from tocsin.live.wire.receiving import Opened, Receiver
from tocsin.live.wire.seal import HEADER, VERSIONS, Keyring, Sealer
from tocsin.live.wire.seats_desk import SeatsDesk
from tocsin.live.wire.sending import Sender
from tocsin.live.wire.udp import Endpoint
from tocsin.live.wire.wire_messages import (
    ASK,
    BUNDLE,
    GREETING,
    MESSAGE,
    NEWS,
    PART,
    PROBE,
    PROBER,
    SEATS,
    SEATS_ASK,
    SYNC,
    WANT,
    Part,
    Want,
)

LATE_TICK_SECONDS: Final = 0.0005  # how exact injected delays are

Arrived = tuple[int, memoryview]  # a site, and a message of the protocol that came from it


class Told:
    """What a peer has said of sites: when it was met (then of itself first), or later."""

    def __init__(self, peer: int, met: bool, of_me: Known | None, claims: list[Known]) -> None:
        self.peer = peer
        self.met = met
        self.of_me = of_me  # what it knows of this member; None: it does not say
        self.claims = claims  # of itself and of others; who asks claims nothing


class Wire:
    """See above. `register`: who this member is, and what it knows of others."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        keyring: Keyring,
        register: Register,
        versions: tuple[int, int] = VERSIONS,
        also: dict[str, object] | None = None,
    ) -> None:
        """`also`: what members agree in, or differ, beside what their files say."""
        self.stat_packets_received = 0
        self.stat_asked = 0  # requests for lost datagrams, sent
        self.told: list[Told] = []  # what peers have said, for the owner to take; before what came with it
        self.handed: list[tuple[int, Want | Part]] = []  # the same, of what members hand over to newcomers
        self.syncs: list[Arrived] = []  # questions how far this member has synced, and answers, for the owner to take
        self.injector = Injector(group.sites)
        self.endpoint = Endpoint(group, site)
        self.filtered = group.kernel_filter and self._filter(group, site, keyring.tag)
        self.sender = Sender(group, site, loop, self.endpoint, Sealer(keyring, site), self.injector, versions[0])
        self.receiver = Receiver(group, site, keyring, self.injector, versions)
        self._register = register
        self._versions = versions
        self._sites = group.sites
        self._settings = settings_of(group.settings() | (also or {}))
        self.meetings = Meetings(register, versions, group.sites, self._settings)
        self.seats = SeatsDesk(group, register, keyring, self.sender)
        self._group = group
        self._keyring = keyring
        self._site = site
        self._loop = loop
        self._on_readable: Callable[[socket.socket], None] | None = None
        self._asking: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._greeting: asyncio.TimerHandle | None = None
        self._paused = True

    def _filter(self, group: Group, site: int, tag: bytes) -> bool:
        members: Sequence[Address] = group.addresses if group.family == socket.AF_INET else ()
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

    def begin_life(self, on_readable: Callable[[socket.socket], None]) -> None:
        """The member, which has asked, has a life: to the others it is another session, which they have to meet."""
        self.pause()
        self.sender.begin_session(Sealer(self._keyring, self._site))
        self.meetings = Meetings(self._register, self._versions, self._sites, self._settings)
        for peer in range(len(self._sites)):
            self.receiver.opener.part(peer)  # before anything of it is taken, the machine hears who it is
        self.told = []
        self.handed = []
        self.start(on_readable)

    def forbid(self) -> None:
        """In a process that was forked from the member's."""
        self.sender.sealer.forbid()

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
        if len(content) < 2 or len(content) < 2 + content[1]:
            self.receiver.drop("decode")
            return
        kind = content[0]
        prefix_bytes = 2 + content[1]
        if kind == GREETING and sender != PROBER:
            self._on_greeting(sender, opened.session, memoryview(content)[prefix_bytes:], arrived)
            return
        if kind in (SEATS_ASK, SEATS) and sender == PROBER:
            self.seats.take(kind, memoryview(content)[prefix_bytes:], opened.address)
            return
        if kind == PROBE:
            self.sender.reply(memoryview(content), opened.address)
            return
        place = 2 + (self._site >> 3)
        if sender == PROBER or place >= prefix_bytes or not content[place] >> (self._site & 7) & 1:
            self.receiver.drop("target")
            return
        if not self.receiver.opener.has_met(sender, opened.session):
            self.receiver.drop("unmet")
            self.meetings.doubt(now_us(), sender, opened.session, len(content))
            self._plan_greeting()
            return
        body = memoryview(content)[prefix_bytes:]
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
            elif kind == SYNC:
                self.syncs.append((sender, body))
            elif kind == NEWS:
                self._on_news(sender, wire_messages.decode_news(body))
            elif kind == WANT:
                self.handed.append((sender, wire_messages.decode_want(body)))
            elif kind == PART:
                self.handed.append((sender, wire_messages.decode_part(body)))
            else:
                self.receiver.drop("decode")
        except UNDECODABLE:
            self.receiver.drop("decode")

    # Meeting

    def _greet(self) -> None:
        """Greet those who were not met, and again later."""
        self._greeting = None
        for peer in self.meetings.due(now_us()):
            self.sender.greet(peer, self.meetings.greeting(peer))
        self._plan_greeting()

    def greet(self, peer: int) -> None:
        """Tell somebody who was met what has changed of this member since."""
        self.sender.greet(peer, self.meetings.greeting(peer))

    def _plan_greeting(self) -> None:
        at_us = self.meetings.next_us()
        if at_us >= 0:
            if self._greeting is not None:
                self._greeting.cancel()
            self._greeting = self._loop.call_later(max(0, at_us - now_us()) / 1e6, self._greet)

    def _on_greeting(self, sender: int, session: bytes, body: memoryview, arrived: list[Arrived]) -> None:
        if not self.receiver.opener.knows(sender, session):
            self.receiver.drop("unmet")  # too many sessions at once: it will greet again
            return
        heard = self.meetings.hear(now_us(), sender, session, body)
        if heard.meets:
            if not self.receiver.opener.has_met(sender, session):
                arrived[:] = [each for each in arrived if each[0] != sender]  # of an earlier session
            self.receiver.opener.meet(sender, session)
            self._speak()
        if heard.about is not None:
            claims = [] if heard.about.asks or not heard.meets else [heard.about.who]
            self.told.append(Told(sender, heard.meets, heard.of_me, claims))
        if heard.answers:
            self.sender.greet(sender, self.meetings.greeting(sender, session))
        self._plan_greeting()

    def _speak(self) -> None:
        """In the newest version that all understand who were met."""
        newest = [self._versions[1]]
        for peer in self.meetings.met():
            about = self.meetings.of(peer).met
            if about is not None:
                newest.append(about.versions[1])
        self.sender.sealer.version = max(min(newest), self._versions[0])

    def _on_news(self, sender: int, claims: list[Known]) -> None:
        of_me = [claim for claim in claims if claim.site == self._site]
        others = [claim for claim in claims if claim.site != self._site]
        self.told.append(Told(sender, False, of_me[0] if of_me else None, others))

    def tell(self, peers: list[int], known: list[Known]) -> None:
        """Tell peers what this member knows of sites."""
        if peers and known:
            self.sender.send_packet(peers, NEWS, wire_messages.encode(known), True)

    def ask_sync(self, peers: list[int], body: bytes) -> None:
        """Ask how far they have synced, or answer."""
        if peers:
            self.sender.send_packet(peers, SYNC, body, True)

    def take_syncs(self) -> list[Arrived]:
        syncs = self.syncs
        self.syncs = []
        return syncs

    def reseat(self, moved: list[int]) -> None:
        """The group has other sites now; these are new, or found elsewhere."""
        self.receiver.reseat(self._group.addresses)
        if self.filtered:
            self._filter(self._group, self._site, self._keyring.tag)
        self.meetings.grow()
        for peer in moved:
            if peer != self._site:
                self.part(peer)

    def take_told(self) -> list[Told]:
        told = self.told
        self.told = []
        return told

    def take_handed(self) -> list[tuple[int, Want | Part]]:
        handed = self.handed
        self.handed = []
        return handed

    def part(self, peer: int) -> None:
        """A peer's session is not its site's present one, as others know: nothing of it counts any more."""
        self.receiver.opener.part(peer)
        self.meetings.part(peer)
        self._plan_greeting()

    def why_unmet(self, peer: int) -> str:
        """Why a peer is not heard, in words; "" if it is."""
        known = self.meetings.of(peer)
        if known.is_apart():
            return f"its file differs in {', '.join(known.differs)}"
        if known.objection and not known.session:
            return known.objection
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
