"""How far the consumers at a group's doors have come: a table that every member has alike.

A consumer's cursor is moved by an entry of the group's order that takes no position and is delivered to nobody: its
sender is the consumer's name behind a mark that no producer's name can have, its number the position of the next
message that the consumer wants. So the table is a function of the order, and a consumer goes on wherever it comes in.

                                            what it does
    the name is new                         the consumer is there from now on, with that cursor
    the number is above the cursor          the cursor moves; it never moves back
    the number is not above it              nothing: it is a question, or comes late
    the number is beyond the order so far   nothing (`live/deciding.py`): nobody can have read that
    the number is FORGET                    the consumer is forgotten
    no name at all                          nothing: who waits for it has seen everything before it

The table is bounded by order, too: beyond `CONSUMERS_MAX` the one whose cursor moved longest ago is forgotten.
"""

from typing import Final

import msgspec

from tocsin.core.errors import DecodeError
from tocsin.core.producers import NUMBER_END, is_producer

MARK: Final = "\x06"  # ACK; not printable, and so no part of a producer's name
CONSUMERS_MAX: Final = 1024  # of a group
NAME_BYTES_MAX: Final = 63  # with the mark it is as long as a producer's name may be
FORGET: Final = NUMBER_END - 1
FORGOTTEN: Final = 0  # the answer where there is no such consumer (any more)

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(tuple[int, list[tuple[str, int]]])
_FORMAT: Final = 1


def is_cursor(sender: str) -> bool:
    """Whether a sender's name is that of a consumer, behind the mark."""
    return sender.startswith(MARK)


def is_sender(name: str) -> bool:
    """Whether a frame may say that this one sent a message: a producer, or a consumer that moves its cursor."""
    return is_producer(name) or name == MARK or (is_cursor(name) and is_consumer(name[1:]))


def is_consumer(name: str) -> bool:
    """Whether a consumer may be called so."""
    return is_producer(name) and len(name.encode()) <= NAME_BYTES_MAX


class Cursors:
    """The table of one group."""

    def __init__(self, consumers_max: int = CONSUMERS_MAX) -> None:
        self._consumers_max = consumers_max
        self._next: dict[str, int] = {}  # by consumer: the next position it wants; who moved longest ago comes first

    def __len__(self) -> int:
        return len(self._next)

    def rows(self) -> dict[str, int]:
        return dict(self._next)

    def find(self, consumer: str) -> int:
        """The position that this consumer wants next; -1: there is no such consumer."""
        return self._next.get(consumer, -1)

    def take(self, sender: str, number: int) -> int:
        """The entry comes in the order; the cursor after it."""
        consumer = sender[1:]
        if not consumer:
            return FORGOTTEN
        before = self._next.get(consumer, -1)
        if number == FORGET:
            if before >= 0:
                del self._next[consumer]
            return FORGOTTEN
        if number <= before:
            return before
        if before >= 0:
            del self._next[consumer]
        elif len(self._next) >= self._consumers_max:
            del self._next[next(iter(self._next))]
        self._next[consumer] = number
        return number

    def to_bytes(self) -> bytes:
        """Canonical: equal tables, equal bytes."""
        return _encoder.encode((_FORMAT, list(self._next.items())))


def cursors_from_bytes(data: bytes, consumers_max: int = CONSUMERS_MAX) -> Cursors:
    """A table as `to_bytes` gave it; DecodeError for anything else."""
    try:
        version, rows = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise DecodeError(f"not a table of cursors: {error}") from None
    names = {name for name, _ in rows}
    fits = all(is_consumer(name) and 0 <= number < FORGET for name, number in rows)
    if version != _FORMAT or len(rows) > consumers_max or len(names) < len(rows) or not fits:
        raise DecodeError(f"not a table of cursors: format {version}, {len(rows)} consumers")
    table = Cursors(consumers_max)
    for name, number in rows:
        table.take(MARK + name, number)
    return table
