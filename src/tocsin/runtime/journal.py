"""Reading a journal: its Arrow files, and behind them what the write-ahead log holds that is not yet in one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.runtime.archive import journal_files, journal_path
from tocsin.runtime.arrow_files import feed_segment, prime
from tocsin.runtime.identity import read_identity
from tocsin.runtime.journal_format import RowMaker
from tocsin.runtime.wal_format import segments_in


def journal_batches(site_dir: Path) -> Iterator[Any]:
    """All of a journal as record batches, oldest first."""
    identity = read_identity(site_dir)
    folder = site_dir / "journal"
    archived = -1
    for number in journal_files(folder):
        archived = number
        with pa.memory_map(str(journal_path(folder, number))) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
    wal = site_dir / "wal"
    rest = [segment for segment in segments_in(wal) if segment > archived]
    maker = RowMaker(identity.sites, tuple(identity.groups), identity.sites.index(identity.site))
    if rest:
        prime(maker, wal, rest[0])
    for segment in rest:
        yield from feed_segment(maker, wal, segment)


def journal_is_whole(site_dir: Path) -> bool:
    """Whether the journal goes back to the member's first start: retention has dropped nothing."""
    files = journal_files(site_dir / "journal")
    return files[0] == 0 if files else segments_in(site_dir / "wal")[:1] == [0]
