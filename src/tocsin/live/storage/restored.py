"""Of which backup a member's folder was made, if of one: `restored.json`, with where the group's messages stand at
frame 0 of its order. Members of one group must agree in it; whoever begins anew there begins with it."""

from pathlib import Path
from typing import Final

import msgspec

from tocsin.core.errors import InputError
from tocsin.live.errors import UNDECODABLE
from tocsin.live.storage.disk import Disk, disk_error
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Missed

NAME: Final = "restored.json"


class Restored(msgspec.Struct, frozen=True):
    backup: str  # its digest
    groups: dict[str, tuple[int, bytes]]  # by name: the position of the next message, and the table of producers


def write_restored(site_dir: Path, restored: Restored, disk: Disk) -> None:
    disk.write_whole(site_dir / NAME, msgspec.json.encode(restored) + b"\n")


def read_restored(site_dir: Path) -> Restored | None:
    """None: no backup was put into the folder."""
    disk = Disk()
    path = site_dir / NAME
    if NAME not in disk.names(site_dir):
        return None
    try:
        return msgspec.json.decode(disk.read_whole(path), type=Restored)
    except OSError as error:
        raise InputError(disk_error(path, error)) from None
    except UNDECODABLE as error:
        raise InputError(f"{path}: {error}; `tocsin restore … --as {site_dir.name}` makes it anew") from None


def restored_setting(site_dir: Path) -> dict[str, object]:
    """As members tell one another when they meet."""
    restored = read_restored(site_dir)
    return {} if restored is None else {"restored": restored.backup}


def stage_beginning(log: Log, restored: Restored, names: tuple[str, ...]) -> None:
    """In an empty log: the group's messages go on where those of the backup ended."""
    for number, name in enumerate(names):
        if name in restored.groups:
            end, table = restored.groups[name]
            log.producers.replace(number, table)
            log.stage(Missed(number, -1, 0, 0, 0, end, table))
