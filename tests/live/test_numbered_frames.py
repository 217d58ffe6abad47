"""Frames of messages that producers have numbered."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.errors import DecodeError
from tocsin.live.frame_format import (
    FRAME_BYTES,
    RUN_BYTES_MAX,
    NumberedPacked,
    NumberedPiece,
    Numbers,
    Packed,
    Piece,
    Run,
    pack,
    pack_numbered,
    pack_piece,
    read_head,
    runs_of,
    sent_of,
    unpack,
)
from tocsin.live.packing import Packer, Unpacker

SENT = st.lists(st.none() | st.tuples(st.sampled_from(["till-3", "Käthe"]), st.integers(0, 5)), min_size=1)


@given(SENT)
def test_producers_and_numbers_come_back(sent: list[tuple[str, int] | None]) -> None:
    messages = [str(index).encode() for index in range(len(sent))]
    runs = runs_of(sent)
    if not runs:
        return
    frame = pack_numbered(7, messages, runs)
    content = unpack(frame)
    assert isinstance(content, NumberedPacked)
    assert (content.number, content.messages, sent_of(content)) == (7, messages, sent)
    assert Unpacker().feed(0, frame) == (7, messages), "who knows no producers takes the messages"
    assert len(frame) <= len(pack(7, messages)) + 3 + len(runs) * RUN_BYTES_MAX


def test_a_batch_of_one_producer_is_one_run() -> None:
    assert runs_of([("door", number) for number in range(100, 700)]) == [Run(0, 600, "door", 100)]
    long = [Run(0, 1, "ä" * 32, (1 << 62) - 1)]
    assert len(pack_numbered(0, [b""], long)) - len(pack(0, [b""])) <= RUN_BYTES_MAX + 3


def test_frames_of_earlier_versions_are_read() -> None:
    """Bytes that they have written, in their logs and on their wire: they did not say when they were sent."""
    content = unpack(bytes.fromhex("9300cd012c92c4026162c400"))
    assert type(content) is Packed and content == Packed(300, [b"ab", b""]) and content.sent_us == 0
    assert read_head(bytes.fromhex("9300cd012c92c4026162c400")) == Numbers(300, 2)
    found = unpack(bytes.fromhex("9501070500c402" + b"hi".hex()))
    assert isinstance(found, Piece) and not isinstance(found, NumberedPiece) and found.chunk == b"hi"
    numbered = unpack(msgspec.msgpack.encode([2, 5, [b"x"], [[0, 1, "till", 9]]]))
    assert isinstance(numbered, NumberedPacked) and numbered.sent_us == 0


def test_frames_say_when_they_were_sent() -> None:
    packer = Packer()
    packer.put(b"plain")
    assert Unpacker().feed_numbered(0, packer.take(0, 77)[0]) == (0, [b"plain"], None, 77)
    packer.put_numbered(b"numbered", "till", 9)
    assert Unpacker().feed_numbered(0, packer.take(1, 78)[0]) == (1, [b"numbered"], [("till", 9)], 78)
    packer.put(bytes(3 * FRAME_BYTES))
    unpacker, times = Unpacker(), iter(range(79, 99))
    found = []
    while len(packer):
        found.append(unpacker.feed_numbered(0, packer.take(2, next(times))[0]))
    assert found[-1] == (2, [bytes(3 * FRAME_BYTES)], None, 79), "of all pieces: when the first one went"


def test_pieces_carry_their_producer() -> None:
    frames = [pack_piece(NumberedPiece(3, 5, offset, chunk, "till", 9)) for offset, chunk in ((3, b"lo"), (0, b"hel"))]
    unpacker = Unpacker()
    assert [unpacker.feed(1, frame)[1] for frame in frames] == [[], [b"hello"]]
    content = unpack(frames[0])
    assert isinstance(content, NumberedPiece) and (content.producer, content.sent_number) == ("till", 9)


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [Run(0, 3, "till", 1)],
        [Run(0, 2, "till", 1), Run(1, 1, "till", 9)],
        [Run(1, 1, "till", 1), Run(0, 1, "till", 2)],
        [Run(0, 1, "", 1)],
        [Run(0, 1, "x" * 65, 1)],
        [Run(0, 2, "till", (1 << 62) - 1)],
    ],
)
def test_forged_runs_are_refused(runs: list[Run]) -> None:
    with pytest.raises(DecodeError):
        unpack(pack_numbered(0, [b"", b""], runs))


def test_nobody_is_numbered_by_a_name_that_is_none() -> None:
    with pytest.raises(DecodeError):
        unpack(pack_piece(NumberedPiece(3, 5, 0, b"hel", "a\nb", 9)))
    assert read_head(pack_numbered(0, [b""], [Run(0, 1, "till", 1)])) is None


@given(st.binary(max_size=80), st.integers(0, 3))
def test_no_bytes_break_it(data: bytes, tag: int) -> None:
    for frame in (data, bytes([0x94 + tag, tag]) + data, msgspec.msgpack.encode([tag, 1, [b""], list(data)])):
        try:
            content = unpack(frame)
        except DecodeError:
            continue
        assert isinstance(content, Packed | Piece)
