"""Throws hostile datagrams at the first member of a group, as fast as one process can; run by benchmarks/live.py."""

import itertools
import socket
import sys
import time
from pathlib import Path

from tests.live.test_hostile import hostile_datagrams
from tocsin.live.group_config import read_group

KINDS = 2000  # datagrams made beforehand, and repeated


def main() -> None:
    group = read_group(Path(sys.argv[1]))
    seconds = float(sys.argv[2])
    datagrams = list(itertools.islice(hostile_datagrams(group, 1), KINDS))
    sent = 0
    began = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        while time.monotonic() < began + seconds:
            for datagram in datagrams:
                sock.sendto(datagram, group.addresses[0])
            sent += KINDS
    print(sent / seconds)


if __name__ == "__main__":
    main()
