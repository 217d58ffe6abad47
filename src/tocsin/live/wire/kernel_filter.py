"""What the kernel drops before it wakes us: datagrams that the header alone shows to be none of ours.

A classic BPF program on the socket (`SO_ATTACH_FILTER`), made from the group's file: the group's tag, a member's
address as the source (or a probe, which may come from anywhere), and not our own multicast. It runs where the datagram
arrives, in the time of whoever sent it. It proves nothing: what passes is looked at by the wire, and proved by the
seal. Where it cannot be attached, the wire drops the same datagrams, later.
"""

import ctypes
import socket
import struct
from collections.abc import Sequence
from typing import Final

from tocsin.live.group_config import Address

SO_ATTACH_FILTER: Final = 26
SO_MEMINFO: Final = 55
_MEMINFO_DROPS: Final = 8  # index in what SO_MEMINFO answers
_MEMINFO: Final = struct.Struct("9I")
SITES_MAX: Final = 512  # of which the program knows the addresses; the kernel takes 4096 steps

_LOAD_WORD: Final = 0x20
_LOAD_HALF: Final = 0x28
_IF_EQUAL: Final = 0x15  # (true, false): steps to skip
_RETURN: Final = 0x06
_SOURCE_ADDRESS: Final = 0xFFF0000C  # in the IPv4 header
_SOURCE_PORT: Final = 0  # in the UDP header, where a socket's program begins to count
_TAG: Final = 8  # in our header, behind the UDP header
_SENDER: Final = 16
_KEEP: Final = (_RETURN, 0, 0, 0xFFFFFFFF)
_DROP: Final = (_RETURN, 0, 0, 0)

Step = tuple[int, int, int, int]


def program(tag: bytes, prober: int, members: Sequence[Address], own: Address) -> list[Step]:
    """The steps for a group: its members' addresses (IPv4; none: any source passes), without one's own."""
    steps: list[Step] = [(_LOAD_WORD, 0, 0, _TAG), (_IF_EQUAL, 1, 0, int.from_bytes(tag, "big")), _DROP]
    if not members or len(members) > SITES_MAX:
        return [*steps, _KEEP]
    steps += [(_LOAD_HALF, 0, 0, _SENDER), (_IF_EQUAL, 0, 1, prober), _KEEP]
    for member in members:
        if member != own:
            address = int.from_bytes(socket.inet_aton(member[0]), "big")
            steps += [(_LOAD_WORD, 0, 0, _SOURCE_ADDRESS), (_IF_EQUAL, 0, 3, address)]
            steps += [(_LOAD_HALF, 0, 0, _SOURCE_PORT), (_IF_EQUAL, 0, 1, member[1]), _KEEP]
    return [*steps, _DROP]


def attach(sock: socket.socket, steps: list[Step]) -> bool:
    """Whether the kernel has taken the program."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(steps), ctypes.addressof(code)))
    except OSError:
        return False
    return True


def dropped(sock: socket.socket) -> int:
    """Datagrams that the kernel has dropped at this socket: by the program, or because the buffer was full."""
    try:
        return int(_MEMINFO.unpack_from(sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size))[_MEMINFO_DROPS])
    except (OSError, struct.error):
        return 0
