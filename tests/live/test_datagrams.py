"""Frames survive being cut, shuffled, doubled; what never becomes whole is bounded."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.live.wire.datagrams import (
    ASK_AFTER_US,
    BURST_BYTES_MAX,
    DATAGRAM_HEADER_BYTES,
    HEADER_BYTES,
    OFFSET,
    UNFINISHED_PER_SENDER_MAX,
    Assembler,
    Splitter,
)
from tocsin.live.wire.seal import HEADER


def _header(counter: int, total: int) -> bytes:
    return HEADER.pack(b"grup", b"keyi", 1, 2, b"a session", counter, total, b"marked")


def _datagrams(splitter: Splitter, counter: int, sealed: bytes) -> list[bytes]:
    found: list[bytes] = []
    for burst in splitter.split(_header(counter, len(sealed)), sealed):
        assert len(burst.data) <= max(BURST_BYTES_MAX, splitter.datagram_bytes)
        found += [burst.data[at : at + burst.datagram_bytes] for at in range(0, len(burst.data), burst.datagram_bytes)]
    return found


def _add(assembler: Assembler, datagram: bytes, now: int = 0) -> bytes | None:
    header = datagram[:HEADER_BYTES]
    offset = OFFSET.unpack_from(datagram, HEADER_BYTES)[0]
    chunk = memoryview(datagram)[DATAGRAM_HEADER_BYTES:]
    return assembler.add(now, 1, header, HEADER.unpack(header)[6], offset, chunk)


@given(st.integers(1, 200_000), st.sampled_from([548, 1472, 8972, 65_000]), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_order_and_doubles(size: int, datagram_bytes: int, source: random.Random) -> None:
    sealed = random.Random(size).randbytes(size)
    datagrams = _datagrams(Splitter(datagram_bytes), 1, sealed)
    shuffled = [*datagrams, *source.sample(datagrams, min(3, len(datagrams) - 1))]
    source.shuffle(shuffled)
    assembler = Assembler()
    found = [whole for datagram in shuffled if (whole := _add(assembler, datagram)) is not None]
    assert sealed in found


def test_a_receiver_asks_for_exactly_what_is_missing_and_a_part_completes_it() -> None:
    splitter = Splitter(1472)
    sealed = random.Random(1).randbytes(50_000)
    datagrams = _datagrams(splitter, 1, sealed)
    assembler = Assembler()
    for index, datagram in enumerate(datagrams):
        if index not in (0, 7, 8, len(datagrams) - 1):
            assert _add(assembler, datagram) is None
    assert assembler.gaps(ASK_AFTER_US - 1) == []
    [(sender, header, gaps)] = assembler.gaps(ASK_AFTER_US)
    chunk = splitter.chunk_bytes
    assert sender == 1
    assert gaps == [(0, chunk), (7 * chunk, 9 * chunk), ((len(datagrams) - 1) * chunk, 50_000)]
    parts = [burst.data for offset, end in gaps for burst in splitter.part(header, sealed, offset, end)]
    assert [_add(assembler, part) for part in parts] == [None, None, None, sealed]
    assert len(assembler) == 0


def test_asking_ends() -> None:
    assembler = Assembler()
    _add(assembler, _datagrams(Splitter(1472), 1, bytes(3000))[0])
    now = 0
    asked = 0
    while len(assembler):
        now += ASK_AFTER_US
        asked += len(assembler.gaps(now))
    assert asked == 1, "no more is asked for than has come"
    assert assembler.stat_evicted == 1


def test_a_slow_loris_is_bounded_per_sender() -> None:
    assembler = Assembler()
    for counter in range(10_000):
        _add(assembler, _datagrams(Splitter(1472), counter, bytes(60_000))[0])
    assert len(assembler) == UNFINISHED_PER_SENDER_MAX
    assert assembler.stat_evicted == 10_000 - UNFINISHED_PER_SENDER_MAX


def test_crumbs_and_lies_are_dropped() -> None:
    assembler = Assembler()
    header = _header(1, 1000)
    for offset in range(900):
        assert assembler.add(0, 1, header, 1000, offset, memoryview(b"x")) is None
    assert assembler.add(0, 1, header, 1000, 999, memoryview(b"xx")) is None
    assert assembler.add(0, 1, header, 1 << 31, 0, memoryview(b"x")) is None
    assert assembler.add(0, 1, header, 1000, 0, memoryview(b"")) is None
    assert len(assembler) == 1


def test_memory_grows_with_what_has_come_and_least_gives_way() -> None:
    assembler = Assembler()
    genuine = _datagrams(Splitter(1472), 1, bytes(60_000))
    for datagram in genuine[:-1]:
        _add(assembler, datagram)
    for counter in range(2, 5_000):
        assembler.add(0, 1, _header(counter, 4 << 20), 4 << 20, 0, memoryview(b"x"))
    assert sum(assembler._bytes.values()) < 60_000 + UNFINISHED_PER_SENDER_MAX
    assert _add(assembler, genuine[-1]) is not None


@given(st.integers(2_000, 60_000), st.floats(0.0, 0.95), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_asks_never_cost_more_than_has_come(size: int, lost: float, source: random.Random) -> None:
    datagrams = [each for each in _datagrams(Splitter(1472), 1, bytes(size)) if source.random() >= lost]
    assembler = Assembler()
    come = 0
    for datagram in datagrams:
        if _add(assembler, datagram) is None:
            come += len(datagram)
    asked = 0
    now = 0
    for _ in range(40):
        now += ASK_AFTER_US
        for _, _, gaps in assembler.gaps(now):
            asked += sum(end - offset for offset, end in gaps)
    assert asked <= come
