"""How far a member's consumers have come, for people and programs: changes nothing, and the member may be running."""

from pathlib import Path
from typing import Any

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_walk import read_header
from tocsin.live.storage.holding import cursors_of
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal_columns import group_name
from tocsin.live.storage.log_format import Deliver, Rollback, Snapshot
from tocsin.live.storage.log_reader import LogReader


def consumer_places(
    site_dir: Path, ends: dict[str, int], incarnation: bytes, running: tuple[str, ...] = ()
) -> dict[str, Any]:
    """By consumer: its next position and its lag, by group. `ends`: by group, the next position of the member."""
    found: dict[str, Any] = {}
    for name, cursor in cursors_of(site_dir, Disk()).items():
        state = "running" if name in running else "waiting"
        if cursor is None:
            found[name] = {"state": "damaged", "positions": {}, "lag": {}}
        elif cursor.incarnation != incarnation:
            found[name] = {"state": "lost", "positions": cursor.positions, "lag": {}}
        else:
            positions = {group: cursor.positions.get(group, 0) for group in ends}
            lag = {group: max(end - positions[group], 0) for group, end in ends.items()}
            found[name] = {"state": state, "positions": positions, "lag": lag}
    return found


def read_consumer_places(site_dir: Path) -> dict[str, Any]:
    """The same from a folder alone."""
    disk = Disk()
    log = LogReader(site_dir / "wal", disk)
    names = tuple(read_identity(site_dir, disk).groups)
    ends: dict[int, int] = {}
    incarnation = b""
    for file in log.files()[-1:]:
        header = read_header(disk, site_dir / "wal", file)
        incarnation = b"" if header is None else header.incarnation
        for noted in log.read(file, with_frames=False):
            op = noted.op
            if isinstance(op, Snapshot):
                ends.update({group: state.position for group, state in enumerate(op.groups)})
            elif isinstance(op, Deliver):
                ends[op.group] = op.position + op.count
            elif isinstance(op, Rollback):
                ends[op.group] = op.position
    return consumer_places(site_dir, {group_name(names, group): end for group, end in ends.items()}, incarnation)
