"""Bytes to messages and back. Whatever comes in, the answer is a message or a `DecodeError`, in bounded work."""

from typing import Any, Union

import msgspec

from tocsin.core.errors import DecodeError
from tocsin.core.message import Message

MESSAGE_BYTES_MAX = 64 * 1024 * 1024 + 4096  # the largest application message, and room for its envelope


class Codec:
    """The codec of one protocol: it knows exactly the message classes that it was given."""

    def __init__(self, kinds: tuple[type[Message], ...]) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        union: Any = Union[kinds]  # noqa: UP007  (built at run time)
        self._decoder = msgspec.msgpack.Decoder(union)

    def encode(self, message: Message) -> bytes:
        return self._encoder.encode(message)

    def decode(self, data: bytes | memoryview) -> Message:
        if len(data) > MESSAGE_BYTES_MAX:
            raise DecodeError(f"expected at most {MESSAGE_BYTES_MAX} bytes, found {len(data)}")
        try:
            message: Message = self._decoder.decode(data)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise DecodeError(str(error)) from None
        return message
