"""Reading a journal: its Arrow files, and behind them what the write-ahead log holds that is not yet in one."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.live.storage.archive import journal_files, journal_path
from tocsin.live.storage.arrow_files import feed_file, prime
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal_format import RowMaker
from tocsin.live.storage.log_format import CopiedFile, log_files_in, log_path


def journal_batches(site_dir: Path) -> Iterator[Any]:
    """All of a journal as record batches, oldest first.

    The member may be running, and turn a file of the log into an Arrow file at any moment, which it then writes over.
    A file leaves the log only after its Arrow file is there: so the log is listed first, and what was read of a file is
    given only if it is still there afterwards."""
    identity = read_identity(site_dir)
    folder, wal = site_dir / "journal", site_dir / "wal"
    done = -1  # all files up to this one were given
    while True:
        logged = log_files_in(wal)
        for number in journal_files(folder):
            if number > done:
                with contextlib.suppress(FileNotFoundError):  # dropped by retention meanwhile
                    yield from _arrow_batches(journal_path(folder, number))
                done = number
        rest = [file for file in logged if file > done]
        maker = RowMaker(identity.sites, tuple(identity.groups), identity.sites.index(identity.site))
        for file in rest:
            try:
                if file == rest[0]:
                    prime(maker, wal, file, CopiedFile)
                batches = list(feed_file(maker, wal, file, CopiedFile))
            except FileNotFoundError as error:
                if log_files_in(wal) == logged:
                    raise InputError(f"{error.filename}: missing, and the log refers to it") from None
                if not log_path(wal, file).exists() and not journal_path(folder, file).exists():
                    done = file  # the group's file says that no Arrow files are made: it was let go of
                break  # look again
            yield from batches
            done = file
        else:
            return


def _arrow_batches(path: Path) -> Iterator[Any]:
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def journal_is_whole(site_dir: Path) -> bool:
    """Whether the journal goes back to the member's first start: retention has dropped nothing."""
    files = journal_files(site_dir / "journal")
    return files[0] == 0 if files else log_files_in(site_dir / "wal")[:1] == [0]
