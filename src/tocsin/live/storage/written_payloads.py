"""Payloads that the log has already, at the end of a record: a delivery of the very same object refers to them."""

from typing import Final

BYTES_MAX: Final = 32 << 20  # remembered; what is delivered later is written again


class WrittenPayloads:
    """By identity. The objects are kept, so that an identity stays an object's own."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[bytes, int, int, int]] = {}  # identity -> payload, file, offset, checksum
        self._bytes = 0

    def put(self, payload: bytes, file: int, offset: int, check: int) -> None:
        """Remember where a payload lies; the oldest are forgotten."""
        if id(payload) not in self._places:
            self._bytes += len(payload)
        self._places[id(payload)] = (payload, file, offset, check)
        while self._bytes > BYTES_MAX:
            oldest = next(iter(self._places))
            self._bytes -= len(self._places.pop(oldest)[0])

    def take(self, payload: bytes) -> tuple[int, int, int] | None:
        """File, offset and checksum, once."""
        found = self._places.pop(id(payload), None)
        if found is None:
            return None
        self._bytes -= len(payload)
        return found[1], found[2], found[3]
