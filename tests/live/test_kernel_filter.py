"""The kernel's filter lets through what the wire would look at, and nothing else: the program by a small reader of it,
and by real sockets."""

import socket
import struct

from tocsin.live.wire import kernel_filter
from tocsin.live.wire.kernel_filter import Step, attach, dropped, program
from tocsin.live.wire.seal import HEADER
from tocsin.live.wire.wire_messages import PROBER

TAG = b"orde"
MEMBERS = (("10.0.0.1", 7400), ("10.0.0.2", 7400), ("10.0.0.2", 7401))


def passes(steps: list[Step], source: tuple[str, int], datagram: bytes) -> bool:
    """What the kernel does with such a program."""
    udp = struct.pack("!HHHH", source[1], 7400, 8 + len(datagram), 0) + datagram
    address = socket.inet_aton(source[0])
    loaded = 0
    at = 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code == 0x06:
            return value > 0
        if code == 0x15:
            at += true if loaded == value else false
            continue
        size = 4 if code == 0x20 else 2
        data = address if value == 0xFFF0000C else udp[value : value + size]
        if len(data) < size:
            return False
        loaded = int.from_bytes(data, "big")


def datagram(tag: bytes, sender: int) -> bytes:
    return HEADER.pack(tag, b"key1", sender, 2, b"session", 0, 20, b"mark") + bytes(24)


def test_members_and_probes_pass() -> None:
    steps = program(TAG, PROBER, MEMBERS, MEMBERS[0])
    assert passes(steps, MEMBERS[1], datagram(TAG, 1))
    assert passes(steps, MEMBERS[2], datagram(TAG, 2))
    assert passes(steps, ("10.9.9.9", 40_000), datagram(TAG, PROBER))


def test_others_do_not_pass() -> None:
    steps = program(TAG, PROBER, MEMBERS, MEMBERS[0])
    assert not passes(steps, MEMBERS[0], datagram(TAG, 0))  # our own multicast
    assert not passes(steps, MEMBERS[1], datagram(b"else", 1))
    assert not passes(steps, ("10.0.0.2", 7402), datagram(TAG, 1))
    assert not passes(steps, ("10.9.9.9", 7400), datagram(TAG, 1))
    assert not passes(steps, MEMBERS[1], b"")
    assert not passes(steps, MEMBERS[1], TAG)


def test_without_addresses_the_tag_decides() -> None:
    many = tuple((f"10.1.{site // 250}.{site % 250}", 7400) for site in range(kernel_filter.SITES_MAX + 1))
    for members in ((), many):
        steps = program(TAG, PROBER, members, ("10.0.0.1", 7400))
        assert passes(steps, ("10.9.9.9", 1), datagram(TAG, 1))
        assert not passes(steps, ("10.9.9.9", 1), datagram(b"else", 1))


def test_the_largest_program_fits_the_kernel() -> None:
    many = tuple((f"10.1.{site // 250}.{site % 250}", 7400) for site in range(kernel_filter.SITES_MAX))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        assert attach(sock, program(TAG, PROBER, many, ("10.0.0.1", 7400)))


def test_the_kernel_obeys_and_counts() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as member,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as friend,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        for sock in (member, friend, stranger):
            sock.bind(("127.0.0.1", 0))
        member.setblocking(False)
        own, peer = member.getsockname(), friend.getsockname()
        assert attach(member, program(TAG, PROBER, (own, peer), own))
        for sock, data in ((stranger, datagram(TAG, 1)), (friend, b"junk"), (friend, datagram(TAG, 1))):
            sock.sendto(data, own)
        assert member.recvfrom(2000) == (datagram(TAG, 1), peer)
        assert dropped(member) == 2
