"""The frames of one group at one member, turned into messages, with their positions.

What was delivered but is not yet part of the log (its batch is still on the way to the disk) lies over the log here, so
that a rollback, or the rest of a large message, finds the frames before it wherever they are.
"""

from tocsin.core.cursors import Cursors
from tocsin.core.errors import DecodeError
from tocsin.core.producers import Producers
from tocsin.live.deciding import Decided, decide
from tocsin.live.frame_format import Packed, Piece, Run, unpack
from tocsin.live.packing import Unpacker
from tocsin.live.storage import log_format
from tocsin.live.storage.file_format import content_check
from tocsin.live.storage.logged_frames import LoggedFrames


class _Delivered:
    __slots__ = ("count", "frame", "origin", "payload")

    def __init__(self, origin: int, frame: int, payload: bytes, count: int) -> None:
        self.origin = origin
        self.frame = frame
        self.payload = payload
        self.count = count


class Stream:
    """One group's frames, at the newest step (which the log may not have yet)."""

    def __init__(
        self, group: int, frames: LoggedFrames, producers: Producers | None = None, cursors: Cursors | None = None
    ) -> None:
        """`producers`: the group's table, where repeats are told from the order; it stands at the newest step. So does
        `cursors`."""
        self.position = frames.group(group).position  # of the next message
        self.end = frames.group(group).end  # log position of the next frame
        self.stat_broken = 0  # large messages that can never be whole here
        self.group = group
        self._frames = frames
        self._producers = producers
        self._cursors = Cursors() if cursors is None else cursors
        self._index = frames.group(group)
        self._unpacker = Unpacker()
        self._begins = dict(self._index.unfinished)  # origin -> frame position where its unfinished messages begin
        self._over: list[_Delivered] = []  # delivered, and not yet in the log
        self._taken_back = 0  # frames of the log that are taken back, and the log does not know it yet
        self._skipped = False  # the whole log is behind a gap that the log does not know yet
        for origin, piece in self._index.handed:
            self._unpacker.feed(origin, piece)
        for origin, begin in sorted(self._index.unfinished.items()):
            for position in range(begin, self._index.end):
                if self._index.about(position)[0] == origin:
                    self._unpacker.feed(origin, frames.read_any(group, position, 1)[0].payload)

    def deliver(
        self, origin: int, frame: int, payload: bytes, place: tuple[int, int, int] = (-1, 0, 0)
    ) -> tuple[log_format.Deliver, list[bytes]]:
        """`place`: file and offset where the log has these bytes already, if it has, and their checksum."""
        op, messages, _ = self.deliver_numbered(origin, frame, payload, place)
        return op, messages

    def deliver_numbered(
        self, origin: int, frame: int, payload: bytes, place: tuple[int, int, int]
    ) -> tuple[log_format.Deliver, list[bytes], list[int] | None]:
        """As `deliver`; and the answers of `decide`, where producers numbered messages."""
        number, messages, sent, sent_us = self._unpacker.feed_numbered(origin, payload)
        decided: Decided | None = None
        if sent is not None and self._producers is not None:
            decided = decide(self._producers, self._cursors, self.position, messages, sent)
            messages = decided.messages
        is_open = self._unpacker.is_open(origin)
        if is_open:
            self._begins.setdefault(origin, self.end)
        else:
            self._begins.pop(origin, None)
        count = len(messages)
        size = len(payload)
        file, offset, check = place if place[0] >= 0 else (-1, 0, content_check(payload))
        dropped: tuple[tuple[int, int], ...] = () if decided is None else decided.dropped
        runs: tuple[Run, ...] = () if decided is None else decided.runs
        op = log_format.Deliver(
            self.group,
            origin,
            frame,
            size,
            self.position,
            count,
            number,
            is_open,
            file,
            offset,
            check,
            dropped,
            runs,
            sent_us,
        )
        self._over.append(_Delivered(origin, frame, payload, count))
        self.position += count
        self.end += 1
        self.stat_broken = self._unpacker.stat_broken
        return op, messages, None if decided is None else decided.answers

    def rollback(self, origin: int, frame: int) -> log_format.Rollback:
        """Take the newest frame back; it must be this one."""
        newest = self._at(0)
        assert newest is not None and (newest.origin, newest.frame) == (origin, frame), "not the newest delivery"
        if self._over:
            self._over.pop()
        else:
            self._taken_back += 1
        self.position -= newest.count
        self.end -= 1
        content = _content(newest.payload)
        number = 0 if content is None else content.number
        if isinstance(content, Piece):
            self._rebuild(origin, number)
        begins = self._begins.get(origin, -1)
        return log_format.Rollback(self.group, origin, frame, self.position, newest.count, number, begins)

    def go_on(
        self, position: int, table: Producers, pieces: tuple[tuple[int, bytes], ...], cursors: Cursors | None = None
    ) -> None:
        """After `skip`: where the messages stand, as another member has said."""
        self.position = position
        self._producers = table
        if cursors is not None:
            self._cursors = cursors
        for origin, piece in pieces:
            self._unpacker.feed(origin, piece)
            self._begins[origin] = self.end

    def skip(self, end: int) -> None:
        """Frames of the group were missed for good, up to `end`: nothing before can be taken back or completed."""
        self.end = end
        self._over = []
        self._taken_back = 0
        self._skipped = True
        self._unpacker = Unpacker()
        self._begins = {}

    def on_applied(self, staged: list[tuple[log_format.Op, bytes]]) -> None:
        """The log has caught up, but for these operations of this group."""
        self._over = []
        self._taken_back = 0
        self._skipped = False
        for op, content in staged:
            if isinstance(op, log_format.Deliver):
                self._over.append(_Delivered(op.origin, op.frame, content, op.count))
            elif isinstance(op, log_format.Rollback):
                if self._over:
                    self._over.pop()
                else:
                    self._taken_back += 1
            elif isinstance(op, log_format.Missed) and op.origin < 0:
                self._over = []
                self._taken_back = 0
                self._skipped = True

    def _at(self, back: int) -> _Delivered | None:
        """The frame that is `back` places before the newest."""
        if back < len(self._over):
            return self._over[len(self._over) - 1 - back]
        position = self._index.end - 1 - self._taken_back - (back - len(self._over))
        if self._skipped or position < self._index.base:
            return None
        entry = self._frames.read_any(self.group, position, 1)[0]
        return _Delivered(entry.origin, entry.seqno, entry.payload, self._index.about(position)[2])

    def _rebuild(self, origin: int, number: int) -> None:
        """Put an unfinished message together again after its newest piece was taken back. (Where deliveries are taken
        back, the pieces of a message come in order: the search ends at the first of them.)"""
        pieces: list[bytes] = []
        back = 0
        while (frame := self._at(back)) is not None:
            back += 1
            content = _content(frame.payload) if frame.origin == origin else None
            if isinstance(content, Piece) and content.number == number:
                pieces.append(frame.payload)
                if content.offset == 0:
                    break
        self._unpacker.put_together(origin, number, pieces[::-1])
        if not self._unpacker.is_open(origin):
            self._begins.pop(origin, None)
        elif pieces:
            self._begins[origin] = min(self.end - back, self._begins.get(origin, self.end))


def _content(payload: bytes) -> Packed | Piece | None:
    try:
        return unpack(payload)
    except DecodeError:
        return None
