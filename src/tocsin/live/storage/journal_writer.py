"""A closed file of the log to an Arrow file of the journal, which has its number and never changes.

Any Arrow reader takes the files as they are. A file's metadata says where the rows stood when it began, so that `order`
goes on from file to file, also after a restart.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.live.errors import UNDECODABLE
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal_checks import CheckedSink, FileCheck, check_path
from tocsin.live.storage.journal_columns import group_name
from tocsin.live.storage.journal_folder import journal_files, journal_path
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.log_reader import LogReader
from tocsin.traces.columns import first_line
from tocsin.traces.rows import CRASH, LEAVE
from tocsin.traces.schema import CLOCK_KEY, JOURNAL, SITE_CLOCKS

STANDING_KEY: Final = b"tocsin.standing"  # of an Arrow file: where the rows stood when it began, as JSON

FIRST_VERSION_COLUMNS: Final = frozenset(("frame", "count"))  # of the journals of 0.1.0, and of no trace


class JournalWriter:
    """Writes one file after the other; large messages may begin in one and end in the next."""

    def __init__(self, site_dir: Path, disk: Disk) -> None:
        self._disk = disk
        self._folder = site_dir / "journal"
        self._log = LogReader(site_dir / "wal", disk)
        self._identity = read_identity(site_dir, disk)
        self._maker = RowMaker(self._identity, self._log)
        self._next_file = -1  # the file before which the maker stands; -1: none

    def write(self, file: int, ran_us: int) -> None:
        """The Arrow file appears when it and its checksum are on the disk. `ran_us`: the journal's clock."""
        if file != self._next_file:
            self._begin_at(file)
        self._next_file = -1
        target = journal_path(self._folder, file)
        part = target.with_suffix(".arrow.part")
        batches = file_batches(self._maker, self._log, file)
        began = self._log.snapshot(file)
        check = write_arrow(self._disk, part, self._maker.standing(), batches, ran_us)
        if began is not None:
            begins = {self._name(group): state.position for group, state in enumerate(began[1].groups)}
            ends = {self._name(group): position for group, position in self._maker.positions().items()}
            check = msgspec.structs.replace(check, begins=begins, ends=ends)
        self._disk.write_whole(check_path(self._folder, file), msgspec.json.encode(check))
        self._disk.rename(part, target)
        self._disk.sync_folder(self._folder)
        self._next_file = file + 1

    def _name(self, group: int) -> str:
        return group_name(tuple(self._identity.groups), group)

    def _begin_at(self, file: int) -> None:
        self._maker = RowMaker(self._identity, self._log)
        files = journal_files(self._folder, self._disk)
        before = max((number for number in files if number < file), default=-1)
        standing = Standing() if before < 0 else standing_after(journal_path(self._folder, before), self._disk)
        self._maker.go_on_from(standing_at(self._log, file, before, standing))


def file_batches(maker: RowMaker, log: LogReader, file: int) -> Iterator[Any]:
    """Feed a file of the log to a row maker; record batches as they fill. FileNotFoundError as of `LogReader.read`."""
    for noted in log.read(file):
        maker.feed(noted)
        if maker.is_full():
            yield from maker.take()
    yield from maker.take()


def standing_at(log: LogReader, file: int, before: int, standing: Standing) -> Standing:
    """Where the rows stand when a file of the log begins. `before` is the last file of which the rows are known (-1:
    none is), and `standing` where they stood after it.

    If files between the two are gone, nobody knows how many rows are missing: in the middle of a journal (no Arrow
    files were made for a while) one order is left out, so that it shows; at its front, order 0 is left for the row that
    says so."""
    if before == file - 1:
        return standing
    if before >= 0:
        return msgspec.structs.replace(standing, next_order=standing.next_order + 1)
    found = log.snapshot(file)
    return Standing(1, 0 if found is None else found[0])


def standing_of(path: Path) -> Standing:
    """Where the rows stood when an Arrow file was begun."""
    with arrow_file(path) as reader:
        return _standing_in(reader, path)


def standing_after(path: Path, disk: Disk | None = None) -> Standing:
    """Where the rows stand after an Arrow file."""
    with arrow_file(path, disk) as reader:
        standing = _standing_in(reader, path)
        rows = sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))
        if rows == 0:
            return standing
        last = reader.get_batch(reader.num_record_batches - 1)
        time_us, event = (last.column(name)[-1].as_py() for name in ("time_us", "event"))
        return Standing(standing.next_order + rows, time_us, event not in (CRASH, LEAVE))


@contextlib.contextmanager
def arrow_file(path: Path, disk: Disk | None = None) -> Iterator[Any]:
    """A reader of an Arrow file. What cannot be read of it is told in one line; FileNotFoundError if it is gone."""
    try:
        content = (Disk() if disk is None else disk).map_to_read(path)
        yield pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content)))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: expected an Arrow file: {first_line(error)}") from None


def _standing_in(reader: Any, path: Path) -> Standing:
    if FIRST_VERSION_COLUMNS.issubset(reader.schema.names):
        raise InputError(
            f"{path}: expected a file of a journal, found one of Tocsin 0.1.0, which this version cannot read; "
            "`tocsin journal DIR --trace OUT.parquet` of 0.1.0 makes a trace of it"
        )
    try:
        return msgspec.json.decode((reader.schema.metadata or {})[STANDING_KEY], type=Standing)
    except (KeyError, *UNDECODABLE):
        raise InputError(f"{path}: expected a file of a journal, found no `{STANDING_KEY.decode()}` in it") from None


def write_arrow(disk: Disk, path: Path, standing: Standing, batches: Iterator[Any], ran_us: int = 0) -> FileCheck:
    """Write an Arrow file, its owner's alone, and see that it is on the disk."""
    schema = JOURNAL.with_metadata({CLOCK_KEY: SITE_CLOCKS, STANDING_KEY: msgspec.json.encode(standing)})
    sink = CheckedSink(disk, path)
    try:
        with pa.ipc.new_file(pa.PythonFile(sink, "w"), schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return sink.finish(ran_us)
    finally:
        sink.close()
