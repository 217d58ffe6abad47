"""Deliveries taken back and given again, with large messages, before and after they reach the log."""

from pathlib import Path

import pytest

from tests.live.frames import large_message
from tocsin.live.frame_format import FRAME_BYTES, pack
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream


class _Live:
    """A stream over a real log; `commit` as the driver does."""

    def __init__(self, folder: Path) -> None:
        self.log = Log(folder, 1, 1 << 20)
        self.stream = Stream(0, self.log.frames)

    def deliver(self, origin: int, seqno: int, payload: bytes) -> list[bytes]:
        op, messages = self.stream.deliver(origin, seqno, payload)
        self.log.stage_delivery(op, payload)
        return messages

    def rollback(self, origin: int, seqno: int) -> int:
        op = self.stream.rollback(origin, seqno)
        self.log.stage(op)
        return op.count

    def commit(self) -> None:
        laid = self.log.layout()
        self.log.write(laid)
        self.log.apply(laid)
        self.stream.on_applied(self.log.staged_of(0))


@pytest.mark.parametrize("commits", [False, True])
def test_the_last_piece_is_taken_back_and_given_again(tmp_path: Path, commits: bool) -> None:
    live = _Live(tmp_path)
    message, frames = large_message(3 * FRAME_BYTES)
    for seqno, frame in enumerate(frames):
        ended = live.deliver(0, seqno, frame)
    assert ended == [message]
    assert live.deliver(1, 0, pack(0, [b"between"])) == [b"between"]
    if commits:
        live.commit()
    assert live.rollback(1, 0) == 1
    assert live.rollback(0, len(frames) - 1) == 1
    assert live.rollback(0, len(frames) - 2) == 0
    if commits:
        live.commit()
    assert live.stream.position == 0
    live.deliver(1, 0, pack(0, [b"between"]))
    assert live.deliver(0, len(frames) - 2, frames[-2]) == []
    assert live.deliver(0, len(frames) - 1, frames[-1]) == [message]
    live.commit()
    assert live.stream.position == 2
    live.log.close()


def test_a_large_message_goes_on_after_a_restart(tmp_path: Path) -> None:
    message, frames = large_message(4 * FRAME_BYTES)
    live = _Live(tmp_path)
    for seqno, frame in enumerate(frames[:-1]):
        live.deliver(0, seqno, frame)
        live.deliver(1, seqno, pack(seqno, [b"x"]))
    live.commit()
    live.log.close_file()
    live.deliver(1, 99, pack(99, [b"in the next file"]))
    live.commit()
    live.log.close()
    again = _Live(tmp_path)
    assert again.deliver(0, len(frames) - 1, frames[-1]) == [message]
    again.commit()
    assert again.log.frames.group(0).unfinished == {}
    again.log.close()


def test_taking_back_what_is_not_the_newest_is_a_fault(tmp_path: Path) -> None:
    live = _Live(tmp_path)
    live.deliver(0, 0, pack(0, [b"a"]))
    live.deliver(0, 1, pack(1, [b"b"]))
    with pytest.raises(AssertionError, match="newest"):
        live.rollback(0, 0)
    live.log.close()
