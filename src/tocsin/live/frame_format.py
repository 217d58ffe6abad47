"""What a frame holds: many small messages, or one piece of a large one.

A protocol orders frames; an application sends messages. Each origin numbers its messages 0, 1, 2, …; a frame says the
number of its first message.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.core.errors import DecodeError

FRAME_BYTES: Final = 60 * 1024  # with envelope, seal and 44 datagrams' headers still one call of the kernel (64 KiB)
ENVELOPE_BYTES: Final = 16  # of a frame around its messages, at the most
PER_MESSAGE_BYTES: Final = 5  # of a message's length field, at the most
MESSAGE_BYTES_MAX: Final = 64 << 20

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


# The head of a frame in msgpack: an array of three, the tag 0, the number, and how many messages follow.
_PACKED: Final = bytes([0x93, 0x00])
_HEAD_BYTES_MIN: Final = 4
_FIXED_NUMBER_MAX: Final = 0x7F  # numbers up to it are one byte; the larger ones have as many more as `_WIDTHS` says
_WIDTHS: Final = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED_ARRAY: Final = 0x90  # with up to 15 items; longer arrays have as many more bytes as `_COUNT_WIDTHS` says
_FIXED_COUNT: Final = 0x0F
_COUNT_WIDTHS: Final = {0xDC: 2, 0xDD: 4}
_MESSAGE_BYTES_MIN: Final = 2  # of an empty message
_NUMBER_END: Final = 1 << 62

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Packed | _PieceOf)


def unpack(frame: bytes) -> Packed | Piece:
    """What a frame holds. Frames come from members that hold the key, yet are checked like everything from outside."""
    try:
        content: Packed | Piece = _decoder.decode(frame)
        return content
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise DecodeError(f"not a frame: {error}") from None


def read_head(frame: bytes) -> Numbers | None:
    """What a frame of whole messages says at its head, without looking at each: it costs the same for one message and
    for six hundred. None: a piece, or no frame. That as many messages follow is not checked, but that they may."""
    if len(frame) < _HEAD_BYTES_MIN or frame[:2] != _PACKED:
        return None
    first, at = frame[2], 3
    if first in _WIDTHS:
        at += _WIDTHS[first]
        first = int.from_bytes(frame[3:at])
    elif first > _FIXED_NUMBER_MAX:
        return None
    kind = frame[at] if at < len(frame) else 0
    count, at = kind & _FIXED_COUNT, at + 1
    if kind in _COUNT_WIDTHS:
        count, at = int.from_bytes(frame[at : at + _COUNT_WIDTHS[kind]]), at + _COUNT_WIDTHS[kind]
    elif kind & ~_FIXED_COUNT != _FIXED_ARRAY:
        return None
    fits = count * _MESSAGE_BYTES_MIN <= len(frame) - at and first < _NUMBER_END
    return Numbers(first, count) if fits else None


def is_piece_of(frame: bytes, number: int) -> bool:
    try:
        content = unpack(frame)
    except DecodeError:
        return False
    return isinstance(content, Piece) and content.number == number


def pack(number: int, messages: list[bytes]) -> bytes:
    return _encoder.encode(Packed(number, messages))


def pack_piece(piece: Piece) -> bytes:
    return _encoder.encode(piece)
