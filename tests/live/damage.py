"""What no disk may do, and some do: each kind once, at any place of any file."""

import random
from collections.abc import Callable

from tests.live.modelled_disk import SECTOR, ModelledDisk, _File

BLOCK = 4096


def _file(disk: ModelledDisk, rng: random.Random) -> _File | None:
    files = [file for _, file in sorted(disk.names_now.items()) if file.data]
    return rng.choice(files) if files else None


def _interesting(file: _File, rng: random.Random) -> int:
    """Any offset; as often as not one where something was written."""
    used = len(bytes(file.data).rstrip(b"\0"))
    return rng.randrange(rng.choice((max(used, 1), len(file.data))))


def flip(disk: ModelledDisk, rng: random.Random) -> bool:
    file = _file(disk, rng)
    if file is None:
        return False
    file.data[_interesting(file, rng)] ^= 1 << rng.randrange(8)
    return True


def _over(disk: ModelledDisk, rng: random.Random, new: Callable[[_File, int, int], bytes]) -> bool:
    """Other bytes in the place of a sector or a block."""
    file = _file(disk, rng)
    if file is None:
        return False
    size = rng.choice((SECTOR, BLOCK))
    at = _interesting(file, rng) // size * size
    before = bytes(file.data[at : at + size])
    file.data[at : at + len(before)] = new(file, at, len(before))[: len(before)].ljust(len(before), b"\0")
    return bytes(file.data[at : at + size]) != before


def lose_block(disk: ModelledDisk, rng: random.Random) -> bool:
    return _over(disk, rng, lambda file, at, size: bytes(size))


def scramble_block(disk: ModelledDisk, rng: random.Random) -> bool:
    return _over(disk, rng, lambda file, at, size: rng.randbytes(size))


def misplace_block(disk: ModelledDisk, rng: random.Random) -> bool:
    other = _file(disk, rng)
    if other is None:
        return False
    start = _interesting(other, rng) // SECTOR * SECTOR
    return _over(disk, rng, lambda file, at, size: bytes(other.data[start : start + size]))


def older_block(disk: ModelledDisk, rng: random.Random) -> bool:
    return _over(disk, rng, lambda file, at, size: (file.copy or b"")[at : at + size])


def lose_file(disk: ModelledDisk, rng: random.Random) -> bool:
    if not disk.names_now:
        return False
    del disk.names_now[rng.choice(sorted(disk.names_now))]
    return True


def cut_file(disk: ModelledDisk, rng: random.Random) -> bool:
    file = _file(disk, rng)
    if file is None:
        return False
    del file.data[_interesting(file, rng) :]
    return True


def lengthen_file(disk: ModelledDisk, rng: random.Random) -> bool:
    file, other = _file(disk, rng), _file(disk, rng)
    if file is None or other is None:
        return False
    file.data += rng.choice((bytes(5000), rng.randbytes(5000), bytes(other.data)))
    return True


def cannot_read(disk: ModelledDisk, rng: random.Random) -> bool:
    file = _file(disk, rng)
    if file is None:
        return False
    file.unreadable.add(_interesting(file, rng) // SECTOR)
    return True


KINDS = (
    flip,
    lose_block,
    scramble_block,
    misplace_block,
    older_block,
    lose_file,
    cut_file,
    lengthen_file,
    cannot_read,
)
