"""Violations planted in the journals of stopped members."""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.journal import arrow_batches
from tocsin.live.storage.journal_checks import check_path, read_check
from tocsin.live.storage.journal_folder import journal_files, journal_path
from tocsin.live.storage.journal_writer import standing_of, write_arrow
from tocsin.traces.rows import DELIVER


def rewrite(site_dir: Path, number: int, change: Any) -> None:
    """Change the rows of a file of the journal, as if the member had noted them so."""
    folder = site_dir / "journal"
    path = journal_path(folder, number)
    rows = pa.Table.from_batches(list(arrow_batches(path))).combine_chunks()
    changed = change(rows)
    standing, check = standing_of(path), read_check(Disk(), folder, number)
    assert check is not None
    path.unlink()
    written = write_arrow(Disk(), path, standing, iter(changed.to_batches()), check.ran_us)
    written = msgspec.structs.replace(written, begins=check.begins, ends=check.ends)
    check_path(folder, number).write_bytes(msgspec.json.encode(written))


def swap_deliveries(site_dir: Path) -> None:
    """Two messages of other origins that follow one another, delivered the other way round."""

    def change(rows: Any, at: tuple[int, int]) -> Any:
        places = np.arange(rows.num_rows)
        places[list(at)] = at[::-1]
        moved = rows.take(pa.array(places))
        for name in ("order", "position"):
            moved = moved.set_column(moved.schema.get_field_index(name), rows.schema.field(name), rows.column(name))
        return moved

    folder = site_dir / "journal"
    for number in journal_files(folder):
        rows = pa.Table.from_batches(list(arrow_batches(journal_path(folder, number))))
        delivered = np.flatnonzero(rows.column("event").to_numpy(zero_copy_only=False) == DELIVER)
        origins = rows.column("origin").to_numpy(zero_copy_only=False)[delivered]
        both = np.flatnonzero((origins[1:] != origins[:-1]) & (origins[1:] != site_dir.name))
        if len(both):
            at = int(both[len(both) // 2])
            pair = (int(delivered[at]), int(delivered[at + 1]))
            rewrite(site_dir, number, partial(change, at=pair))
            return
    raise AssertionError("one origin only")


def drop_delivery(site_dir: Path) -> None:
    """A message that one member never delivered: another row stands in its place."""

    def change(rows: Any) -> Any:
        delivered = np.flatnonzero(rows.column("event").to_numpy(zero_copy_only=False) == DELIVER)
        at = int(delivered[len(delivered) // 2])
        events = rows.column("event").to_pylist()
        events[at] = "send"
        place = rows.schema.get_field_index("event")
        return rows.set_column(place, rows.schema.field(place), pa.array(events, pa.string()))

    rewrite(site_dir, journal_files(site_dir / "journal")[0], change)
