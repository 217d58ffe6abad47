"""What waits for a slow application, when some of it is forgotten and some is taken back."""

from pathlib import Path

from tests.live.frames import large_message
from tocsin.live.backlog import Backlog
from tocsin.live.frame_format import FRAME_BYTES, pack
from tocsin.live.heard import Delivered
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream

LIMIT = 10  # bytes: every small frame is forgotten


class _Slow:
    """A backlog that forgets, over a real log; deliveries reach it as the driver tells them."""

    def __init__(self, folder: Path) -> None:
        self.log = Log(folder, 1, 1 << 20)
        self.stream = Stream(0, self.log.frames)
        self.backlog = Backlog(LIMIT, "spill", self.log.frames)

    def deliver(self, origin: int, frame: int, payload: bytes) -> None:
        at = self.stream.end
        op, messages = self.stream.deliver(origin, frame, payload)
        self.log.stage_delivery(op, payload)
        self._commit()
        self.backlog.put(Delivered(op, messages, at))

    def rollback(self, origin: int, frame: int) -> None:
        op = self.stream.rollback(origin, frame)
        self.log.stage(op)
        self._commit()
        self.backlog.put(op)

    def _commit(self) -> None:
        laid = self.log.layout()
        self.log.write(laid)
        self.log.apply(laid)
        self.stream.on_applied([])

    def take_all(self) -> list[tuple[int, list[bytes]]]:
        """Positions and messages of everything that waits, which must be deliveries."""
        taken: list[tuple[int, list[bytes]]] = []
        while len(self.backlog):
            item = self.backlog.take()
            assert isinstance(item, Delivered)
            taken.append((item.op.position, item.messages))
        return taken


def test_a_piece_that_is_taken_back_takes_no_forgotten_frame_with_it(tmp_path: Path) -> None:
    slow = _Slow(tmp_path)
    slow.deliver(1, 0, pack(0, [b"forgotten"]))
    assert slow.backlog.stat_spilled == 1
    slow.deliver(2, 0, large_message(2 * FRAME_BYTES)[1][0])
    slow.rollback(2, 0)
    assert slow.take_all() == [(0, [b"forgotten"])]
    slow.log.close()


def test_a_piece_that_is_taken_back_is_nothing_to_the_application(tmp_path: Path) -> None:
    slow = _Slow(tmp_path)
    slow.deliver(2, 0, large_message(2 * FRAME_BYTES)[1][0])
    slow.rollback(2, 0)
    assert slow.take_all() == []
    slow.log.close()


def test_what_is_taken_back_behind_a_large_message_is_not_read_from_its_old_place(tmp_path: Path) -> None:
    slow = _Slow(tmp_path)
    message, frames = large_message(2 * FRAME_BYTES)
    slow.deliver(1, 0, pack(0, [b"forgotten"]))
    slow.deliver(1, 1, pack(1, [b"forgotten, too"]))
    for number, frame in enumerate(frames):
        slow.deliver(2, number, frame)
    assert slow.backlog.is_over
    for number in reversed(range(len(frames))):
        slow.rollback(2, number)
    assert (slow.backlog.waiting_bytes, slow.backlog.is_over) == (0, False)
    slow.rollback(1, 1)
    for number, frame in enumerate(frames):
        slow.deliver(2, number, frame)
    slow.deliver(1, 1, pack(1, [b"later"]))
    assert slow.take_all() == [(0, [b"forgotten"]), (1, [message]), (2, [b"later"])]
    assert slow.backlog.waiting_bytes == 0
    slow.log.close()
