"""The marks file: what of the log was synced, in a second place.

Slots of a block each, in memory that is mapped: a mark costs no call, and survives kill -9. Under load it reaches the
disk when the system likes (the next batch says the same); it is synced where a file of the log begins, where files are
let go of, where a member rests, and where it stops. The slot that was synced last is not written to before another one
is synced: so there is always one that neither a torn write nor a power loss can take away.
"""

import struct
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from tocsin.live.storage.disk import Disk, Mapped
from tocsin.live.storage.file_format import BLOCK, ID_BYTES
from tocsin.live.storage.log_format import Place

NAME: Final = "marks"
MAGIC: Final = b"tMK4"
_SLOT: Final = struct.Struct("!4sQ16s16sQQQQQ16sB")
_CHECK: Final = struct.Struct("!Q")
_SLOTS: Final = 4  # the one that was synced, one that is being synced, and two to be written in turn
_CLOSED: Final = 1  # the member stopped, and everything was synced
_SYNCS: Final = 2  # durability = "disk"
_ENDS: Final = 4  # nothing was written behind the mark
_IN_DOUBT: Final = 8  # what was written in an earlier life may be missing, and nobody has settled that yet

NOBODY: Final = bytes(ID_BYTES)


class Mark(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a member knew of its log when it synced last."""

    group_id: bytes = NOBODY
    incarnation: bytes = NOBODY
    first: int = 0  # the oldest file of the log; older ones were let go of
    begun: int = 0  # of the files below this number the headers were written
    file: int = 0  # everything from the beginning of `first` up to `offset` of this file was synced
    offset: int = 0
    check: int = 0  # of the batch that ends there
    boot: bytes = NOBODY  # since which start of the machine writes are in its memory; NOBODY: it must not be trusted
    syncs: bool = True
    closed: bool = False
    ends: bool = False
    in_doubt: bool = False

    @property
    def place(self) -> Place:
        return self.file, self.offset


def encode_mark(number: int, mark: Mark) -> bytes:
    flags = (_CLOSED if mark.closed else 0) | (_SYNCS if mark.syncs else 0)
    flags |= (_ENDS if mark.ends else 0) | (_IN_DOUBT if mark.in_doubt else 0)
    plain = _SLOT.pack(
        MAGIC,
        number,
        mark.group_id,
        mark.incarnation,
        mark.first,
        mark.begun,
        mark.file,
        mark.offset,
        mark.check,
        mark.boot,
        flags,
    )
    return plain + _CHECK.pack(xxhash.xxh3_64_intdigest(plain))


def decode_mark(data: bytes) -> tuple[int, Mark] | None:
    if len(data) < _SLOT.size + _CHECK.size or data[: len(MAGIC)] != MAGIC:
        return None
    if xxhash.xxh3_64_intdigest(data[: _SLOT.size]) != _CHECK.unpack_from(data, _SLOT.size)[0]:
        return None
    _, number, group_id, incarnation, first, begun, file, offset, check, boot, flags = _SLOT.unpack_from(data)
    mark = Mark(
        group_id=group_id,
        incarnation=incarnation,
        first=first,
        begun=begun,
        file=file,
        offset=offset,
        check=check,
        boot=boot,
        syncs=bool(flags & _SYNCS),
        closed=bool(flags & _CLOSED),
        ends=bool(flags & _ENDS),
        in_doubt=bool(flags & _IN_DOUBT),
    )
    return number, mark


def read_marks(disk: Disk, folder: Path) -> tuple[int, Mark] | None:
    """The newest mark and its number; None if there is none that is intact."""
    try:
        descriptor = disk.open_to_read(folder / NAME)
    except FileNotFoundError:
        return None
    try:
        slots: list[bytes] = []
        for at in range(_SLOTS):
            try:
                slots.append(disk.read(descriptor, BLOCK, at * BLOCK))
            except OSError:
                continue  # that one cannot be read
    finally:
        disk.close(descriptor)
    found = [each for each in map(decode_mark, slots) if each is not None]
    return max(found, key=lambda each: each[0], default=None)


def are_short(disk: Disk, folder: Path) -> bool:
    """Whether slots are missing: the file has its size before a log is begun, so the newest marks may be lost."""
    try:
        descriptor = disk.open_to_read(folder / NAME)
    except FileNotFoundError:
        return False
    try:
        return disk.size(descriptor) < _SLOTS * BLOCK
    finally:
        disk.close(descriptor)


class Marks:
    """Opened by the log's only writer, after everything was read."""

    def __init__(self, disk: Disk, folder: Path, number: int) -> None:
        self._disk = disk
        self._number = number  # of the last mark that was put
        self._slot = 0  # where it is
        self._kept = {-1}  # slots that are not to be written to: synced last, or being synced
        path = folder / NAME
        is_new = NAME not in disk.names(folder)
        self._descriptor = disk.open(path, create=True)
        disk.allocate(self._descriptor, 0, _SLOTS * BLOCK)
        self._map: Mapped = disk.map(self._descriptor, _SLOTS * BLOCK)
        if is_new:
            disk.sync_folder(folder)

    def put(self, mark: Mark) -> None:
        """In the kernel's hands when this returns."""
        self._number += 1
        slot = (self._slot + 1) % _SLOTS
        while slot in self._kept:
            slot = (slot + 1) % _SLOTS
        self._map.put(slot * BLOCK, encode_mark(self._number, mark))
        self._slot = slot

    def sync(self) -> None:
        slot = self._slot
        self._kept = self._kept | {slot}
        self._disk.sync(self._descriptor)
        self._kept = {slot}

    def close(self) -> None:
        self._map.close()
        self._disk.close(self._descriptor)
