"""Which messages are received with a message of the protocol: whole frames, and large messages piece by piece."""

from random import Random

import pytest

from tocsin.core.data import Data
from tocsin.live.frame_format import Numbers, Packed, Piece, pack, pack_piece, read_head, unpack
from tocsin.live.packing import UNFINISHED_MAX
from tocsin.live.receptions import Receptions
from tocsin.live.storage.log_format import Receive
from tocsin.protocols.baselines.ack_all.messages import Ack
from tocsin.protocols.counter_token.messages import Transfer


def data(frame: bytes, origin: int = 2) -> Data:
    return Data(group=0, origin=origin, seqno=0, payload=frame)


def piece(number: int, offset: int, size: int = 10, total: int = 30) -> bytes:
    return pack_piece(Piece(number, total, offset, bytes(size)))


def test_a_frame_names_its_messages() -> None:
    assert Receptions().of(data(pack(7, [b"a", b"b", b""]))) == [Receive(2, 7, 3)]
    assert Receptions().of(Ack(seqno=1)) == []
    frames = ((0, 5, pack(3, [b"a"])), (1, 6, pack(9, [b"b", b"c"])))
    transfer = Transfer(group=0, first=0, log_first=0, entries=frames, runs=(), views=())
    assert Receptions().of(transfer) == [Receive(0, 3, 1), Receive(1, 9, 2)]


@pytest.mark.parametrize("offsets", [(0, 10, 20), (20, 0, 10), (0, 0, 10, 10, 20)])
def test_a_large_message_is_received_with_its_last_piece(offsets: tuple[int, ...]) -> None:
    receptions = Receptions()
    found = [receptions.of(data(piece(4, offset))) for offset in offsets]
    assert found == [[]] * (len(offsets) - 1) + [[Receive(2, 4, 1)]]


def test_unfinished_messages_are_bounded() -> None:
    receptions = Receptions()
    for number in range(UNFINISHED_MAX + 1):
        receptions.of(data(piece(number, 0)))
        receptions.of(data(piece(number, 10)))
    assert receptions.of(data(piece(0, 20))) == [], "it gave way to the newest"
    assert receptions.of(data(piece(UNFINISHED_MAX, 20))) == [Receive(2, UNFINISHED_MAX, 1)]


def test_what_is_no_frame_is_left_out() -> None:
    assert Receptions().of(data(b"\xc1")) == []
    assert Receptions().of(data(b"")) == []


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**62 - 1])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 600, 65_535, 65_536])
def test_the_head_of_a_frame_says_what_is_in_it(number: int, count: int) -> None:
    for message in (b"", bytes(300)) if count < 1000 else (b"",):
        frame = pack(number, [message] * count)
        content = unpack(frame)
        assert isinstance(content, Packed)
        assert read_head(frame) == Numbers(content.number, len(content.messages)) == Numbers(number, count)


def test_a_head_that_cannot_be_true_is_none() -> None:
    """Whoever holds the key may send anything: a count beyond the bytes that follow would become as many rows."""
    assert read_head(pack_piece(Piece(1, 30, 0, b"x"))) is None
    assert read_head(bytes([0x93, 0, 1, 0xDD]) + (2**32 - 1).to_bytes(4)) is None
    assert read_head(bytes([0x93, 0, 0xCF]) + (2**63).to_bytes(8) + bytes([0x90])) is None
    rng = Random(1)
    good = pack(300, [b"abc", b"", b"d" * 40])
    for _ in range(20_000):
        bad = bytearray(good[: rng.randint(0, len(good))])
        for _ in range(rng.randint(0, 2)):
            if bad:
                bad[rng.randrange(len(bad))] = rng.randrange(256)
        head = read_head(bytes(bad))
        assert head is None or (0 <= head.number < 2**62 and 2 * head.count <= len(bad))
