"""What the wire says to the wire of another member, beside the protocol's own messages."""

from typing import Final

import msgspec


class Ask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Datagrams of the packet with this counter are missing."""

    counter: int
    gaps: list[tuple[int, int]]  # offset, end


encode: Final = msgspec.msgpack.Encoder().encode
decode_ask: Final = msgspec.msgpack.Decoder(Ask).decode
decode_bundle: Final = msgspec.msgpack.Decoder(list[memoryview]).decode
