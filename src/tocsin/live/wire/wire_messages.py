"""What is in a packet: its kind, the sites it is meant for, and a body. Kind and sites are sealed with the body, so
that nobody can redirect a packet.

The kind is a byte; so is the length of the bitmap of sites, which follows: files of members may differ in the number of
sites."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.live.known import Known

MESSAGE: Final = 0  # a message of the protocol
ASK: Final = 1  # datagrams are missing
PROBE: Final = 2  # is anybody there; `tocsin doctor` asks
REPLY: Final = 3
BUNDLE: Final = 4  # several messages of the protocol
GREETING: Final = 5  # see `meeting`
NEWS: Final = 6  # what its sender knows of sites, itself among them
SEATS_ASK: Final = 7  # who is in the group? of somebody who may not know its own number
SEATS: Final = 8
SYNC: Final = 9  # how far others have synced: `majority_sync.py`
WANT: Final = 10  # where do a group's messages stand before a frame; see `handover`
PART: Final = 11  # of the answer

PROBER: Final = 0xFFFF  # the sender of probes that come from no site


class Ask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Datagrams of the packet with this counter are missing."""

    counter: int
    gaps: list[tuple[int, int]]  # offset, end


_Count = Annotated[int, Meta(ge=0, lt=1 << 60)]


class Want(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Where a group's messages stand before a frame of its order, as bytes; from this offset on."""

    group: _Count
    frame: _Count
    offset: _Count


class Part(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """So many bytes of the answer from an offset on; of 0 in all: the sender cannot say."""

    group: _Count
    frame: _Count
    total: _Count
    offset: _Count
    chunk: bytes


class SeatsAsk(msgspec.Struct, frozen=True, array_like=True):
    """Seats from a number on; padded, so that the answer is never larger than what was asked with."""

    word: bytes
    first: Annotated[int, Meta(ge=0, lt=1 << 16)]
    padding: bytes = b""


class SeatsPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of the seats that a view has decided."""

    word: bytes  # as asked
    group_id: bytes
    epoch: Annotated[int, Meta(ge=0, lt=1 << 20)]
    view: Annotated[int, Meta(ge=-1, lt=1 << 60)]
    numbers_max: Annotated[int, Meta(ge=1, le=1 << 15)]
    founders: bytes  # bits
    count: Annotated[int, Meta(ge=0, lt=1 << 15)]  # of seats in all
    first: Annotated[int, Meta(ge=0, lt=1 << 15)]
    seats: list[tuple[str, str, bool]]  # from `first` on: name, address, removed


SEATS_BYTES: Final = 448  # of a question; an answer has at most as many


encode: Final = msgspec.msgpack.Encoder().encode
decode_ask: Final = msgspec.msgpack.Decoder(Ask).decode
decode_seats_ask: Final = msgspec.msgpack.Decoder(SeatsAsk).decode
decode_seats: Final = msgspec.msgpack.Decoder(SeatsPart).decode
decode_bundle: Final = msgspec.msgpack.Decoder(list[memoryview]).decode
decode_news: Final = msgspec.msgpack.Decoder(list[Known]).decode
decode_want: Final = msgspec.msgpack.Decoder(Want).decode
decode_part: Final = msgspec.msgpack.Decoder(Part).decode
