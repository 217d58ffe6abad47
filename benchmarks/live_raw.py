"""The ceiling of the live benchmark: the same bytes by plain UDP sockets, without protocol, log or application, and
(unless `--sealed`) without seal.

Bursts of MTU-sized datagrams by one call (`UDP_SEGMENT`, `UDP_GRO`) to an IP multicast address, at most `WINDOW` bursts
ahead of the slower of the others, who tell how many they have. Started like benchmarks/live_member.py."""

import argparse
import json
import resource
import select
import socket
import struct
import sys
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEGMENT_BYTES = 1472
BURST_BYTES = 44 * SEGMENT_BYTES
WINDOW = 24
CREDIT_EVERY = 4
TAG_BYTES = 16
UDP_SEGMENT, UDP_GRO = 103, 104
GROUP = ("239.192.7.9", 7409)
PORT = 7408
CREDIT = struct.Struct("!IQ")
KEY, NONCE = bytes(32), bytes(12)  # nobody listens here: only the work counts


def sockets(own: str) -> tuple[socket.socket, socket.socket]:
    tell = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tell.bind((own, PORT))
    tell.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    tell.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    hear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    hear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    hear.bind(GROUP)
    hear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + socket.inet_aton(own))
    hear.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    for each in (tell, hear):
        each.setblocking(False)
        each.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
    return tell, hear


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("index", type=int)
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm", type=float, required=True)
    parser.add_argument("--sealed", action="store_true", help="every burst is sealed, and opened by each receiver")
    arguments = parser.parse_args()
    own = arguments.addresses[arguments.index]
    others = [address for address in arguments.addresses if address != own]
    tell, hear = sockets(own)
    print("READY", flush=True)
    start = float(sys.stdin.readline())
    begin, end = start + arguments.warm, start + arguments.warm + arguments.seconds
    have = dict.fromkeys(others, 0)  # bursts of mine that each has
    got = dict.fromkeys(others, 0)  # bytes of each that I have
    told = dict.fromkeys(others, 0)
    plain = bytes(BURST_BYTES - TAG_BYTES)
    data, buffer = bytes(BURST_BYTES), bytearray(65536)
    cipher = AESGCM(KEY)
    sent, counted = 0, 0
    cpu = [0.0, 0.0]
    while (now := time.monotonic()) < end:
        if not cpu[0] and now >= begin:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            cpu[0] = usage.ru_utime + usage.ru_stime
        if now >= start and sent - min(have.values()) < WINDOW:
            if arguments.sealed:
                data = cipher.encrypt(NONCE, plain, None)
            tell.sendmsg([data], [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", SEGMENT_BYTES))], 0, GROUP)
            sent += 1
            counted += BURST_BYTES if now >= begin else 0
        else:
            select.select([tell, hear], [], [], 0.001)
        while True:
            try:
                count, _, _, (source, _) = hear.recvmsg_into([buffer], 64)
            except BlockingIOError:
                break
            if arguments.sealed:
                cipher.decrypt(NONCE, memoryview(buffer)[:count], None)
            got[source] += count
            counted += count if now >= begin else 0
            if got[source] - told[source] >= CREDIT_EVERY * BURST_BYTES:
                told[source] = got[source]
                tell.sendto(CREDIT.pack(arguments.index, got[source] // BURST_BYTES), (source, PORT))
        while True:
            try:
                credit, (source, _) = tell.recvfrom(64)
            except BlockingIOError:
                break
            have[source] = max(have[source], CREDIT.unpack(credit)[1])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu[1] = usage.ru_utime + usage.ru_stime
    answer = {
        "messages_per_s": counted / arguments.seconds,
        "messages": counted,
        "cpu_s": cpu[1] - cpu[0],
        "p50_ms": None,
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
