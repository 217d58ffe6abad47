"""What consumers still need of a journal, file by file: retention leaves it alone, and a replay begins there."""

from pathlib import Path
from typing import Final

import msgspec

from tocsin.core.errors import InputError
from tocsin.live.storage.cursors import Cursor, CursorFile, consumers
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.journal_checks import read_check

_EVERYTHING: Final = 1 << 62  # positions are below


class Place(msgspec.Struct, frozen=True):
    """From where on somebody needs what a member has heard."""

    positions: dict[str, int]  # by group: of the next message; 0 where there is none
    anchors: frozenset[str] = frozenset()  # the groups whose message before it comes before everything that is needed
    others: int = 0  # events besides deliveries behind the last of these that are not needed, either


def place_of(cursor: Cursor) -> Place:
    return Place(cursor.positions, frozenset((cursor.anchor,)) - {""}, cursor.others)


def places_of_cursors(cursors: dict[int, dict[str, int]], names: tuple[str, ...]) -> list[Place]:
    """What consumers at doors need: by group and consumer, the position that it wants next."""
    places: list[Place] = []
    for group, wanted in cursors.items():
        if group < len(names) and wanted:
            positions = {**dict.fromkeys(names, _EVERYTHING), names[group]: min(wanted.values())}
            places.append(Place(positions, frozenset((names[group],))))
    return places


def is_behind(ends: dict[str, int] | None, place: Place) -> bool:
    """Whether a file that ends at these positions has nothing that is needed; the last message before the place is: it
    says where what is needed begins. None: nobody knows where the file ends."""
    if ends is None or any(end > place.positions.get(group, 0) for group, end in ends.items()):
        return False
    return bool(place.anchors) and all(ends.get(group, 0) < place.positions.get(group, 0) for group in place.anchors)


def first_needed(folder: Path, files: list[int], place: Place, disk: Disk) -> int:
    """The first of a journal's files that is needed; the one after the last, if none is."""
    first = files[-1] + 1 if files else 0
    for file in reversed(files):
        check = read_check(disk, folder, file)
        if check is not None and is_behind(check.ends, place):
            break
        first = file
    return first


def cursors_of(site_dir: Path, disk: Disk) -> dict[str, Cursor | None]:
    """By consumer; None where its file is damaged, and nobody knows what it needs."""
    found: dict[str, Cursor | None] = {}
    for name in consumers(site_dir, disk):
        try:
            cursor = CursorFile(site_dir, name, disk).load()
        except InputError:
            found[name] = None
        else:
            if cursor is not None:  # else it was forgotten meanwhile
                found[name] = cursor
    return found


def held_places(site_dir: Path, incarnation: bytes, durable: dict[str, Cursor], disk: Disk) -> list[Place]:
    """What a member's consumers need. `durable`: of those that run now, what is on the disk for sure. A consumer of an
    earlier incarnation is lost, and needs nothing of this one."""
    places: list[Place] = []
    for cursor in (cursors_of(site_dir, disk) | durable).values():
        if cursor is None:
            places.append(Place({}))
        elif cursor.incarnation == incarnation:
            places.append(place_of(cursor))
    return places
