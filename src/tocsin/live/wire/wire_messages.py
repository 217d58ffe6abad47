"""What is in a packet: its kind, the sites it is meant for, and a body. Kind and sites are sealed with the body, so
that nobody can redirect a packet."""

from typing import Final

import msgspec

MESSAGE: Final = 0  # a message of the protocol
ASK: Final = 1  # datagrams are missing
PROBE: Final = 2  # is anybody there; `tocsin doctor` asks
REPLY: Final = 3
BUNDLE: Final = 4  # several messages of the protocol
GREETING: Final = 5  # see `meeting`

PROBER: Final = 0xFFFF  # the sender of probes that come from no site


class Ask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Datagrams of the packet with this counter are missing."""

    counter: int
    gaps: list[tuple[int, int]]  # offset, end


encode: Final = msgspec.msgpack.Encoder().encode
decode_ask: Final = msgspec.msgpack.Decoder(Ask).decode
decode_bundle: Final = msgspec.msgpack.Decoder(list[memoryview]).decode
