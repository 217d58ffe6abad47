"""A replica at one position, as bytes: the application's state, and what replicas themselves must know. Canonical: the
same at every member."""

import hashlib
from typing import Final

import msgspec

from tocsin.core.errors import DecodeError
from tocsin.core.producers import Producers, producers_from_bytes
from tocsin.state.lives import Life, Lives

DIGEST_BYTES: Final = 16
_FORMAT: Final = 1


class Image(msgspec.Struct, frozen=True):
    position: int  # of the next entry: everything before is in it
    data: bytes

    def digest(self) -> bytes:
        return hashlib.blake2b(self.data, digest_size=DIGEST_BYTES).digest()


class _Image(msgspec.Struct, frozen=True, array_like=True):
    format: int
    position: int
    lives: list[tuple[str, Life]]
    calls: bytes  # the table of producers
    state: bytes


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(_Image)


def make_image(position: int, lives: Lives, calls: Producers, state: bytes) -> Image:
    return Image(position, _encoder.encode(_Image(_FORMAT, position, lives.rows(), calls.to_bytes(), state)))


def read_image(data: bytes) -> tuple[int, list[tuple[str, Life]], Producers, bytes]:
    """Position, lives, calls, state. DecodeError for what is no image."""
    try:
        image = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise DecodeError(f"not a snapshot: {error}") from None
    if image.format != _FORMAT:
        raise DecodeError(f"not a snapshot: expected format {_FORMAT}, found {image.format}")
    return image.position, image.lives, producers_from_bytes(image.calls), image.state
