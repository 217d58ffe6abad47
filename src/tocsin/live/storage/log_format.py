"""The log's format: files of batches; a batch is one or more whole steps of the machine, and is atomic.

A batch is a head (magic, lengths, checksum), a list of operations (msgpack) and, behind it, their contents (the
payloads of deliveries, the records of the protocol) one after the other. The checksum starts from the file's number, so
that a batch of another file is never taken for one of this file (files are written over again when their content is no
longer needed: that spares the system new pages). A batch whose head or checksum is wrong ends the log: that is the tail
that a crash has torn, and it is cut.

The first operation of every file is a `Snapshot`: with it, older files are needed only for what they hold of
deliveries.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from tocsin.core.errors import InputError

HEAD: Final = struct.Struct("!4sIIQ")  # magic, length of operations, length of contents, checksum
MAGIC: Final = b"tWA3"  # the last character is the format's version
_LENGTHS: Final = struct.Struct("!II")


class Deliver(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A frame was delivered. Its bytes are in the contents; or, if the protocol had them written before as part of a
    record, where they are."""

    group: int
    origin: int
    frame: int  # its number, as the protocol numbers it
    size: int
    position: int  # of the first message that ends in it, in the group's sequence of messages here
    count: int  # messages that end in it
    number: int  # of the first of them, as its origin numbers messages
    is_open: bool  # whether a large message of the origin is unfinished after it
    file: int = -1  # the file that holds the bytes already; -1: they are in the contents
    offset: int = 0  # in that file


class Rollback(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """The group's newest frame was taken back."""

    group: int
    origin: int
    frame: int
    position: int
    count: int
    number: int
    begins: int  # frame position where an unfinished message of the origin begins after this; -1: there is none


class Missed(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    group: int
    origin: int
    first: int
    count: int


class View(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    view: int
    members: tuple[int, ...]
    primary: bool


class Persist(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """A record of the protocol; its bytes are in the contents."""

    size: int


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, tag=6, gc=False):
    """All earlier records are replaced by these, whose bytes are in the contents."""

    sizes: tuple[int, ...]


class Broadcast(msgspec.Struct, frozen=True, array_like=True, tag=7, gc=False):
    """This member broadcast a frame: `count` messages from `number` on end in it."""

    group: int
    frame: int
    number: int
    count: int


class Start(msgspec.Struct, frozen=True, array_like=True, tag=8, gc=False):
    life: int  # 0 for the first


class Stop(msgspec.Struct, frozen=True, array_like=True, tag=9, gc=False):
    """The member was closed; a log that ends otherwise ended by a crash."""

    left: bool  # in order: it owes nobody anything and nobody owes it


class Receive(msgspec.Struct, frozen=True, array_like=True, tag=10, gc=False):
    """Messages have arrived, in a message of the protocol; noted only where asked for."""

    origin: int
    number: int  # of the first
    count: int


class GroupState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    end: int  # next frame position
    position: int  # next message position
    unfinished: tuple[tuple[int, int], ...]  # (origin, frame position where its unfinished large message begins)


class Snapshot(msgspec.Struct, frozen=True, array_like=True, tag=11, gc=False):
    """Everything but deliveries, as it stands at the start of a file; the records' bytes are in the contents."""

    life: int
    next_number: int
    view: View | None
    groups: tuple[GroupState, ...]
    sizes: tuple[int, ...]
    recycled: bool  # the file was another one before: what follows its last batch is old, not torn


Op = Deliver | Rollback | Missed | View | Persist | Checkpoint | Broadcast | Start | Stop | Receive | Snapshot


class Operations(msgspec.Struct, frozen=True, array_like=True, gc=False):
    time_us: int  # wall clock of the first step
    ops: list[Op]


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Operations)


def encode_batch(file: int, time_us: int, ops: list[Op], contents: list[bytes]) -> tuple[bytes, int]:
    """Head and operations as one piece, to be followed by the contents; and where the contents begin in the batch."""
    meta = _encoder.encode(Operations(time_us, ops))
    length = sum(map(len, contents))
    check = xxhash.xxh3_64(_LENGTHS.pack(len(meta), length), file)
    check.update(meta)
    for content in contents:
        check.update(content)
    return HEAD.pack(MAGIC, len(meta), length, check.intdigest()) + meta, HEAD.size + len(meta)


class BatchRead:
    """One batch as found in a file."""

    __slots__ = ("contents_at", "end", "operations")

    def __init__(self, operations: Operations, contents_at: int, end: int) -> None:
        self.operations = operations
        self.contents_at = contents_at  # offset in the file
        self.end = end  # offset in the file after the batch


def read_batches(data: memoryview, file: int) -> Iterator[BatchRead]:
    """The batches of a file, up to its end or to the first that is not whole."""
    at = 0
    while at + HEAD.size <= len(data):
        magic, meta_length, length, check = HEAD.unpack_from(data, at)
        contents_at = at + HEAD.size + meta_length
        end = contents_at + length
        if magic != MAGIC or end > len(data):
            return
        found = xxhash.xxh3_64(_LENGTHS.pack(meta_length, length), file)
        found.update(data[at + HEAD.size : end])
        if found.intdigest() != check:
            return
        try:
            operations = _decoder.decode(data[at + HEAD.size : contents_at])
        except msgspec.MsgspecError:
            return
        yield BatchRead(operations, contents_at, end)
        at = end


def content_sizes(op: Op) -> tuple[int, ...]:
    """The lengths of an operation's contents."""
    if isinstance(op, Deliver):
        return (op.size,) if op.file < 0 else ()
    if isinstance(op, Persist):
        return (op.size,)
    if isinstance(op, (Checkpoint, Snapshot)):
        return op.sizes
    return ()


def log_path(folder: Path, file: int) -> Path:
    return folder / f"{file:010d}.wal"


def check_version(path: Path, data: memoryview) -> None:
    """A log of another version is refused: it is whole, and must not be taken for one that a crash has torn."""
    found = bytes(data[: len(MAGIC)])
    if found[:-1] == MAGIC[:-1] and found[-1:].isdigit() and found != MAGIC:
        raise InputError(
            f"{path}: expected a log of version {MAGIC[-1:].decode()}, found {found[-1:].decode()} (2: Tocsin 0.1.0); "
            f"finish it with the Tocsin that wrote it, whose `tocsin journal DIR --trace OUT.parquet` makes a trace, "
            f"or use another data_dir"
        )


def log_files_in(folder: Path) -> list[int]:
    """The numbers of the log's files, oldest first."""
    return sorted(int(path.stem) for path in folder.glob("*.wal") if path.stem.isdigit())


class MappedFile:
    """A file mapped for reading; closing is explicit, so that a folder can be removed at once."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
        self.view = memoryview(self._map) if self._map is not None else memoryview(b"")

    def let_go(self) -> None:
        """Do not count what was read as this process's memory any longer; it is read again if need be."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        self.view.release()
        if self._map is not None:
            self._map.close()


class CopiedFile:
    """A file read whole, for readers beside a running member: it may cut the file, and what was mapped behind the cut
    could not be touched any more."""

    def __init__(self, path: Path) -> None:
        self.view = memoryview(path.read_bytes())

    def let_go(self) -> None:
        """Nothing can be read again."""

    def close(self) -> None:
        self.view.release()
