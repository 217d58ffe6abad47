"""From a member's folder to a backup file, while it runs or not."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.backups.backup_file import FORMAT, ROWS, STATE, About, BackupWriter, Span, table_name
from tocsin.core.errors import InputError
from tocsin.live.errors import NotSupported
from tocsin.live.group_config import Group
from tocsin.live.storage.bases import Base, base_at, end_frame
from tocsin.live.storage.journal import journal_batches
from tocsin.state.snapshot_files import SnapshotFiles
from tocsin.traces.rows import DELIVER

TRIES_MAX: Final = 5  # files of a running member may come and go while they are read


def write_backup(group: Group, target: Path, site: str | None = None) -> About:
    """A group's order and state, as the member here has it that has come the furthest (or this one)."""
    if not group.protocol.has_common_order():
        raise NotSupported(
            f"backup: {group.protocol.name} has no order that is common and never taken back; see counter_token"
        )
    if target.exists():
        raise InputError(f"{target}: exists already; nothing was touched")
    sources = _sources(group, site)
    about = About(FORMAT, group.name, group.protocol.name, "", time.time_ns() // 1000, {}, None, {})
    part = target.with_name(target.name + ".part")
    try:
        with open(part, "xb") as file:
            about = _write(BackupWriter(file), group, sources, about)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, target)
    except FileExistsError:
        raise InputError(f"{part}: exists already: another backup is being written, or was not finished") from None
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    finally:
        if not target.exists():
            part.unlink(missing_ok=True)
    return about


def _sources(group: Group, site: str | None) -> dict[str, tuple[Path, Base]]:
    """By group: the folder of the member that has come the furthest, and where its messages stand."""
    names = group.sites if site is None else (group.sites[group.site(site)],)
    found: dict[str, tuple[Path, Base]] = {}
    for name in names:
        folder = group.data_dir / name
        if not (folder / "wal").is_dir():
            continue
        for number, label in enumerate(group.group_names):
            if group.site(name) not in group.groups[number]:
                continue
            base = _base(folder / "wal", number)
            if base is not None and (label not in found or found[label][1].position < base.position):
                found[label] = (folder, base)
    missing = [label for label in group.group_names if label not in found]
    if missing:
        raise InputError(
            f"{group.data_dir}: expected the folder of a member that knows the whole order of "
            f"{', '.join(f'`{label}`' for label in missing)}, found none; run it where such a member has its data"
        )
    return found


def _base(wal: Path, group: int) -> Base | None:
    for _ in range(TRIES_MAX):
        try:
            return base_at(wal, group, end_frame(wal, group))
        except FileNotFoundError:
            time.sleep(0.05)  # the member runs, and has let go of a file
    raise InputError(f"{wal}: its files come and go too quickly; try again")


def _write(writer: BackupWriter, group: Group, sources: dict[str, tuple[Path, Base]], about: About) -> About:
    spans: dict[str, Span] = {}
    writer.add_order(_order(sources, spans))
    for label, (_, base) in sources.items():
        writer.add(table_name(label), base.table)
    first = group.group_names[0]
    folder, _ = sources[first]
    image = SnapshotFiles(folder).newest(spans[first].end)
    if image is not None and image.position >= spans[first].first:
        writer.add(STATE, image.data)
    else:
        image = None
    state = None if image is None else image.position
    about = About(about.format, about.group, about.protocol, folder.name, about.made_us, spans, state, {})
    writer.finish(about)
    return about


def _order(sources: dict[str, tuple[Path, Base]], spans: dict[str, Span]) -> Iterator[Any]:
    """The rows, group by group; by group, where they begin and end. What was missed in between cuts off what is before:
    an order is whole, or begins later."""
    for label, (folder, base) in sources.items():
        first = _first(folder, label, base.position)
        following = first
        for batch in _rows(folder, label):
            wanted = batch.filter(
                pc.and_(
                    pc.greater_equal(batch.column("position"), following),
                    pc.less(batch.column("position"), base.position),
                )
            )
            if wanted.num_rows == 0:
                continue
            if wanted.column("position")[0].as_py() != following:
                raise InputError(f"{folder}: position {following} of `{label}` left the journal meanwhile; try again")
            following += wanted.num_rows
            yield wanted
        if following != base.position:
            raise InputError(f"{folder}: expected `{label}` up to {base.position}, found it up to {following}")
        spans[label] = Span(first, base.position)


def _first(folder: Path, label: str, end: int) -> int:
    """From where on the journal has every position."""
    first = following = end
    for batch in _rows(folder, label):
        if batch.num_rows == 0:
            continue
        begins = batch.column("position")[0].as_py()
        if begins != following or first == end:
            first = begins
        following = batch.column("position")[-1].as_py() + 1
    return min(first, end)


def _rows(folder: Path, label: str) -> Iterator[Any]:
    for batch in journal_batches(folder):
        is_wanted = pc.and_(pc.equal(batch.column("event"), DELIVER), pc.equal(batch.column("group"), label))
        rows = batch.filter(pc.fill_null(is_wanted, False))
        columns = [
            rows.column(field.name) if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type)
            for field in ROWS
        ]
        yield from _unbroken(
            pa.RecordBatch.from_arrays([each.cast(ROWS.field(i).type) for i, each in enumerate(columns)], schema=ROWS)
        )


def _unbroken(batch: Any) -> Iterator[Any]:
    """Cut where a position is not the one after the one before."""
    positions = batch.column("position").to_numpy()
    start = 0
    for at in range(1, len(positions)):
        if positions[at] != positions[at - 1] + 1:
            yield batch.slice(start, at - start)
            start = at
    yield batch.slice(start)
