"""Checks what a member needs before it starts, and names the failing hop and the cure."""

import ctypes
import os
import socket
import time
from pathlib import Path
from typing import Final

import msgspec

from tocsin.core.errors import InputError, TocsinError
from tocsin.live.group_config import UDP_HEADERS, Address, Group
from tocsin.live.storage.identity import is_running
from tocsin.live.wire.datagrams import DATAGRAM_HEADER_BYTES, HEADER_BYTES, OFFSET
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.seal import HEADER, Keyring, Opener, Sealer
from tocsin.live.wire.udp import IP_MTU_DISCOVER, UDP_GRO, UDP_SEGMENT
from tocsin.live.wire.wire_messages import PROBE, PROBER, REPLY

PROBE_SECONDS: Final = 0.3  # for an answer; a local network takes a thousandth of it
PROBE_TRIES: Final = 3
_DO_NOT_FRAGMENT: Final = 2  # IP_PMTUDISC_DO
_CLOCK_UNSYNCED: Final = 0x40  # STA_UNSYNC
SLOW_SYNC_SECONDS: Final = 0.05  # a disk slower than this makes every durable step slow


class Finding(msgspec.Struct, frozen=True):
    check: str
    ok: bool
    found: str
    cure: str = ""


def examine(group: Group, site: int) -> list[Finding]:
    """Every check, for one site of the group, on this machine."""
    findings = [_file(group), _key(group), _disk(group.data_dir)]
    findings += [_port(group, site), _buffers(group), _offload(group), _clock()]
    if group.multicast is not None:
        findings.append(_multicast(group, site))
    try:
        keyring = Keyring(group.name.encode(), [] if group.key_file is None else read_keys(group.key_file))
    except TocsinError:
        return findings  # the key's own finding says it
    for peer in range(len(group.sites)):
        if peer != site:
            findings.append(_peer(group, site, peer, keyring))
    return findings


def here(group: Group) -> int:
    """The first site whose address is one of this machine's."""
    for site, address in enumerate(group.addresses):
        with socket.socket(group.family, socket.SOCK_DGRAM) as sock:
            try:
                sock.bind((address[0], 0))
            except OSError:
                continue
            return site
    raise InputError(f"{group.source}: no site has an address of this machine; say which one it is to be: --as NAME")


def _file(group: Group) -> Finding:
    return Finding("file", True, f"{group.source}: {len(group.sites)} sites, protocol {group.protocol.name}")


def _key(group: Group) -> Finding:
    if group.key_file is None:
        return Finding("key", True, "plaintext: anyone on the network may read and forge")
    try:
        keys = read_keys(group.key_file)
    except TocsinError as error:
        return Finding("key", False, str(error), f"tocsin keygen {group.key_file}, or chmod 600 {group.key_file}")
    return Finding("key", True, f"{group.key_file}: {len(keys)} key(s)")


def _disk(data_dir: Path) -> Finding:
    existing = data_dir
    while not existing.exists():
        existing = existing.parent
    probe = existing / f".tocsin-doctor-{os.getpid()}"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        return Finding("disk", False, f"{existing}: {error.strerror}", f"make {existing} writable, or change data_dir")
    try:
        os.write(descriptor, b"\0" * 4096)
        began = time.monotonic()
        os.fdatasync(descriptor)
        took = time.monotonic() - began
    except OSError as error:
        return Finding("disk", False, f"{existing}: {error.strerror}", "free space, or another data_dir")
    finally:
        os.close(descriptor)
        probe.unlink()
    cure = 'a faster disk, or journal.durability = "process"' if took > SLOW_SYNC_SECONDS else ""
    return Finding("disk", took <= SLOW_SYNC_SECONDS, f"{existing}: a sync takes {took * 1000:.1f} ms", cure)


def _port(group: Group, site: int) -> Finding:
    host, port = group.addresses[site]
    try:
        if is_running(group.site_dir(site)):
            return Finding("port", True, f"{host}:{port}: used by this member, which runs")
    except InputError as error:
        return Finding("port", False, str(error), "run `tocsin doctor` as the user who runs the member")
    with socket.socket(group.family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((host, port))
        except OSError as error:
            cure = f"stop what uses it (ss -ulpn 'sport = {port}'), or give `{group.sites[site]}` another address"
            return Finding("port", False, f"{host}:{port}: {error.strerror}", cure)
    return Finding("port", True, f"{host}:{port}: free")


def _buffers(group: Group) -> Finding:
    with socket.socket(group.family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, group.socket_buffer_bytes)
        granted = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    if granted >= group.socket_buffer_bytes or os.geteuid() == 0:
        return Finding("buffers", True, f"{group.socket_buffer_bytes} bytes asked for, granted")
    cure = f"sysctl -w net.core.rmem_max={group.socket_buffer_bytes} net.core.wmem_max={group.socket_buffer_bytes}"
    return Finding("buffers", False, f"{group.socket_buffer_bytes} bytes asked for, {granted} granted", cure)


def _offload(group: Group) -> Finding:
    with socket.socket(group.family, socket.SOCK_DGRAM) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
            sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
        except OSError:
            return Finding("offload", True, "the kernel has none: datagrams go one by one, which is slower and works")
    return Finding("offload", True, "the kernel sends and receives bursts by one call")


def _clock() -> Finding:
    """Order does not depend on clocks; the times in journals do."""
    try:
        buffer = ctypes.create_string_buffer(512)
        ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
        status = int.from_bytes(buffer.raw[40:44], "little")  # timex.status, after modes and four longs
    except (OSError, AttributeError):
        return Finding("clock", True, "this system does not say whether its clock is kept right")
    if status & _CLOCK_UNSYNCED:
        return Finding("clock", True, "nobody keeps this clock right: times in journals may differ; order does not")
    return Finding("clock", True, "kept right by a time service")


def _multicast(group: Group, site: int) -> Finding:
    """Send to the group's address and hear it: joins, routes and filters of this machine."""
    assert group.multicast is not None
    own = socket.inet_aton(group.addresses[site][0])
    word = os.urandom(16)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hear,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tell,
    ):
        try:
            hear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            hear.bind(group.multicast)
            hear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group.multicast[0]) + own)
            hear.settimeout(PROBE_SECONDS)
            tell.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
            tell.sendto(word, group.multicast)
            while hear.recv(64) != word:
                pass
        except OSError as error:
            where = f"{group.multicast[0]}:{group.multicast[1]} by {group.addresses[site][0]}"
            cure = "allow multicast on that interface (ip link set DEV multicast on; a route), or drop `multicast`"
            return Finding("multicast", False, f"{where}: {error.strerror or 'nothing came back'}", cure)
    return Finding("multicast", True, f"{group.multicast[0]}: sent and heard on this machine")


def _peer(group: Group, site: int, peer: int, keyring: Keyring) -> Finding:
    """A small datagram, then one of the full size that must not be fragmented, there and back."""
    name = f"peer {group.sites[peer]}"
    host, port = group.addresses[peer]
    largest = group.mtu - UDP_HEADERS[socket.AddressFamily(group.family)]
    with _Prober(group, site, keyring) as prober:
        began = time.monotonic()
        if not prober.answers(group.addresses[peer], 100):
            cure = f"start it (tocsin join … --as {group.sites[peer]}), compare keys and files, open UDP port {port}"
            return Finding(name, False, f"{host}:{port}: no answer", cure)
        took = time.monotonic() - began
        if prober.answers(group.addresses[peer], largest):
            return Finding(name, True, f"{host}:{port}: answers in {took * 1e3:.1f} ms, {group.mtu} bytes both ways")
        fits, fails = 100, largest
        while fails - fits > 8:
            middle = (fits + fails) // 2
            if prober.answers(group.addresses[peer], middle):
                fits = middle
            else:
                fails = middle
    mtu = fits + UDP_HEADERS[socket.AddressFamily(group.family)]
    return Finding(
        name, False, f"{host}:{port}: answers, but not to {group.mtu} bytes", f"mtu = {mtu} in the group's file"
    )


class _Prober:
    """Sends sealed probes from a port of its own."""

    def __init__(self, group: Group, site: int, keyring: Keyring) -> None:
        size = (len(group.sites) + 7) // 8
        self._prefix = bytes((PROBE, size)) + bytes(size)
        self._sealer = Sealer(keyring, PROBER)
        self._opener = Opener(keyring)
        self._sock = socket.socket(group.family, socket.SOCK_DGRAM)
        self._sock.bind((group.addresses[site][0], 0))
        if group.family == socket.AF_INET:
            self._sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, _DO_NOT_FRAGMENT)
        self._sock.settimeout(PROBE_SECONDS)

    def __enter__(self) -> "_Prober":
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def answers(self, address: Address, size: int) -> bool:
        """Whether a datagram of `size` bytes comes back."""
        for _ in range(PROBE_TRIES):
            word = os.urandom(16)
            overhead = DATAGRAM_HEADER_BYTES + len(self._prefix) + 16
            body = word + bytes(max(0, size - overhead - len(word)))
            header, sealed = self._sealer.seal(self._prefix + body)
            try:
                self._sock.sendto(b"".join((header, OFFSET.pack(0), sealed)), address)
                if self._hears(body):
                    return True
            except OSError:
                continue  # too large for the first hop, refused, or no answer in time
        return False

    def _hears(self, body: bytes) -> bool:
        data = self._sock.recv(65536)
        if len(data) <= DATAGRAM_HEADER_BYTES or len(data) < HEADER.size:
            return False
        content, _ = self._opener.open(data[:HEADER_BYTES], data[DATAGRAM_HEADER_BYTES:])
        return content is not None and content[0] == REPLY and content[len(self._prefix) :] == body
