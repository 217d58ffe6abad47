"""What replicas say in the group's order. Each entry is one message; what is none of these, replicas pass over."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

_Number = Annotated[int, Meta(ge=0, lt=1 << 62)]
_Session = Annotated[int, Meta(ge=1, lt=1 << 62)]
_Name = Annotated[str, Meta(min_length=1, max_length=64)]

MARK: Final = b"\xc1"  # begins every entry; no msgpack and no UTF-8 begins so


class Command(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """A call. However often it comes, the first one counts."""

    session: _Session  # of the replica that calls: drawn when it was opened
    life: _Number  # of its site, which the caller believes to be in
    number: _Number  # of the call in its session
    sent_us: int  # the caller's clock
    body: bytes


class Began(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """The origin begins its next life; the one before has ended, if it had not."""

    session: _Session


class Gone(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Somebody saw this life of a site end: a view came without it."""

    site: _Name
    life: _Number


class Mark(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """Only a place: the origin waits until it gets there."""

    session: _Session
    number: _Number


class Digest(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """What the origin's snapshot at a position comes to."""

    position: _Number
    digest: bytes


class Ask(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """The origin lacks the state: a snapshot of just here is wanted."""

    session: _Session


class Want(msgspec.Struct, frozen=True, array_like=True, tag=6, gc=False):
    """The origin has so much of the snapshot that it asked for at a position. `turn` counts tries: another member
    answers each. At the end it wants nothing more."""

    session: _Session
    asked: _Number
    offset: _Number
    turn: _Number


class Part(msgspec.Struct, frozen=True, array_like=True, tag=7, gc=False):
    """A part of a snapshot, for who asked for it at this position."""

    asked: _Number
    total: _Number
    offset: _Number
    chunk: bytes


Entry = Command | Began | Gone | Mark | Digest | Ask | Want | Part

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Entry)


def encode_entry(entry: Entry) -> bytes:
    return MARK + _encoder.encode(entry)


def decode_entry(payload: bytes) -> Entry | None:
    """None: not an entry of a replica."""
    if payload[:1] != MARK:
        return None
    try:
        entry: Entry = _decoder.decode(memoryview(payload)[1:])
        return entry
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError):
        return None
