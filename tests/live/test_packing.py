"""Message boundaries, order and emptiness survive packing; large messages survive pieces in any order."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.live.frame_format import FRAME_BYTES, Numbers, pack
from tocsin.live.packing import MESSAGES_PER_FRAME_MAX, UNFINISHED_MAX, Packer, Unpacker

_MESSAGES = st.lists(st.one_of(st.binary(max_size=40), st.integers(0, 200_000).map(bytes)), min_size=1, max_size=20)


def _frames(messages: list[bytes]) -> list[tuple[bytes, Numbers]]:
    packer = Packer()
    packer.put_many(messages, sum(map(len, messages)))
    frames: list[tuple[bytes, Numbers]] = []
    number = 0
    while len(packer):
        frame, numbers = packer.take(number)
        number = max(number, numbers.number + max(numbers.count, 1))
        frames.append((frame, numbers))
    assert packer.queued_bytes == 0
    return frames


@given(_MESSAGES)
@settings(max_examples=150, deadline=None)
def test_what_goes_in_comes_out_in_order(messages: list[bytes]) -> None:
    unpacker = Unpacker()
    found: list[tuple[int, bytes]] = []
    for frame, numbers in _frames(messages):
        assert len(frame) <= FRAME_BYTES
        first, ended = unpacker.feed(0, frame)
        assert (first, len(ended)) == (numbers.number, numbers.count)
        found += [(first + index, message) for index, message in enumerate(ended)]
    assert found == list(enumerate(messages))
    assert unpacker.stat_broken == 0 and not unpacker.is_open(0)


@given(st.integers(FRAME_BYTES, 6 * FRAME_BYTES), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_pieces_come_in_any_order_and_twice(size: int, random_source: random.Random) -> None:
    message = random.Random(size).randbytes(size)
    frames = [frame for frame, _ in _frames([b"first", message])]
    repeated = [*frames, random_source.choice(frames[1:-1] or frames[1:])]
    random_source.shuffle(repeated)
    unpacker = Unpacker()
    found = [ended for frame in repeated for ended in unpacker.feed(3, frame)[1]]
    assert message in found and b"first" in found


def test_a_full_frame_of_empty_messages_is_bounded() -> None:
    frames = _frames([b""] * 50_000)
    assert sum(numbers.count for _, numbers in frames) == 50_000
    assert all(numbers.count <= MESSAGES_PER_FRAME_MAX and len(frame) <= FRAME_BYTES for frame, numbers in frames)


def test_messages_that_can_never_be_whole_give_way() -> None:
    unpacker = Unpacker()
    starts = [_frames([bytes(FRAME_BYTES * 2)])[0][0]]
    for number in range(1, UNFINISHED_MAX + 2):
        packer = Packer()
        packer.put(bytes(FRAME_BYTES * 2))
        starts.append(packer.take(number)[0])
    for frame in starts:
        assert unpacker.feed(1, frame)[1] == []
    assert unpacker.stat_broken == 2
    assert unpacker.feed(1, b"\xff not a frame") == (0, [])
    assert unpacker.stat_broken == 3
    assert unpacker.feed(1, pack(9, [b"x"])) == (9, [b"x"])
