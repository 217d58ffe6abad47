"""Reading a journal as it stands: its Arrow files, and behind them what the log holds that is not yet in one."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tocsin.core.errors import InputError
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.held_files import FileHolder
from tocsin.live.storage.identity import is_running, read_identity
from tocsin.live.storage.journal_checks import require_as_written
from tocsin.live.storage.journal_folder import journal_files, journal_path
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.journal_writer import (
    arrow_file,
    file_batches,
    standing_after,
    standing_at,
    standing_of,
    write_arrow,
)
from tocsin.live.storage.log_reader import LogReader
from tocsin.live.storage.site_folders import site_folders
from tocsin.traces.calm import Calm
from tocsin.traces.writer import write_batches

Hold = Callable[[Path], Path]  # keeps a file from retention; where it can be read from then on
Piece = Path | list[Any]  # an Arrow file of the journal; or rows that are in none, as record batches


def journal_batches(site_dir: Path) -> Iterator[Any]:
    """All rows of a member as record batches with the columns of a trace, oldest first."""
    for piece in journal_pieces(site_dir):
        if isinstance(piece, Path):
            with contextlib.suppress(FileNotFoundError):  # dropped by retention meanwhile: a hole in `order` says so
                yield from arrow_batches(piece)
        else:
            yield from piece


def write_trace(paths: Iterable[Path], target: Path, calm: Calm | None = None) -> int:
    """Write what these members noted as a trace, without payloads, and since when faults were over, if that is known;
    the number of its rows."""
    folders = [folder for path in paths for folder in site_folders(path)]
    return write_batches(target, (batch for folder in folders for batch in journal_batches(folder)), calm)


def journal_snapshot(site_dir: Path, scratch: Path) -> list[Path]:
    """A journal as it stands now, as files that stay and do not change, in order: its Arrow files, held in `scratch`
    (this member's alone) against retention, and beside them others for what is in none of them."""
    files: list[Path] = []
    for number, piece in enumerate(journal_pieces(site_dir, FileHolder(scratch, is_running(site_dir)).hold)):
        if isinstance(piece, Path):
            files.append(piece)
        elif piece:
            files.append(scratch / f"{number:06d}.arrow")
            write_arrow(Disk(), files[-1], Standing(), iter(piece))
    return files


def journal_pieces(site_dir: Path, hold: Hold | None = None, first: int = 0) -> Iterator[Piece]:
    """A journal from its first row to its last, or from file `first` on. Without `hold`, Arrow files are given where
    they lie, and retention may drop them before they are read.

    The member may be running, and turn a file of the log into an Arrow file at any moment, which it then writes over.
    A file leaves the log only after its Arrow file is there: so the log is listed first, and what was read of a file is
    given only if it is still there afterwards.

    Two rows are in no file. Where retention has dropped the oldest rows, the first row says so. Where the member is
    not running and its last life has no end, the last row is the crash that ended it; a member that starts again notes
    the same."""
    was_running = is_running(site_dir)
    reading = JournalReading(site_dir, hold, first)
    while True:
        logged = reading.log.files()
        yield from reading.from_files()
        rest = [file for file in logged if file > reading.done]
        for file in rest:
            batches = reading.from_log(file, logged, is_first=file == rest[0])
            if batches is None:
                break  # look again
            yield batches
        else:
            break
    if not was_running and not is_running(site_dir):
        yield reading.end()


class JournalReading:
    """How far a journal was read."""

    def __init__(self, site_dir: Path, hold: Hold | None, first: int) -> None:
        self.done = first - 1  # all files up to this one were given, or are gone
        self._disk = Disk()
        self.log = LogReader(site_dir / "wal")
        self._folder = site_dir / "journal"
        self._hold = hold
        self._identity = read_identity(site_dir)
        self._last = -1  # the last file that was given
        self._standing = Standing()  # after that
        self._maker = RowMaker(self._identity, self.log)

    def from_files(self) -> Iterator[Piece]:
        """The Arrow files that were not given yet."""
        for number, path in self._new_files():
            self.done = number
            try:
                begins, ends = standing_of(path), standing_after(path)
            except FileNotFoundError:
                continue  # dropped by retention meanwhile
            if self._last < 0 and begins.next_order > 0:
                yield self._retained(begins)
            self._last, self._standing = number, ends
            yield path

    def _new_files(self) -> list[tuple[int, Path]]:
        """The Arrow files that were not given yet, by number; held, if they can be.

        The newest is held first: retention drops from the oldest on, so where one is gone, all before it count as gone,
        and what is held has no hole."""
        found: list[tuple[int, Path]] = []
        for number in reversed([each for each in journal_files(self._folder) if each > self.done]):
            path = journal_path(self._folder, number)
            try:
                if self._hold is not None:
                    found.append((number, self._hold(path)))
                else:
                    require_as_written(self._disk, path)
                    found.append((number, path))
            except FileNotFoundError:
                break
        return found[::-1]

    def from_log(self, file: int, logged: list[int], is_first: bool) -> list[Any] | None:
        """The rows of a file of the log; None if files have come or gone meanwhile. `is_first`: of those that were
        listed, no earlier one is read."""
        maker = self._maker
        batches: list[Any] = []
        try:
            if is_first:
                standing = standing_at(self.log, file, self._last, self._standing)
                if self._last < 0 and standing.next_order > 0:
                    batches += self._retained(standing)
                maker.go_on_from(standing)
            batches += file_batches(maker, self.log, file)
        except FileNotFoundError as error:
            if self.log.files() == logged:
                raise InputError(f"{error.filename}: missing, and the log refers to it") from None
            if not self.log.has(file) and not journal_path(self._folder, file).exists():
                self.done = file  # the group's file says that no Arrow files are made: it was let go of
            self._maker = RowMaker(self._identity, self.log)
            return None
        self._last = self.done = file
        self._standing = maker.standing()
        return batches

    def again(self, file: int) -> list[Any] | None:
        """The rows so far of the file that is being written; they will be read again, with more. None as of
        `from_log`."""
        last, standing = self._last, self._standing
        self._maker = RowMaker(self._identity, self.log)
        batches = self.from_log(file, self.log.files(), is_first=True)
        if batches is not None:
            self.done, self._last, self._standing = file - 1, last, standing
        self._maker = RowMaker(self._identity, self.log)
        return batches

    def end(self) -> list[Any]:
        """The crash that ended the last life, if it has no other end."""
        maker = RowMaker(self._identity, self.log)
        maker.go_on_from(self._standing)
        if self._standing.time_us > 0:
            maker.add_crash()
        return maker.take()

    def _retained(self, begins: Standing) -> list[Any]:
        maker = RowMaker(self._identity, self.log)
        maker.go_on_from(begins)
        maker.add_retained()
        return maker.take()


def arrow_batches(path: Path) -> Iterator[Any]:
    with arrow_file(path) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)  # before anything relies on what it says
            yield batch
