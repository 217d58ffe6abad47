"""Hostile input at a member's port while it serves: no exception, no growth of memory, no effect on order."""

import itertools
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.harness import LiveGroup, wait_until
from tocsin.live.group_config import Group, read_group
from tocsin.live.wire.datagrams import OFFSET, Splitter
from tocsin.live.wire.keys import new_key, read_keys
from tocsin.live.wire.seal import HEADER, Keyring, Sealer
from tocsin.protocols.registry import REGISTRY

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

BATCH = 500  # datagrams between two looks at the member
POOL = 20_000  # datagrams made beforehand
GROWTH_BYTES_MAX = 40 << 20


def hostile_datagrams(group: Group, seed: int) -> Iterator[bytes]:
    """Random, truncated, bit-flipped, forged and half-sent datagrams, without end."""
    source = random.Random(seed)
    keys = read_keys(group.key_file) if group.key_file is not None else []
    ring = Keyring(group.name.encode(), keys)
    real = Sealer(ring, 1)  # of an old session: genuine, and to be refused
    forger = Keyring(group.name.encode(), [new_key()])
    forger.tag = ring.tag
    forged = Sealer(forger, 1)
    splitter = Splitter(1472)
    while True:
        kind = source.randrange(7)
        if kind == 0:
            yield source.randbytes(source.randrange(1500))
            continue
        header, sealed = (real if kind % 2 or kind == 6 else forged).seal(
            source.randbytes(source.choice((10, 300, 30_000)))
        )
        if 3 <= kind < 6:
            header = ring.tag + ring.sealing_id + header[8:]  # a key id that is known, a seal that is not
        datagram = bytearray(source.choice(splitter.split(header, sealed)).data[:1472])
        if kind == 4:
            datagram[source.randrange(len(datagram))] ^= 1 << source.randrange(8)
        elif kind == 6:
            datagram[source.randrange(HEADER.size + OFFSET.size, len(datagram))] ^= (
                1  # a genuine header, another content
            )
        elif kind == 5:
            OFFSET.pack_into(datagram, HEADER.size, source.randrange(1 << 32))
        elif kind == 2:
            del datagram[source.randrange(len(datagram)) :]
        yield bytes(datagram)


def _view(group: LiveGroup) -> list[str]:
    """Whom a sees; nobody, before its first view."""
    view = (group.status("a") or {})["view"]
    return [] if view is None else view["members"]


def attack(tmp_path: Path, datagrams: int, spoofed: bool, filtered: bool) -> tuple[float, float]:
    """Throw datagrams at a member that serves; its rates of delivery (per second) while attacked and in peace."""
    head = f"kernel_filter = {str(filtered).lower()}"
    tail = '[journal]\ndurability = "process"\nreceives = true'
    with LiveGroup(tmp_path, "counter_token", head=head, tail=tail) as group:
        group.start_all()
        group.wait_together()  # a group is founded by all
        if spoofed:
            group.stop("b")
        names = "ac" if spoofed else "abc"
        wait_until("who is left is together", lambda: len(_view(group)) == len(names))
        resolved = read_group(group.path)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            if spoofed:
                sock.bind(resolved.addresses[1])  # the address of b, which does not run: the source is believed
            rates = [_serve_while(group, names, sock, resolved, datagrams, True)]
            before = (group.status("a") or {})["process"]["memory_bytes_max"]
            rates.append(_serve_while(group, names, sock, resolved, datagrams, True))
            after = (group.status("a") or {})["process"]["memory_bytes_max"]
            peace = _serve_while(group, names, sock, resolved, datagrams, False)
        status = group.status("a")
        assert status is not None and status["failed"] is None
        assert after - before < GROWTH_BYTES_MAX
        dropped = sum(status["drops"].values())
        assert dropped > datagrams / 2, status["drops"]
        expected = {"key", "mark", "seal", "unmet", "part", "replay"} if spoofed else set()
        expected |= {"kernel"} if filtered else {"foreign", "short"} | (set() if spoofed else {"address", "key"})
        assert expected <= set(status["drops"]), status["drops"]
        for name in names:
            assert group.errors(name) == ""
        group.wait_quiet(names)
        verdicts = group.verdicts(REGISTRY["counter_token"].guarantees, down="b" if spoofed else "")
        assert verdicts["safe"] == verdicts["acyclic"] == verdicts["uniform_agreement"] == "pass", verdicts
        return max(rates), peace


def _serve_while(
    group: LiveGroup, names: str, sock: socket.socket, resolved: Group, datagrams: int, hostile: bool
) -> float:
    """Messages flow, datagrams fly, each pool of them again and again in another order; messages a second."""
    pool = list(itertools.islice(hostile_datagrams(resolved, 5), min(datagrams // 2, POOL) if hostile else 1))
    order = random.Random(6)
    began = time.monotonic()
    sent = group.sent
    for number in range(0, datagrams, BATCH):
        group.send("a", [f"through {group.sent + line}" for line in range(20)])
        if number % len(pool) == 0:
            order.shuffle(pool)
        for at in range(BATCH if hostile else 0):
            sock.sendto(pool[(number + at) % len(pool)], resolved.addresses[0])
        group.delivered("a")  # a question that the member answers in between
    group.wait_delivered(group.sent, names)
    return (group.sent - sent) / (time.monotonic() - began)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("spoofed", [False, True])
def test_hostile_input(tmp_path: Path, spoofed: bool, filtered: bool) -> None:
    under_attack, in_peace = attack(tmp_path, 10_000, spoofed, filtered)
    assert under_attack > 0 and in_peace > 0


@pytest.mark.long
def test_ten_million_hostile_datagrams(tmp_path: Path) -> None:
    """From the address of a member, so that they get as far as they can."""
    under_attack, in_peace = attack(tmp_path, 5_000_000, spoofed=True, filtered=True)
    print(f"{under_attack:.0f} messages/s under attack, {in_peace:.0f} in peace")
    assert under_attack > 0
