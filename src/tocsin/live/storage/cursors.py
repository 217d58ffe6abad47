"""How far named consumers have come: one small file for each, `consumers/NAME.cursor` in a member's folder.

A file has two slots. A cursor is written over the older one and synced; the newer one is not touched meanwhile. So
after any crash one of them is whole:

    slots found               what is used
    both whole                the one of the higher generation
    one whole, one not        the whole one: the other was being written and never acknowledged (or is damaged: then
                              what was acknowledged since comes again, and is never lost)
    none                      Damaged: nobody knows how far this consumer was; its file is kept, and it can be forgotten
    no file                   a new consumer: its file comes into being with its first cursor, beside and renamed

A consumer's place is in what its member hears: deliveries of several groups, views and the rest in one order. It is
told by the last delivery before it and by how many other events since; that can be found again in journal and log.
"""

import re
from pathlib import Path
from typing import Annotated, Final

import msgspec
import xxhash
from msgspec import Meta

from tocsin.core.errors import InputError
from tocsin.live.errors import UNDECODABLE, Damaged, StorageFailed
from tocsin.live.storage.disk import Disk, disk_error

SLOT_BYTES: Final = 128 << 10  # a cursor over a thousand groups fits; only what it takes is written
CONSUMERS_MAX: Final = 64  # of a member
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MAGIC: Final = b"tocsincr"
_HEAD_BYTES: Final = 8 + 4 + 8  # magic, size and checksum of what follows
_Count = Annotated[int, Meta(ge=0)]


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Everything up to here was acknowledged."""

    incarnation: bytes  # of the folder whose events were counted
    positions: dict[str, _Count]  # by group: of the next message; what is below need not be kept
    anchor: str = ""  # the group of the last delivery before; "": there was none
    others: _Count = 0  # views, rollbacks and missed that were acknowledged after it


class _Slot(msgspec.Struct, frozen=True, array_like=True):
    generation: _Count
    cursor: Cursor


_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_decoder: Final = msgspec.msgpack.Decoder(_Slot)


def check_consumer(name: str) -> None:
    """Names become files."""
    if not _NAME.fullmatch(name):
        raise InputError(f"consumer: expected 1 to 64 letters, digits, `_`, `-` or `.`, found {name!r}")


class CursorFile:
    """Of one consumer. Whoever saves does so from one thread at a time."""

    def __init__(self, site_dir: Path, name: str, disk: Disk | None = None) -> None:
        check_consumer(name)
        self.name = name
        self._folder = site_dir / "consumers"
        self._path = self._folder / f"{name}.cursor"
        self._disk = Disk() if disk is None else disk
        self._descriptor = -1
        self._slot = 0  # the next to be written: never the one that was read or written last
        self._generation = 0  # of the last

    def begin(self) -> Cursor | None:
        """The newest cursor, for its consumer, who relies on it: a life that crashed may have written and not synced
        it, so it is made durable first. None: this consumer is new."""
        cursor = self.load()
        if cursor is not None:
            self.save(cursor)
            try:
                self._disk.sync_folder(self._folder)
            except OSError as error:
                raise StorageFailed(disk_error(self._folder, error)) from None
        return cursor

    def load(self) -> Cursor | None:
        """The newest cursor, for whoever wants to know; changes nothing. None: this consumer is new."""
        try:
            descriptor = self._disk.open_to_read(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damaged(f"{disk_error(self._path, error)}; the consumer's place cannot be read") from None
        try:
            slots = [self._read(descriptor, slot) for slot in (0, 1)]
        finally:
            self._disk.close(descriptor)
        found = [(slot.generation, index, slot.cursor) for index, slot in enumerate(slots) if slot is not None]
        if not found:
            raise Damaged(
                f"{self._path}: damaged: nobody knows how far `{self.name}` was; it begins anew after "
                f"tocsin journal --forget {self.name}"
            )
        self._generation, last, cursor = max(found)
        self._slot = 1 - last
        return cursor

    def _read(self, descriptor: int, slot: int) -> _Slot | None:
        """What is in a slot, if it is whole."""
        try:
            return _slot_of(self._disk.read(descriptor, SLOT_BYTES, slot * SLOT_BYTES))
        except OSError:
            return None

    def save(self, cursor: Cursor) -> None:
        """Make a cursor durable. StorageFailed if the disk refuses: then it may or may not be there."""
        body = _encoder.encode(_Slot(self._generation + 1, cursor))
        if len(body) > SLOT_BYTES - _HEAD_BYTES:
            raise StorageFailed(f"{self._path}: a cursor of {len(body)} bytes; at most {SLOT_BYTES - _HEAD_BYTES} fit")
        data = _MAGIC + len(body).to_bytes(4, "big") + xxhash.xxh3_64_digest(body) + body
        try:
            self._put(data)
        except OSError as error:
            raise StorageFailed(disk_error(self._path, error)) from None
        self._generation += 1
        self._slot = 1 - self._slot

    def _put(self, data: bytes) -> None:
        if self._generation == 0:
            self._disk.make_folder(self._folder)
            self._disk.write_whole(self._path, data)
            return
        if self._descriptor < 0:
            self._descriptor = self._disk.open(self._path)
        self._disk.write(self._descriptor, [data], self._slot * SLOT_BYTES, len(data))
        self._disk.sync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1


def _slot_of(data: bytes) -> _Slot | None:
    size = int.from_bytes(data[8:12], "big")
    body = data[_HEAD_BYTES : _HEAD_BYTES + size]
    if data[:8] != _MAGIC or len(body) != size or xxhash.xxh3_64_digest(body) != data[12:_HEAD_BYTES]:
        return None
    try:
        return _decoder.decode(body)
    except UNDECODABLE:
        return None


def consumers(site_dir: Path, disk: Disk | None = None) -> list[str]:
    """The names of a member's consumers."""
    names = (Disk() if disk is None else disk).names(site_dir / "consumers")
    return [name.removesuffix(".cursor") for name in names if name.endswith(".cursor")]


def forget(site_dir: Path, name: str, disk: Disk | None = None) -> None:
    """This consumer holds nothing back any more; if it comes again, it is new."""
    check_consumer(name)
    disk = Disk() if disk is None else disk
    if name not in consumers(site_dir, disk):
        raise InputError(f"{site_dir}: no consumer `{name}`; there is {', '.join(consumers(site_dir, disk)) or 'none'}")
    folder = site_dir / "consumers"
    disk.remove(folder / f"{name}.cursor")
    disk.sync_folder(folder)
