"""Application messages to frames and back.

A protocol orders frames; an application sends messages. A frame carries many small messages or one piece of a large
one. Numbers: each origin numbers its messages 0, 1, 2, …; a frame says the number of its first message.
"""

import io
from collections import deque
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.core.errors import DecodeError

FRAME_BYTES: Final = 60 * 1024  # with envelope, seal and 44 segment headers still one call of the kernel (64 KiB)
ENVELOPE_BYTES: Final = 16  # of a frame around its messages, at the most
PER_MESSAGE_BYTES: Final = 5  # of a message's length field, at the most
MESSAGE_BYTES_MAX: Final = 64 << 20
UNFINISHED_MAX: Final = (
    4  # large messages of one origin; it sends one after the other, but they may overtake each other
)
MESSAGES_PER_FRAME_MAX: Final = 16_384  # empty messages are a byte each; a frame stays a bounded piece of work

_Number = Annotated[int, Meta(ge=0, lt=1 << 62)]


class Packed(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """Whole messages, in the order in which they were broadcast."""

    number: _Number  # of the first
    messages: list[bytes]


class Piece(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A piece of one large message; the pieces of a message follow one another in its origin's stream."""

    number: _Number
    total: Annotated[int, Meta(ge=1, le=MESSAGE_BYTES_MAX)]
    offset: Annotated[int, Meta(ge=0, le=MESSAGE_BYTES_MAX)]
    chunk: bytes | memoryview


class Numbers(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a frame holds, for those who need no content."""

    number: int  # of the first message
    count: int  # messages that end in this frame


class _PieceOf(Piece, frozen=True, array_like=True, tag=1, gc=False):
    chunk: bytes


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Packed | _PieceOf)


def unpack(frame: bytes) -> Packed | Piece:
    """What a frame holds. Frames come from members that hold the key, yet are checked like everything from outside."""
    try:
        content: Packed | Piece = _decoder.decode(frame)
        return content
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise DecodeError(f"not a frame: {error}") from None


def pack(number: int, messages: list[bytes]) -> bytes:
    return _encoder.encode(Packed(number, messages))


class Packer:
    """Queues messages and cuts them into frames, whatever is queued at the time."""

    def __init__(self) -> None:
        self.queued_bytes = 0  # of messages not yet in a frame
        self._queue: deque[bytes] = deque()
        self._large_offset = 0  # how far the message at the head, a large one, has gone into pieces
        self._large_number = 0  # its number

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, message: bytes) -> None:
        self._queue.append(message)
        self.queued_bytes += len(message)

    def put_many(self, messages: list[bytes]) -> None:
        self._queue.extend(messages)
        self.queued_bytes += sum(map(len, messages))

    def take(self, number: int) -> tuple[bytes, Numbers]:
        """The next frame, as full as the queue allows; its first message gets this number, unless it is the next piece
        of a message that has one. The queue must not be empty."""
        head = self._queue[0]
        if len(head) > FRAME_BYTES - ENVELOPE_BYTES - PER_MESSAGE_BYTES:
            return self._take_piece(head, number)
        queue = self._queue
        room = FRAME_BYTES - ENVELOPE_BYTES
        taken: list[bytes] = []
        while queue and len(taken) < MESSAGES_PER_FRAME_MAX:
            room -= len(queue[0]) + PER_MESSAGE_BYTES
            if room < 0:
                break
            taken.append(queue.popleft())
        self.queued_bytes -= sum(map(len, taken))
        return _encoder.encode(Packed(number, taken)), Numbers(number, len(taken))

    def _take_piece(self, head: bytes, number: int) -> tuple[bytes, Numbers]:
        offset = self._large_offset
        if offset == 0:
            self._large_number = number
        end = min(offset + FRAME_BYTES - ENVELOPE_BYTES - 32, len(head))
        frame = _encoder.encode(Piece(self._large_number, len(head), offset, memoryview(head)[offset:end]))
        numbers = Numbers(self._large_number, 1 if end == len(head) else 0)
        self._large_offset = end
        if end == len(head):
            self._queue.popleft()
            self.queued_bytes -= len(head)
            self._large_offset = 0
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

    def drop(self, origin: int, number: int) -> None:
        """Forget an unfinished message."""
        unfinished = self._open.get(origin, {})
        unfinished.pop(number, None)
        if not unfinished:
            self._open.pop(origin, None)

    def feed(self, origin: int, frame: bytes) -> tuple[int, list[bytes]]:
        """The number of the first message that ends in this frame, and the messages that do."""
        try:
            content = unpack(frame)
        except DecodeError:
            self.stat_broken += 1
            return 0, []
        if isinstance(content, Packed):
            return content.number, content.messages
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
            return content.number, []
        self.drop(origin, content.number)
        return content.number, [whole]
