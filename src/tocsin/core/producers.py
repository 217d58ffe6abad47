"""Which messages of producers a group has delivered: what makes sending again safe.

A message may carry its producer's name and a number that the producer chose; numbers of a producer grow, with gaps if
it likes. However often such a message comes in the group's order, by whomever it was sent, the first one is delivered
and takes a position; the others are repeats, take none, and are answered with the position of the first. Every member
has the same table at the same place of the order, because nothing goes into it but accepted messages with their
positions. (So it can also be made anew from what was delivered, and repeats need not be kept anywhere.)

                                              decision
    the number is kept                        a repeat: the position it had
    not kept, not above what was forgotten    too old: nobody knows any more whether it was delivered
    otherwise (also below the last number)    new: delivered here

A number below the last one may be new: sent through a slow member, it may come after its successors.

The table is bounded: of a producer its `NUMBERS_MAX` largest numbers, and the `PRODUCERS_MAX` producers whose last
accepted messages are the newest. A forgotten producer counts as new. At the bounds it takes 16 to 20 bytes a number,
1.3 GB in all; a producer with one number takes about 0.4 KB.
"""

from array import array
from bisect import bisect_left
from typing import Final

import msgspec

from tocsin.core.errors import DecodeError

NUMBERS_MAX: Final = 1024  # of a producer
PRODUCERS_MAX: Final = 65_536
NAME_BYTES_MAX: Final = 64  # of a producer's name in UTF-8; a table of short names stays small
NUMBER_END: Final = 1 << 62  # numbers and positions are below
TOO_OLD: Final = -1
NOT_SEEN: Final = -2
SLACK: Final = 256  # forgotten numbers that may still lie in an array before it is moved together

_Row = tuple[str, int, list[int], list[int]]  # name, largest number forgotten, steps of numbers, positions
_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(tuple[int, list[_Row]])
_FORMAT: Final = 1


class _Window:
    """The last numbers of one producer."""

    __slots__ = ("floor", "numbers", "positions", "start")

    def __init__(self) -> None:
        self.floor = -1  # the largest number that was forgotten; every kept number is above it
        self.start = 0  # where the kept ones begin in the arrays
        self.numbers = array("q")  # grow
        self.positions = array("q")  # each of the number in the same place

    def find(self, number: int) -> int:
        """The position of this number, TOO_OLD or NOT_SEEN."""
        if number <= self.floor:
            return TOO_OLD
        numbers = self.numbers
        if not numbers or number > numbers[-1]:
            return NOT_SEEN
        at = bisect_left(numbers, number, self.start)
        return self.positions[at] if numbers[at] == number else NOT_SEEN

    def add(self, number: int, position: int, limit: int) -> None:
        """A new number; beyond the limit the smallest is forgotten, even if it is this one."""
        numbers = self.numbers
        if not numbers or number > numbers[-1]:
            numbers.append(number)
            self.positions.append(position)
        else:
            at = bisect_left(numbers, number, self.start)
            numbers.insert(at, number)
            self.positions.insert(at, position)
        if len(numbers) - self.start > limit:
            self.floor = numbers[self.start]
            self.start += 1
            if self.start >= SLACK:
                del numbers[: self.start]
                del self.positions[: self.start]
                self.start = 0


class Producers:
    """The table of one group."""

    def __init__(self, numbers_max: int = NUMBERS_MAX, producers_max: int = PRODUCERS_MAX) -> None:
        self._numbers_max = numbers_max
        self._producers_max = producers_max
        self._windows: dict[str, _Window] = {}  # by name; who was accepted longest ago comes first
        self._newest = ""  # the last of them

    def __len__(self) -> int:
        return len(self._windows)

    def find(self, producer: str, number: int) -> int:
        """The position of this message, TOO_OLD or NOT_SEEN; changes nothing."""
        window = self._windows.get(producer)
        return NOT_SEEN if window is None else window.find(number)

    def largest(self, producer: str) -> int:
        """The largest number of a producer; -1: it is not known."""
        window = self._windows.get(producer)
        return -1 if window is None else window.numbers[-1]

    def take(self, producer: str, number: int, position: int) -> int:
        """The message comes in the order, where `position` is the next to be given: `position` if it is new and takes
        it, an earlier one if it is a repeat, TOO_OLD if nobody can tell."""
        window = self._windows.get(producer)
        if window is None:
            if len(self._windows) >= self._producers_max:
                del self._windows[next(iter(self._windows))]
            window = self._windows[producer] = _Window()
        else:
            found = window.find(number)
            if found != NOT_SEEN:
                return found
            if producer != self._newest:
                del self._windows[producer]
                self._windows[producer] = window
        self._newest = producer
        window.add(number, position, self._numbers_max)
        return position

    def newest(self) -> int:
        """The largest position that is kept; -1: none."""
        return max([max(window.positions) for window in self._windows.values()], default=-1)

    def forget_from(self, position: int) -> None:
        """Keep only what was accepted below this position. (What gave way to the rest does not come back.)"""
        for name in list(self._windows):
            window = self._windows[name]
            kept = [at for at in range(window.start, len(window.numbers)) if window.positions[at] < position]
            if len(kept) == len(window.numbers) - window.start:
                continue
            window.numbers = array("q", [window.numbers[at] for at in kept])
            window.positions = array("q", [window.positions[at] for at in kept])
            window.start = 0
            if not kept:
                del self._windows[name]
        self._newest = next(reversed(self._windows), "")

    def to_bytes(self) -> bytes:
        """Canonical: equal tables, equal bytes."""
        rows: list[_Row] = []
        for name, window in self._windows.items():
            numbers = window.numbers[window.start :].tolist()
            steps = [number - before for before, number in zip([window.floor, *numbers], numbers, strict=False)]
            rows.append((name, window.floor, steps, window.positions[window.start :].tolist()))
        return _encoder.encode((_FORMAT, rows))


def producers_from_bytes(data: bytes, numbers_max: int = NUMBERS_MAX, producers_max: int = PRODUCERS_MAX) -> Producers:
    """A table as `to_bytes` gave it; DecodeError for anything else."""
    try:
        version, rows = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise DecodeError(f"not a table of producers: {error}") from None
    if version != _FORMAT or len(rows) > producers_max:
        raise DecodeError(f"not a table of producers: format {version}, {len(rows)} producers")
    table = Producers(numbers_max, producers_max)
    for name, floor, steps, positions in rows:
        _check_row(name, floor, steps, positions, numbers_max)
        if name in table._windows:
            raise DecodeError("not a table of producers: a name comes twice")
        window = table._windows[name] = _Window()
        window.floor = number = floor
        for step in steps:
            number += step
            if number >= NUMBER_END:
                raise DecodeError("not a table of producers: a number is too large")
            window.numbers.append(number)
        window.positions.extend(positions)
        table._newest = name
    return table


def _check_row(name: str, floor: int, steps: list[int], positions: list[int], numbers_max: int) -> None:
    fits = 1 <= len(steps) == len(positions) <= numbers_max and -1 <= floor < NUMBER_END
    grows = all(1 <= step <= NUMBER_END for step in steps) and all(0 <= each < NUMBER_END for each in positions)
    if not (fits and grows and is_producer(name)):
        raise DecodeError("not a table of producers: numbers do not grow, or are too many")


def is_producer(name: str) -> bool:
    """Whether a producer may be called so."""
    return 1 <= len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and name.isprintable()
