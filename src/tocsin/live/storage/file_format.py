"""How the bytes of a file of the log lie: header, end slots, batches; and the marks beside the files.

A file is

    0       header: the format's version, group, incarnation, the file's number and secret, where the file before ended
    4096    end slot 0   } in turn, with every batch: up to where the file is written; in memory that is mapped, so that
    8192    end slot 1   } they cost nothing; synced by the same call as the batch
    12288   batches, one behind the other, up to where the file's next one is not intact

A **batch** is one or more whole steps of the machine, and atomic: a head, the operations (msgpack), and their contents
(payloads of deliveries, records of the protocol) one after the other. The operations hold a checksum of each content,
the head holds one of itself and the operations. So what is read back later is checked piece by piece, and if a content
is damaged, the operations still say whose it was.

**Old bytes are never taken for new ones.** A file is written over again when nobody needs its content. Each time it
gets a secret of 16 random bytes. A head begins with half of it, and its checksum covers all of it, the head's own
offset, and the checksum of the batch before (of the header, for the first). Whatever lay in the file before was written
when nobody knew the secret: also payloads that somebody chose to look like batches.

**Sync marks** say what the last sync covered. They lie in the heads of later batches, in the headers of later files,
and in a file of their own (`marks.py`). `recovery.py` says what follows from them.
"""

import struct
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from tocsin.core.errors import InputError
from tocsin.live.errors import UNDECODABLE
from tocsin.live.storage.log_format import (
    Checkpoint,
    Deliver,
    FileHeader,
    Op,
    Operations,
    Persist,
    Place,
    Snapshot,
)

MAGIC: Final = b"tWA4"  # of a file; the last character is the format's version
BLOCK: Final = 4096  # what a disk loses, it loses in such pieces: header and slots have one each
SLOTS_AT: Final = (BLOCK, 2 * BLOCK)
BATCHES_AT: Final = 3 * BLOCK
SECRET_BYTES: Final = 16
ID_BYTES: Final = 16
CHECK_BYTES: Final = 8

HEAD: Final = struct.Struct("!8sIIIQQ")  # half the secret, lengths of operations and contents, sync mark, checksum
HEAD_PLAIN: Final = HEAD.size - CHECK_BYTES  # what the checksum covers of it
_BOUND: Final = struct.Struct("!QQ")  # an offset, and the checksum of what lies before
_SLOT: Final = struct.Struct("!QQQ")  # end, checksum of the batch that ends there, checksum
SLOT_BYTES: Final = _SLOT.size
_SLOT_PLAIN: Final = struct.Struct("!QQ")
_HEADER: Final = struct.Struct("!4sI")  # magic, length
_CHECK: Final = struct.Struct("!Q")

_encoder: Final = msgspec.msgpack.Encoder()
_operations_decoder: Final = msgspec.msgpack.Decoder(Operations)
_header_decoder: Final = msgspec.msgpack.Decoder(FileHeader)


def content_check(data: bytes | memoryview) -> int:
    """The checksum of a content."""
    return xxhash.xxh3_64_intdigest(data)


# Header


def encode_header(header: FileHeader) -> tuple[bytes, int]:
    """A block, and its checksum."""
    body = _encoder.encode(header)
    plain = _HEADER.pack(MAGIC, len(body)) + body
    check = xxhash.xxh3_64_intdigest(plain)
    return (plain + _CHECK.pack(check)).ljust(BLOCK, b"\0"), check


def decode_header(path: Path, data: bytes) -> tuple[FileHeader, int] | None:
    """A header and its checksum; None if it is not intact. Another version is refused: it is whole, and must not be
    taken for damage."""
    end, check = _header_end(data)
    if data[: len(MAGIC)] != MAGIC:
        if end < 0:  # else it is of this version, and its magic is damaged
            _refuse_other_version(path, data[: len(MAGIC)])
        return None
    if end < 0:
        return None
    try:
        return _header_decoder.decode(data[_HEADER.size : end]), check
    except UNDECODABLE:
        return None


def _header_end(data: bytes) -> tuple[int, int]:
    """Where a header of this version ends, and its checksum, whatever its magic is; -1 if it is not intact."""
    if len(data) < _HEADER.size:
        return -1, 0
    end = _HEADER.size + int(_HEADER.unpack_from(data)[1])
    if end + CHECK_BYTES > min(len(data), BLOCK):
        return -1, 0
    check: int = _CHECK.unpack_from(data, end)[0]
    if xxhash.xxh3_64_intdigest(MAGIC + data[len(MAGIC) : end]) != check:
        return -1, 0
    return end, check


def _refuse_other_version(path: Path, found: bytes) -> None:
    if found[:-1] == MAGIC[:-1] and found[-1:].isdigit():
        raise InputError(
            f"{path}: expected a log of version {MAGIC[-1:].decode()}, found {found[-1:].decode()} (2: Tocsin 0.1.0), "
            f"for which there is no converter; finish it with the Tocsin that wrote it, whose "
            f"`tocsin journal DIR --trace OUT.parquet` makes a trace, or use another data_dir"
        )


# End slots


def encode_slot(secret: bytes, end: int, check: int) -> bytes:
    plain = _SLOT_PLAIN.pack(end, check)
    return plain + _CHECK.pack(xxhash.xxh3_64_intdigest(secret + plain))


def decode_slot(secret: bytes, data: memoryview) -> int:
    """Up to where the file was written, as a slot tells; 0 if it is not intact."""
    if len(data) < SLOT_BYTES:
        return 0
    end, _, check = _SLOT.unpack_from(data)
    return end if xxhash.xxh3_64_intdigest(secret + bytes(data[: _SLOT_PLAIN.size])) == check else 0


# Batches


def encode_batch(
    secret: bytes, offset: int, before: int, mark: Place, time_us: int, ops: list[Op], contents_length: int
) -> tuple[bytes, int]:
    """Head and operations as one piece, to be followed by the contents; and the batch's checksum. `before` is that of
    what lies before it."""
    operations = _encoder.encode(Operations(time_us, ops))
    plain = HEAD.pack(secret[:8], len(operations), contents_length, mark[0], mark[1], 0)[:HEAD_PLAIN]
    check = xxhash.xxh3_64_intdigest(secret + _BOUND.pack(offset, before) + plain + operations)
    return plain + _CHECK.pack(check) + operations, check


class BatchRead:
    """One batch as found in a file."""

    __slots__ = ("check", "contents_at", "end", "mark", "offset", "operations")

    def __init__(
        self, operations: Operations, offset: int, contents_at: int, end: int, check: int, mark: Place
    ) -> None:
        self.operations = operations
        self.offset = offset  # in the file, as the others
        self.contents_at = contents_at
        self.end = end
        self.check = check
        self.mark = mark


def decode_lengths(secret: bytes, data: bytes | memoryview) -> tuple[int, int]:
    """Of a head: the lengths of operations and contents; (-1, 0) if it is none of this file."""
    if len(data) < HEAD.size or bytes(data[:8]) != secret[:8]:
        return -1, 0
    _, operations, contents, _, _, _ = HEAD.unpack_from(data)
    return operations, contents


def decode_batch(secret: bytes, offset: int, before: int, data: memoryview) -> BatchRead | None:
    """Of head and operations; None if they are not intact. Contents are checked by `damaged_contents`."""
    _, length, contents, mark_file, mark_offset, check = HEAD.unpack_from(data)
    bound = b"".join((secret, _BOUND.pack(offset, before), data[:HEAD_PLAIN], data[HEAD.size : HEAD.size + length]))
    if xxhash.xxh3_64_intdigest(bound) != check:
        return None
    try:
        operations = _operations_decoder.decode(data[HEAD.size : HEAD.size + length])
    except UNDECODABLE:
        return None
    if contents != sum(size for op in operations.ops for size, _ in contents_of(op)):
        return None
    contents_at = offset + HEAD.size + length
    return BatchRead(operations, offset, contents_at, contents_at + contents, check, (mark_file, mark_offset))


def contents_of(op: Op) -> list[tuple[int, int]]:
    """The contents of an operation, in order: size and checksum."""
    if isinstance(op, Deliver):
        return [(op.size, op.check)] if op.file < 0 else []
    if isinstance(op, Persist):
        if op.carried:
            return [(op.size - op.carried, op.check), (op.carried, op.carried_check)]
        return [(op.size, op.check)]
    if isinstance(op, (Checkpoint, Snapshot)):
        return list(zip(op.sizes, op.checks, strict=True))
    return []


def damaged_contents(ops: list[Op], data: memoryview) -> list[Op]:
    """The operations whose contents are not what was written."""
    found: list[Op] = []
    at = 0
    for op in ops:
        whole = True
        for size, check in contents_of(op):
            whole = whole and xxhash.xxh3_64_intdigest(data[at : at + size]) == check
            at += size
        if not whole:
            found.append(op)
    return found


# Names


def log_path(folder: Path, file: int) -> Path:
    return folder / f"{file:010d}.wal"
