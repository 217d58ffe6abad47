"""What a member and the process of its door say to one another, over a socket that only these two have.

Each word is a length of four bytes (big-endian) and msgpack. The door asks, each question with an id; the member
answers by id, in any order, and tells by itself how far the order has come: what lies below may be read from the
member's files.
"""

import struct
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.core.producers import NUMBER_END
from tocsin.live.errors import UNDECODABLE

WORD_BYTES_MAX: Final = 72 << 20  # a message of the greatest size, and its surroundings
LENGTH: Final = struct.Struct(">I")

_Count = Annotated[int, Meta(ge=0, lt=NUMBER_END)]


class Settings(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """The member's first word: what the door is to be."""

    site: str
    url: str
    folder: str  # of the member
    groups: tuple[str, ...]  # by number
    here: tuple[int, ...]  # those that are delivered at this member
    token_file: str
    tls_cert: str  # "": no TLS
    tls_key: str
    others: tuple[str, ...]  # urls of the other doors
    message_bytes_max: int


class Told(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """How far it has come; also said now and then without news, as a sign of life."""

    positions: list[int]  # by group: of the next message
    is_primary: bool  # it takes part in the group's order


class Answer(msgspec.Struct, frozen=True, array_like=True, tag=2):
    id: int
    runs: list[tuple[int, int]] = []  # positions of what was published: first and count; or one cursor
    document: bytes = b""  # of what was looked up, JSON
    error: str = ""  # the name of a class of errors; "": none
    text: str = ""  # of the error


class Close(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The member stops: let nobody in, bring to an end what is under way, and go."""


class Publish(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Messages of one group, one after the other; with a producer, message `i` has `number + i`."""

    id: int
    group: _Count
    messages: list[bytes]
    producer: str = ""
    number: _Count = 0
    is_durable: bool = False  # to be answered when it is durable, else when it is ordered


class Move(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """An entry of the group's table of cursors (`core/cursors.py`); the answer is the cursor after it."""

    id: int
    group: _Count
    sender: str
    number: _Count


class Look(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """A question that changes nothing: `status`, `cursors`, or `producer` (the largest number of the one named)."""

    id: int
    what: str
    group: _Count = 0
    name: str = ""


class Say(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """For the member's log."""

    level: int
    text: str


ToDoor = Settings | Told | Answer | Close
ToMember = Publish | Move | Look | Say

_encoder: Final = msgspec.msgpack.Encoder()
_to_door: Final = msgspec.msgpack.Decoder(ToDoor)
_to_member: Final = msgspec.msgpack.Decoder(ToMember)


def encode(word: ToDoor | ToMember) -> bytes:
    """With its length."""
    body = _encoder.encode(word)
    return LENGTH.pack(len(body)) + body


def to_door(body: bytes) -> ToDoor:
    word: ToDoor = _to_door.decode(body)
    return word


def to_member(body: bytes) -> ToMember | None:
    """None: no word of ours."""
    try:
        word: ToMember = _to_member.decode(body)
    except UNDECODABLE:
        return None
    return word
