"""What a frame holds: many small messages, or one piece of a large one.

A protocol orders frames; an application sends messages. Each origin numbers its messages 0, 1, 2, …; a frame says the
number of its first message, and when its messages were sent, by the origin's clock (0: frames of members that did not
say so yet). Messages that carry a producer's name and number lie in frames of two further kinds.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.core.cursors import is_sender
from tocsin.core.errors import DecodeError
from tocsin.core.producers import NUMBER_END
from tocsin.live.errors import UNDECODABLE

FRAME_BYTES: Final = 60 * 1024  # with envelope, seal and 44 datagrams' headers still one call of the kernel (64 KiB)
ENVELOPE_BYTES: Final = 25  # of a frame around its messages, at the most
PER_MESSAGE_BYTES: Final = 5  # of a message's length field, at the most
MESSAGE_BYTES_MAX: Final = 64 << 20

RUN_BYTES_MAX: Final = 96  # of a run of numbered messages beside the messages: name, two small and one large number

_Number = Annotated[int, Meta(ge=0, lt=1 << 62)]


class _Sent(msgspec.Struct, frozen=True, array_like=True, gc=False, kw_only=True):
    """What comes last in every frame, behind the fields of its kind."""

    sent_us: _Number = 0  # of all its messages; every piece of a large message says the same


class Packed(_Sent, frozen=True, array_like=True, tag=0, gc=False):
    """Whole messages, in the order in which they were broadcast."""

    number: _Number  # of the first
    messages: list[bytes]


class Piece(_Sent, frozen=True, array_like=True, tag=1, gc=False):
    """A piece of one large message; the pieces of a message follow one another in its origin's stream."""

    number: _Number
    total: Annotated[int, Meta(ge=1, le=MESSAGE_BYTES_MAX)]
    offset: Annotated[int, Meta(ge=0, le=MESSAGE_BYTES_MAX)]
    chunk: bytes | memoryview


class Run(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Messages of a frame that follow one another, from one producer: message `index + i` has `number + i`."""

    index: _Number  # of the first, in the frame
    count: Annotated[int, Meta(ge=1, lt=1 << 16)]
    producer: str
    number: _Number  # the producer's, of the first


class NumberedPacked(Packed, frozen=True, array_like=True, tag=2, gc=False):
    """Whole messages, some of which are numbered by their producers."""

    runs: list[Run]  # by index; none overlap


class Numbers(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a frame holds, for those who need no content."""

    number: int  # of the first message
    count: int  # messages that end in this frame


class _PieceOf(Piece, frozen=True, array_like=True, tag=1, gc=False):
    chunk: bytes


class NumberedPiece(_PieceOf, frozen=True, array_like=True, tag=3, gc=False):
    """A piece of one large message that its producer numbered; every piece says so, for they come in any order."""

    producer: str
    sent_number: _Number


# The head of a frame in msgpack: an array of four (once, of three), the tag 0, the number, how many messages follow.
_PACKED: Final = (bytes([0x94, 0x00]), bytes([0x93, 0x00]))
_HEAD_BYTES_MIN: Final = 4
_FIXED_NUMBER_MAX: Final = 0x7F  # numbers up to it are one byte; the larger ones have as many more as `_WIDTHS` says
_WIDTHS: Final = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED_ARRAY: Final = 0x90  # with up to 15 items; longer arrays have as many more bytes as `_COUNT_WIDTHS` says
_FIXED_COUNT: Final = 0x0F
_COUNT_WIDTHS: Final = {0xDC: 2, 0xDD: 4}
_MESSAGE_BYTES_MIN: Final = 2  # of an empty message

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Packed | _PieceOf | NumberedPacked | NumberedPiece)


def unpack(frame: bytes) -> Packed | Piece:
    """What a frame holds. Frames come from members that hold the key, yet are checked like everything from outside."""
    try:
        content: Packed | Piece = _decoder.decode(frame)
    except UNDECODABLE as error:
        raise DecodeError(f"not a frame: {error}") from None
    if isinstance(content, NumberedPacked):
        _check_runs(content)
    elif isinstance(content, NumberedPiece) and not is_sender(content.producer):
        raise DecodeError("not a frame: no producer is called so")
    return content


def _check_runs(content: NumberedPacked) -> None:
    end = 0
    for run in content.runs:
        if run.index < end or run.number + run.count > NUMBER_END or not is_sender(run.producer):
            raise DecodeError("not a frame: its runs of numbered messages overlap, or no producer is called so")
        end = run.index + run.count
    if end > len(content.messages) or not content.runs:
        raise DecodeError("not a frame: fewer messages than it numbers, or no number")


def read_head(frame: bytes) -> Numbers | None:
    """What a frame of whole messages says at its head, without looking at each: it costs the same for one message and
    for six hundred. None: a piece, or no frame. That as many messages follow is not checked, but that they may."""
    if len(frame) < _HEAD_BYTES_MIN or frame[:2] not in _PACKED:
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
    fits = count * _MESSAGE_BYTES_MIN <= len(frame) - at and first < NUMBER_END
    return Numbers(first, count) if fits else None


def is_piece_of(frame: bytes, number: int) -> bool:
    try:
        content = unpack(frame)
    except DecodeError:
        return False
    return isinstance(content, Piece) and content.number == number


def pack(number: int, messages: list[bytes], sent_us: int = 0) -> bytes:
    return _encoder.encode(Packed(number, messages, sent_us=sent_us))


def pack_piece(piece: Piece) -> bytes:
    return _encoder.encode(piece)


def pack_numbered(number: int, messages: list[bytes], runs: list[Run], sent_us: int = 0) -> bytes:
    return _encoder.encode(NumberedPacked(number, messages, runs, sent_us=sent_us))


def runs_of(sent: list[tuple[str, int] | None]) -> list[Run]:
    """By message of a frame, its producer and number (or None): as few runs as there can be."""
    runs: list[Run] = []
    for index, each in enumerate(sent):
        if each is None:
            continue
        last = runs[-1] if runs else None
        if last is not None and (last.index + last.count, last.producer, last.number + last.count) == (index, *each):
            runs[-1] = Run(last.index, last.count + 1, last.producer, last.number)
        else:
            runs.append(Run(index, 1, each[0], each[1]))
    return runs


def sent_of(content: NumberedPacked) -> list[tuple[str, int] | None]:
    """By message of a frame, its producer and number."""
    sent: list[tuple[str, int] | None] = [None] * len(content.messages)
    for run in content.runs:
        for offset in range(run.count):
            sent[run.index + offset] = (run.producer, run.number + offset)
    return sent
