"""Application messages to frames and back."""

import io
from collections import deque
from typing import Final

from tocsin.core.errors import DecodeError
from tocsin.live.frame_format import (
    ENVELOPE_BYTES,
    FRAME_BYTES,
    PER_MESSAGE_BYTES,
    RUN_BYTES_MAX,
    NumberedPacked,
    NumberedPiece,
    Numbers,
    Packed,
    Piece,
    Run,
    is_piece_of,
    pack,
    pack_numbered,
    pack_piece,
    runs_of,
    sent_of,
    unpack,
)

UNFINISHED_MAX: Final = (
    4  # large messages of one origin; it sends one after the other, but they may overtake each other
)
MESSAGES_PER_FRAME_MAX: Final = 16_384  # empty messages are a byte each; a frame stays a bounded piece of work


class Packer:
    """Queues messages and cuts them into frames, whatever is queued at the time."""

    def __init__(self) -> None:
        self.queued_bytes = 0  # of messages not yet in a frame
        self._queue: deque[bytes] = deque()
        self._large_offset = 0  # how far the message at the head, a large one, has gone into pieces
        self._large_number = 0  # its number
        self._large_sent_us = 0  # when its first piece went
        self._put = 0  # messages so far
        self._sent: deque[tuple[int, str, int]] = deque()  # of those queued: which `_put`, its producer and number

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, message: bytes) -> None:
        self._queue.append(message)
        self._put += 1
        self.queued_bytes += len(message)

    def put_numbered(self, message: bytes, producer: str, number: int) -> None:
        """A message that its producer has numbered."""
        self._sent.append((self._put, producer, number))
        self.put(message)

    def put_many(self, messages: list[bytes], size: int) -> None:
        """`size`: of all together."""
        self._queue.extend(messages)
        self._put += len(messages)
        self.queued_bytes += size

    def take(self, number: int, sent_us: int = 0) -> tuple[bytes, Numbers]:
        """The next frame, as full as the queue allows; its first message gets this number, unless it is the next piece
        of a message that has one. `sent_us`: the clock. The queue must not be empty."""
        head = self._queue[0]
        whole_max = FRAME_BYTES - ENVELOPE_BYTES - PER_MESSAGE_BYTES - (RUN_BYTES_MAX if self._sent else 0)
        if len(head) > whole_max or self._large_offset > 0:
            return self._take_piece(head, number, sent_us)
        queue = self._queue
        room = FRAME_BYTES - ENVELOPE_BYTES
        size = 0
        taken: list[bytes] = []
        per_message = PER_MESSAGE_BYTES + (RUN_BYTES_MAX if self._sent else 0)
        for message in queue:
            length = len(message)
            room -= length + per_message
            if room < 0 or len(taken) == MESSAGES_PER_FRAME_MAX:
                break
            taken.append(message)
            size += length
        for _ in taken:
            queue.popleft()
        self.queued_bytes -= size
        runs = self._runs_of_taken(len(taken)) if self._sent else []
        frame = pack_numbered(number, taken, runs, sent_us) if runs else pack(number, taken, sent_us)
        return frame, Numbers(number, len(taken))

    def _runs_of_taken(self, count: int) -> list[Run]:
        """The runs of numbered messages among so many that were just taken."""
        first = self._put - len(self._queue) - count
        sent: list[tuple[str, int] | None] = [None] * count
        while self._sent and self._sent[0][0] < first + count:
            at, producer, sent_number = self._sent.popleft()
            sent[at - first] = (producer, sent_number)
        return runs_of(sent)

    def _take_piece(self, head: bytes, number: int, sent_us: int) -> tuple[bytes, Numbers]:
        offset = self._large_offset
        if offset == 0:
            self._large_number = number
            self._large_sent_us = sent_us
        sent_us = self._large_sent_us
        at = self._put - len(self._queue)
        sent = self._sent[0] if self._sent and self._sent[0][0] == at else None
        end = min(offset + FRAME_BYTES - ENVELOPE_BYTES - 32 - (0 if sent is None else RUN_BYTES_MAX), len(head))
        if sent is None:
            chunk = memoryview(head)[offset:end]
            frame = pack_piece(Piece(self._large_number, len(head), offset, chunk, sent_us=sent_us))
        else:
            part = head[offset:end]
            piece = NumberedPiece(self._large_number, len(head), offset, part, sent[1], sent[2], sent_us=sent_us)
            frame = pack_piece(piece)
        numbers = Numbers(self._large_number, 1 if end == len(head) else 0)
        self._large_offset = end
        if end == len(head):
            self._queue.popleft()
            self.queued_bytes -= len(head)
            self._large_offset = 0
            if sent is not None:
                self._sent.popleft()
        return frame, numbers


class Pieces:
    """The pieces of one large message, until it is whole; they may come in any order."""

    def __init__(self, piece: Piece) -> None:
        self._total = piece.total
        self._missing = piece.total  # bytes
        self._have: set[int] = set()  # offsets
        self._content = io.BytesIO()  # its getvalue() hands the buffer over without a copy

    def add(self, piece: Piece) -> None:
        if piece.total != self._total or piece.offset in self._have or not piece.chunk:
            return  # no member of ours sends that
        if piece.offset + len(piece.chunk) > self._total:
            return
        self._have.add(piece.offset)
        self._content.seek(piece.offset)
        self._content.write(piece.chunk)
        self._missing -= len(piece.chunk)

    def whole(self) -> bytes | None:
        return self._content.getvalue() if self._missing == 0 else None


class Unpacker:
    """Frames of one stream (a group at a site) to messages; keeps the unfinished large messages of each origin.

    A message of which pieces were missed for good (the site was away for too long, or its origin crashed in the middle
    of it) gives way when its origin has begun `UNFINISHED_MAX` others, and is counted: it will never be whole here."""

    def __init__(self) -> None:
        self.stat_broken = 0  # large messages dropped because pieces of them are missing
        self._open: dict[int, dict[int, Pieces]] = {}  # by origin, then by number, oldest first; none empty

    def is_open(self, origin: int) -> bool:
        """Whether a large message of the origin is unfinished."""
        return origin in self._open

    def open_numbers(self, origin: int) -> list[int]:
        """Of the origin's unfinished messages, oldest first."""
        return list(self._open.get(origin, {}))

    def drop(self, origin: int, number: int) -> None:
        """Forget an unfinished message."""
        unfinished = self._open.get(origin, {})
        unfinished.pop(number, None)
        if not unfinished:
            self._open.pop(origin, None)

    def put_together(self, origin: int, number: int, frames: list[bytes]) -> None:
        """A piece of a message was taken back: of these frames of its origin, oldest first, those that belong to the
        message are what is left of it."""
        self.drop(origin, number)
        for frame in frames:
            if is_piece_of(frame, number):
                self.feed(origin, frame)

    def feed(self, origin: int, frame: bytes) -> tuple[int, list[bytes]]:
        """The number of the first message that ends in this frame, and the messages that do."""
        number, messages, _, _ = self.feed_numbered(origin, frame)
        return number, messages

    def feed_numbered(
        self, origin: int, frame: bytes
    ) -> tuple[int, list[bytes], list[tuple[str, int] | None] | None, int]:
        """As `feed`; and by message its producer and number, or None if no message has one; and when they were sent."""
        try:
            content = unpack(frame)
        except DecodeError:
            self.stat_broken += 1
            return 0, [], None, 0
        if isinstance(content, Packed):
            sent = sent_of(content) if isinstance(content, NumberedPacked) else None
            return content.number, content.messages, sent, content.sent_us
        unfinished = self._open.setdefault(origin, {})
        pieces = unfinished.get(content.number)
        if pieces is None:
            if len(unfinished) >= UNFINISHED_MAX:
                del unfinished[next(iter(unfinished))]
                self.stat_broken += 1
            pieces = unfinished[content.number] = Pieces(content)
        pieces.add(content)
        whole = pieces.whole()
        if whole is None:
            return content.number, [], None, 0
        self.drop(origin, content.number)
        of_piece = (content.producer, content.sent_number) if isinstance(content, NumberedPiece) else None
        return content.number, [whole], None if of_piece is None else [of_piece], content.sent_us
