"""Where a group's messages stand at a frame of its order: what a member must know that begins there.

Members log frames, and a newcomer is told from which frame on it takes part. Which position the next message has, which
numbers of producers were accepted, and what there is of large messages that end later: that is in the frames before,
and every member that has them makes the same of them. It is read from the log: a file begins with how things stood, and
its deliveries say what they brought.
"""

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.core.cursors import Cursors, cursors_from_bytes
from tocsin.core.errors import DecodeError
from tocsin.core.producers import Producers, producers_from_bytes
from tocsin.live.errors import UNDECODABLE
from tocsin.live.frame_format import is_piece_of
from tocsin.live.packing import Unpacker
from tocsin.live.storage.earlier_frames import EarlierFrames
from tocsin.live.storage.log_format import Deliver, Missed, Snapshot
from tocsin.live.storage.log_reader import LogReader
from tocsin.live.storage.producer_tables import take_runs

PIECES_BYTES_MAX: Final = 256 << 20  # of unfinished large messages; with more of them, a newcomer has to do without

_Count = Annotated[int, Meta(ge=0, lt=1 << 60)]


class Base(msgspec.Struct, frozen=True, array_like=True):
    """Of one group, before one frame of its order."""

    position: _Count  # of the next message
    table: bytes  # of producers
    pieces: tuple[tuple[_Count, bytes], ...]  # of large messages that are not whole yet: origin and frame, oldest first
    cursors: bytes = b""  # of consumers at doors


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Base)


def encode_base(base: Base) -> bytes:
    return _encoder.encode(base)


def decode_base(data: bytes, sites: int) -> Base:
    """DecodeError for what is none: it comes from another member, and is checked like everything from outside."""
    try:
        base = _decoder.decode(data)
    except UNDECODABLE as error:
        raise DecodeError(f"not a base: {error}") from None
    producers_from_bytes(base.table)
    if base.cursors:
        cursors_from_bytes(base.cursors)
    if any(origin >= sites for origin, _ in base.pieces):
        raise DecodeError("not a base: a piece of nobody")
    return base


def base_at(folder: Path, group: int, frame: int) -> Base | None:
    """Before this frame of a group, by the log in a folder; None if the log does not have it: it begins later, ends
    earlier, or has missed something of the order itself. FileNotFoundError if files left the log meanwhile."""
    log = LogReader(folder)
    files = log.files()
    candidates = [file for file in files if _begins(log, file, group) <= frame]
    for file in reversed(candidates):
        reading = _Reading(log, group, frame)
        for number in files[files.index(file) :]:
            if reading.read(number):
                break
        else:
            return None
        # A snapshot's table stands behind the batch that the snapshot is in. If the frame lies in that batch, the file
        # before is exact; without one, what came later is taken out: at the bounds of the table a number may then be
        # too old here that others still answer. Nobody delivers it.
        if file != candidates[0] and reading.is_beyond():
            continue
        return reading.base()
    return None


def end_frame(folder: Path, group: int) -> int:
    """Of the next frame of a group, as far as the log in a folder has come. FileNotFoundError as of `base_at`."""
    log = LogReader(folder)
    begun = [file for file in log.files() if log.snapshot(file) is not None]
    reading = _Reading(log, group, 1 << 62)
    for file in begun[-1:]:
        reading.read(file)
    return reading.end


def _begins(log: LogReader, file: int, group: int) -> int:
    """The first frame of a group that a file may have."""
    found = log.snapshot(file)
    if found is None:
        return 1 << 62
    return found[1].groups[group].end if group < len(found[1].groups) else 0


class _Reading:
    """From the beginning of a file to the frame."""

    def __init__(self, log: LogReader, group: int, frame: int) -> None:
        self._log = log
        self._group = group
        self._frame = frame
        self._earlier = EarlierFrames(log)
        self._table = Producers()
        self._cursors = Cursors()
        self._is_whole = True
        self._begun = False
        self._position = 0
        self.end = 0  # position of the next frame
        self._handed: tuple[tuple[int, bytes], ...] = ()
        self._unfinished: dict[int, int] = {}  # origin -> frame position where its unfinished message begins

    def read(self, file: int) -> bool:
        """Whether the frame was reached in this file."""
        for noted in self._log.read(file, with_frames=False):
            op = noted.op
            if self._begun and self.end >= self._frame:
                return self.end == self._frame
            self._earlier.note(noted)
            if isinstance(op, Snapshot) and not self._begun:
                self._begin(op)
            elif isinstance(op, Deliver) and op.group == self._group:
                self._deliver(op)
            elif isinstance(op, Missed) and op.group == self._group:
                self._miss(op)
        return self._begun and self.end == self._frame

    def _begin(self, op: Snapshot) -> None:
        self._begun = True
        self._is_whole = op.is_whole
        if self._group < len(op.tables):
            self._table = producers_from_bytes(op.tables[self._group])
        if self._group < len(op.cursors):
            self._cursors = cursors_from_bytes(op.cursors[self._group])
        if self._group < len(op.groups):
            state = op.groups[self._group]
            self.end, self._position, self._handed = state.end, state.position, state.handed
            self._unfinished = dict(state.unfinished)

    def _deliver(self, op: Deliver) -> None:
        take_runs(
            self._table, self._cursors, op
        )  # of the snapshot's own batch the table has them: taking again changes nothing
        if op.is_open:
            self._unfinished.setdefault(op.origin, self.end)
        elif op.origin in self._unfinished:
            del self._unfinished[op.origin]
            self._handed = tuple([each for each in self._handed if each[0] != op.origin])
        self.end += 1
        self._position = op.position + op.count

    def _miss(self, op: Missed) -> None:
        if op.position < 0:
            self._is_whole = False
            return
        self._table = producers_from_bytes(op.table)
        self._cursors = cursors_from_bytes(op.cursors) if op.cursors else Cursors()
        self.end, self._position, self._handed = op.first + op.count, op.position, op.pieces
        self._unfinished = {origin: self.end for origin, _ in op.pieces}
        self._is_whole = True

    def is_beyond(self) -> bool:
        return self._table.newest() >= self._position

    def base(self) -> Base | None:
        if not self._is_whole:
            return None
        self._table.forget_from(self._position)
        pieces: list[tuple[int, bytes]] = []
        for origin, begins in sorted(self._unfinished.items()):
            frames = [frame for of, frame in self._handed if of == origin]
            frames += self._earlier.read(self._group, origin, begins)
            pieces += [(origin, frame) for frame in open_pieces(origin, frames)]
        if sum([len(frame) for _, frame in pieces]) > PIECES_BYTES_MAX:
            return None
        return Base(self._position, self._table.to_bytes(), tuple(pieces), self._cursors.to_bytes())


def open_pieces(origin: int, frames: list[bytes]) -> list[bytes]:
    """Of an origin's frames those that belong to messages which are not whole with them."""
    unpacker = Unpacker()
    for frame in frames:
        unpacker.feed(origin, frame)
    numbers = unpacker.open_numbers(origin)
    return [frame for frame in frames if any(is_piece_of(frame, number) for number in numbers)]
