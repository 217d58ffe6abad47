"""From the network: datagrams are checked, put together to packets, and opened.

What comes out is authentic, of a member of the group, and not a replay. Everything else is counted by reason and
dropped here, in bounded work. Injected faults happen to datagrams before all that.
"""

import heapq
import socket
from collections.abc import Sequence
from typing import Any, Final

from tocsin.live.clock import now_us
from tocsin.live.group_config import Address, Group
from tocsin.live.wire.datagrams import (
    DATAGRAM_HEADER_BYTES,
    HEADER_BYTES,
    OFFSET,
    SEALED_BYTES_MAX,
    Assembler,
)
from tocsin.live.wire.inject import Injector
from tocsin.live.wire.seal import HEADER, Keyring, Opener
from tocsin.live.wire.udp import RECEIVE_BYTES, receive
from tocsin.live.wire.wire_messages import PROBER

OTHER_KEY: Final = "it has another key"
OTHER_ORDER: Final = "its file has the sites in another order"


class Opened:
    """A packet's content."""

    __slots__ = ("address", "content", "sender", "session")

    def __init__(self, sender: int, session: bytes, content: bytes, address: Address) -> None:
        self.sender = sender
        self.session = session
        self.content = content
        self.address = address


class Receiver:
    """One member's packets from the others."""

    def __init__(
        self, group: Group, site: int, keyring: Keyring, injector: Injector, versions: tuple[int, int]
    ) -> None:
        self.drops: dict[str, int] = {}  # datagrams and packets dropped, by reason
        self.refused: dict[int, str] = {}  # by site at whose address it was sent: why the last datagram was dropped
        self.stat_bytes = 0
        self.assembler = Assembler()
        self._keyring = keyring
        self.opener = Opener(keyring)
        self._injector = injector
        self._site = site
        self._oldest, self._newest = versions  # of the wire
        self._own_address = group.addresses[site]
        self._sources = {address: index for index, address in enumerate(group.addresses)}
        self._buffer = bytearray(RECEIVE_BYTES)
        self._opened: list[Opened] = []  # by the present call of `receive`
        self._late: list[tuple[int, int, bytes, Address]] = []  # injected delays: due, counter, datagram, source
        self._late_count = 0  # next tie-breaker; never reused

    def reseat(self, addresses: Sequence[Address]) -> None:
        """Sites are found elsewhere, or there are more; of two at one address, the later."""
        self._sources = {address: index for index, address in enumerate(addresses)}

    def receive(self, sock: socket.socket) -> list[Opened] | None:
        """Take what one call of the kernel brings: the packets that it completed; None if there is nothing."""
        got = receive(sock, self._buffer)
        if got is None:
            return None
        count, size, address = got
        if count == 0:
            return []
        self.stat_bytes += count
        view = memoryview(self._buffer)[:count]
        if self._injector.is_active():
            self._inject(view, size or count, address)
        elif size == 0 or count <= size:
            self._on_datagram(view, address)
        elif not self._on_whole_packet(view, size, address):
            for at in range(0, count, size):
                self._on_datagram(view[at : at + size], address)
        return self._take_opened()

    def has_late(self) -> bool:
        """Whether datagrams wait for the end of an injected delay."""
        return len(self._late) > 0

    def receive_late(self) -> list[Opened]:
        """Take the datagrams whose injected delay is over."""
        now = now_us()
        while self._late and self._late[0][0] <= now:
            _, _, datagram, address = heapq.heappop(self._late)
            self._on_datagram(memoryview(datagram), address)
        return self._take_opened()

    def drop(self, reason: str) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + 1

    def _take_opened(self) -> list[Opened]:
        opened = self._opened
        self._opened = []
        return opened

    def _inject(self, view: memoryview, size: int, address: Address) -> None:
        for at in range(0, len(view), size):
            datagram = view[at : at + size]
            if self._sources.get(address, -1) in self._injector.cut:
                self.drop("cut")
                continue
            for delay in self._injector.delays():
                if delay == 0:
                    self._on_datagram(datagram, address)
                else:
                    self._late_count += 1
                    heapq.heappush(self._late, (now_us() + delay, self._late_count, bytes(datagram), address))

    def _on_whole_packet(self, view: memoryview, size: int, address: Address) -> bool:
        """The usual case: the datagrams of this call are one packet, in order. The seal tells whether it is so."""
        if len(view) < DATAGRAM_HEADER_BYTES or OFFSET.unpack_from(view, HEADER_BYTES)[0] != 0:
            return False
        header = bytes(view[:HEADER_BYTES])
        fields = HEADER.unpack(header)
        total = fields[6]
        if total != len(view) - -(-len(view) // size) * DATAGRAM_HEADER_BYTES:
            return False
        sender = self._checked_sender(fields, address)
        if sender < 0:
            return True
        sealed = b"".join([view[at + DATAGRAM_HEADER_BYTES : at + size] for at in range(0, len(view), size)])
        content, reason = self.opener.open_fields(header, fields, sealed)
        if content is None and reason == "seal":
            return False  # datagrams of several packets: take them one by one
        self._on_opened(sender, fields[4], content, reason, address)
        return True

    def _on_datagram(self, view: memoryview, address: Address) -> None:
        if len(view) <= DATAGRAM_HEADER_BYTES:
            self.drop("short")
            return
        header = bytes(view[:HEADER_BYTES])
        fields = HEADER.unpack(header)
        sender = self._checked_sender(fields, address)
        if sender < 0:
            return
        total = fields[6]
        chunk = view[DATAGRAM_HEADER_BYTES:]
        if total == len(chunk):
            sealed: bytes | None = bytes(chunk)
        elif sender == PROBER or total > SEALED_BYTES_MAX:
            self.drop("large")
            return
        elif not self.assembler.has_begun(sender, header) and not self.opener.may_begin(header, fields):
            self.drop("part")
            return
        else:
            offset = OFFSET.unpack_from(view, HEADER_BYTES)[0]
            sealed = self.assembler.add(now_us(), sender, header, total, offset, chunk)
        if sealed is not None:
            content, reason = self.opener.open_fields(header, fields, sealed)
            self._on_opened(sender, fields[4], content, reason, address)

    def _checked_sender(self, fields: tuple[Any, ...], address: Address) -> int:
        """The site that the header names, or -1 if this datagram is none of ours."""
        tag, key_id, sender, version = fields[:4]
        if tag != self._keyring.tag:
            self._refuse("foreign", address, "its datagrams are of another group")
        elif not self._oldest <= version <= self._newest:
            ours = str(self._newest) if self._oldest == self._newest else f"{self._oldest} to {self._newest}"
            self._refuse("version", address, f"it speaks version {version} of the wire, this member version {ours}")
        elif not self._keyring.knows(key_id):
            self._refuse("key", address, OTHER_KEY)
        elif sender == PROBER:
            return int(sender)
        elif sender == self._site:
            if address != self._own_address:  # our own multicast comes back to us; from elsewhere it is another's
                self._refuse("address", address, OTHER_ORDER)
        elif self._sources.get(address, -1) != sender:
            self._refuse("address", address, OTHER_ORDER)
        else:
            return int(sender)
        return -1

    def _refuse(self, reason: str, address: Address, why: str) -> None:
        """Drop, and remember why, if it came from a member's address: perhaps its owner waits for it."""
        self.drop(reason)
        site = self._sources.get(address, -1)
        if site >= 0:
            self.refused[site] = why

    def _on_opened(self, sender: int, session: bytes, content: bytes | None, reason: str, address: Address) -> None:
        if content is None:
            self.drop(reason)
        else:
            self._opened.append(Opened(sender, session, content, address))
