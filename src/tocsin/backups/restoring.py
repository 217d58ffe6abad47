"""From a backup file to the folders of a new group, whose order goes on behind the old one's.

A folder gets the old order as the first file of its journal, the replicated state, and a log that has never seen a
start and says where the group's messages stand: at the end of the old order, with the table of producers, at frame 0 of
the new one. The members then found a group as always, all founders together. A file `restored.json` says of which
backup a folder is: members of different ones, and members with and without, would count differently, and are kept
apart when they meet.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.backups.backup_file import Backup
from tocsin.core.errors import InputError
from tocsin.live.errors import NotSupported
from tocsin.live.group_config import Group
from tocsin.live.opening import identity_of
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import is_running, write_identity
from tocsin.live.storage.journal_checks import check_path
from tocsin.live.storage.journal_folder import journal_path
from tocsin.live.storage.journal_rows import Standing
from tocsin.live.storage.journal_writer import write_arrow
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Broadcast
from tocsin.live.storage.restored import Restored, stage_beginning, write_restored
from tocsin.state.snapshot_files import SnapshotFiles
from tocsin.traces.rows import DELIVER, RETAINED
from tocsin.traces.schema import JOURNAL

_OLD_FILE: Final = 0  # of the journal: the old order


def restore_group(backup: Backup, group: Group, site: str | None = None) -> list[str]:
    """Make the folders of all sites, or of one; their names. Nothing is touched that is there."""
    if not group.protocol.has_common_order():
        raise NotSupported(
            f"restore: {group.protocol.name} has no order that is common and never taken back; see counter_token"
        )
    if set(backup.about.groups) != set(group.group_names):
        expected = ", ".join(backup.about.groups)
        raise InputError(
            f"restore: expected the groups of the backup ({expected}), found {', '.join(group.group_names)}"
        )
    names = list(group.sites if site is None else (group.sites[group.site(site)],))
    for name in names:
        _check_free(group.data_dir / name)
    numbers = _numbers(backup)
    for name in names:
        folder = group.data_dir / name
        try:
            _make(backup, group, name, folder, numbers.get(name, -1))
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return names


def _check_free(folder: Path) -> None:
    """A member that was started and never had a life has left nothing that counts."""
    kept = [*folder.glob("wal/*.wal"), *folder.glob("journal/*.arrow"), *folder.glob("snapshots/*")]
    if kept or is_running(folder):
        raise InputError(f"{folder}: expected no such folder, or one of a member that never lived; nothing was touched")


def _numbers(backup: Backup) -> dict[str, int]:
    """By origin: the highest number that it has given to a message."""
    found: dict[str, int] = {}
    for batch in backup.batches():
        if batch.num_rows:
            table = pa.Table.from_batches([batch]).group_by("origin").aggregate([("seqno", "max")])
            for row in table.to_pylist():
                found[row["origin"]] = max(found.get(row["origin"], -1), row["seqno_max"])
    return found


def _make(backup: Backup, group: Group, name: str, folder: Path, last_number: int) -> None:
    disk = Disk()
    disk.make_folder(folder)
    mine = [
        label for label, members in zip(group.group_names, group.groups, strict=True) if group.site(name) in members
    ]
    restored = Restored(
        backup.digest(), {label: (backup.about.groups[label].end, backup.tables[label]) for label in mine}
    )
    _make_log(restored, group, folder, last_number)
    _make_journal(backup, group, name, folder, mine)
    if backup.state is not None:
        SnapshotFiles(folder).write(backup.state)
    write_identity(folder, identity_of(group, group.sites.index(name), 0), disk)
    write_restored(folder, restored, disk)


def _make_log(restored: Restored, group: Group, folder: Path, last_number: int) -> None:
    log = Log(folder / "wal", len(group.groups), group.journal.segment_bytes)
    try:
        stage_beginning(log, restored, group.group_names)
        if last_number >= 0:
            log.stage(Broadcast(0, 0, last_number, 1))  # the numbers of this site's messages go on
        for _ in range(2):  # the first file becomes the old order's; the log goes on in the second
            laid = log.layout()
            log.write(laid)
            log.sync()
            log.apply(laid)
            log.close_file()
    finally:
        log.close()


def _make_journal(backup: Backup, group: Group, name: str, folder: Path, mine: list[str]) -> None:
    disk = Disk()
    journal = folder / "journal"
    disk.make_folder(journal)
    path = journal_path(journal, _OLD_FILE)
    check = write_arrow(disk, path, Standing(), _rows(backup, group.name, name, mine))
    spans = {label: backup.about.groups[label] for label in mine}
    check = msgspec.structs.replace(
        check,
        begins={label: span.first for label, span in spans.items()},
        ends={label: span.end for label, span in spans.items()},
    )
    disk.write_whole(check_path(journal, _OLD_FILE), msgspec.json.encode(check))
    disk.sync_folder(journal)


def _rows(backup: Backup, run: str, site: str, mine: list[str]) -> Iterator[Any]:
    """As a journal has them; what the old members noted besides is not there, and the first row says so."""
    began = {"run": run, "site": site, "order": 0, "time_us": backup.about.made_us, "event": RETAINED}
    order = 1
    first = True
    for batch in backup.batches():
        rows = batch.filter(pc.is_in(batch.column("group"), pa.array(mine, pa.string())))
        if rows.num_rows == 0:
            continue
        if first:
            began["time_us"] = rows.column("time_us")[0].as_py()
            yield pa.RecordBatch.from_pylist([began], JOURNAL)
            first = False
        columns = {
            "run": pa.repeat(run, rows.num_rows),
            "site": pa.repeat(site, rows.num_rows),
            "order": pa.array(range(order, order + rows.num_rows), pa.int64()),
            "event": pa.repeat(DELIVER, rows.num_rows),
            "size": pc.binary_length(rows.column("payload")).cast(pa.int32()),
            **{field: rows.column(field) for field in rows.schema.names},
        }
        order += rows.num_rows
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(rows.num_rows, field.type) for field in JOURNAL
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=JOURNAL)
    if first:
        yield pa.RecordBatch.from_pylist([began], JOURNAL)
