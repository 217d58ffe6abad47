"""Which messages are received with a message of the protocol: whole frames, and large messages piece by piece."""

import pytest

from tocsin.core.data import Data
from tocsin.live.frame_format import Piece, pack, pack_piece
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
