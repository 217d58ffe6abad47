"""What a decoder raises for bytes that are none of ours: text that is no text is a ValueError, not one of msgspec's."""

from typing import Final

import msgspec

UNDECODABLE: Final = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError)
