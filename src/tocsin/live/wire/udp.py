"""The socket: datagrams in bursts, by one system call where the kernel can.

asyncio's own datagram transport shows no ancillary data and takes one datagram a turn of the loop; a reader on the
socket that drains it with `recvmsg_into` does both better. `UDP_SEGMENT` sends up to 64 KiB of MTU-sized datagrams by
one call, `UDP_GRO` receives them so. Where they are missing, the same bytes go one by one.
"""

import errno
import socket
import struct
from collections import deque
from typing import Final

from tocsin.live.errors import PortTaken
from tocsin.live.group_config import Address, Group
from tocsin.live.wire.datagrams import Burst

UDP_SEGMENT: Final = 103
UDP_GRO: Final = 104
SO_RCVBUFFORCE: Final = 33
SO_SNDBUFFORCE: Final = 32
IP_MTU_DISCOVER: Final = 10
_INT: Final = struct.Struct("i")

RECEIVE_BYTES: Final = 65_536
BACKLOG_BYTES_MAX: Final = 8 << 20  # waiting for the kernel to take more; above it data is dropped, control is not
_OFFLOAD_REFUSED: Final = (errno.EIO, errno.EINVAL, errno.ENOPROTOOPT, errno.EOPNOTSUPP)


class Endpoint:
    """A member's socket (and, with multicast, a second one that hears the group's address)."""

    def __init__(self, group: Group, site: int) -> None:
        self.stat_datagrams_sent = 0
        self.stat_bytes_sent = 0
        self.stat_calls_sent = 0
        self.stat_send_errors = 0
        self.stat_backlog_dropped = 0  # data that the kernel did not take in time
        self.multicast_address = group.multicast
        self.main = _bound(group, site)
        self.receive_buffer, self.send_buffer = _grant_buffers(self.main, group.socket_buffer_bytes)
        self.offload = group.offload and _enable_offload(self.main)
        self.sockets = [self.main]
        if group.multicast is not None:
            self.sockets.append(_multicast_socket(self.main, group, site, self.offload))
        self._backlog: deque[tuple[Address, Burst, bool]] = deque()
        self._backlog_bytes = 0

    def close(self) -> None:
        for each in self.sockets:
            each.close()

    def send(self, address: Address, burst: Burst, droppable: bool) -> None:
        """Send now, or queue behind what already waits; the caller watches `wants_to_write`."""
        if self._backlog:
            if droppable and self._backlog_bytes > BACKLOG_BYTES_MAX:
                self.stat_backlog_dropped += 1
                return
        elif self._try(address, burst):
            return
        self._backlog.append((address, burst, droppable))
        self._backlog_bytes += len(burst.data)

    def wants_to_write(self) -> bool:
        return bool(self._backlog)

    def on_writable(self) -> None:
        while self._backlog:
            address, burst, _ = self._backlog[0]
            if not self._try(address, burst):
                return
            self._backlog.popleft()
            self._backlog_bytes -= len(burst.data)

    def _try(self, address: Address, burst: Burst) -> bool:
        """Whether the burst needs no second attempt: it was sent, or the kernel will never take it."""
        data = burst.data
        size = burst.datagram_bytes
        try:
            if len(data) <= size:
                self.main.sendto(data, address)
                self.stat_calls_sent += 1
            elif self.offload:
                self.main.sendmsg([data], [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", size))], 0, address)
                self.stat_calls_sent += 1
            else:
                return self._send_one_by_one(address, burst)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if self.offload and len(data) > size and error.errno in _OFFLOAD_REFUSED:
                self.offload = False  # this path cannot segment: from now on one by one
                return self._send_one_by_one(address, burst)
            self.stat_send_errors += 1  # unreachable, filtered: to the protocol it is a loss
            return True
        self.stat_datagrams_sent += -(-len(data) // size)
        self.stat_bytes_sent += len(data)
        return True

    def _send_one_by_one(self, address: Address, burst: Burst) -> bool:
        view = memoryview(burst.data)
        size = burst.datagram_bytes
        for at in range(0, len(view), size):
            try:
                self.main.sendto(view[at : at + size], address)
            except (BlockingIOError, InterruptedError):
                burst.data = bytes(view[at:])
                return False
            except OSError:
                self.stat_send_errors += 1
                return True
            self.stat_calls_sent += 1
            self.stat_datagrams_sent += 1
            self.stat_bytes_sent += min(size, len(view) - at)
        return True


def receive(sock: socket.socket, buffer: bytearray) -> tuple[int, int, Address] | None:
    """One call: bytes, the size of each datagram in them (0: there is one), and where they came from."""
    try:
        count, ancillary, _, address = sock.recvmsg_into([buffer], 64)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:  # an ICMP error that the kernel reports here: of no use, since the protocol will notice
        return 0, 0, ("", 0)
    size = 0
    for level, kind, data in ancillary:
        if level == socket.IPPROTO_UDP and kind == UDP_GRO and len(data) >= 4:
            size = _INT.unpack_from(data)[0]
    return count, size, (address[0], address[1])


def _bound(group: Group, site: int) -> socket.socket:
    address = group.addresses[site]
    sock = socket.socket(group.family, socket.SOCK_DGRAM)
    sock.setblocking(False)
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        where = f"{group.source}: site `{group.sites[site]}`: {address[0]}:{address[1]}"
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"{where} is taken by another process; stop it or choose another port") from None
        reason = (error.strerror or str(error)).lower()
        raise PortTaken(f"{where} cannot be used here: {reason}; expected an address of this machine") from None
    return sock


def _grant_buffers(sock: socket.socket, wanted: int) -> tuple[int, int]:
    """Ask for large buffers, with privilege where we have it; what was granted (the kernel answers the double)."""
    for forced, plain in ((SO_RCVBUFFORCE, socket.SO_RCVBUF), (SO_SNDBUFFORCE, socket.SO_SNDBUF)):
        try:
            sock.setsockopt(socket.SOL_SOCKET, forced, wanted)
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, plain, wanted)
    return (
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2,
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2,
    )


def _enable_offload(sock: socket.socket) -> bool:
    try:
        sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
    except OSError:
        return False
    return True


def _multicast_socket(main: socket.socket, group: Group, site: int, offload: bool) -> socket.socket:
    assert group.multicast is not None
    own = socket.inet_aton(group.addresses[site][0])
    main.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
    main.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
    main.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)  # other members may be on this machine
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(group.multicast)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group.multicast[0]) + own)
    except OSError as error:
        sock.close()
        main.close()
        reason = (error.strerror or str(error)).lower()
        raise PortTaken(f"{group.source}: `multicast`: {group.multicast[0]}:{group.multicast[1]}: {reason}") from None
    _grant_buffers(sock, group.socket_buffer_bytes)
    if offload:
        _enable_offload(sock)
    return sock
