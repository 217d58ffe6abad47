"""Older rows, read from the member's files: its journal, and what of its log is in no Arrow file yet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from tocsin.door.rows import first_position, last_position, streamed, without_gaps
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.journal import arrow_batches, journal_pieces
from tocsin.live.storage.journal_checks import read_check
from tocsin.live.storage.journal_folder import journal_files
from tocsin.live.storage.log_reader import LogReader


class History:
    """Of one member."""

    def __init__(self, folder: Path, groups: tuple[str, ...]) -> None:
        self._folder = folder
        self._journal = folder / "journal"
        self._groups = groups
        self._log = LogReader(folder / "wal")
        self._disk = Disk()

    def first(self, group: str) -> int | None:
        """The oldest position that is kept; None: there is none in the files."""
        for rows in self.read(group, 0):
            return first_position(rows)
        return None

    def read(self, group: str, position: int) -> Iterator[Any]:
        """The rows of a group from a position on, or from the oldest that is kept, as they are now."""
        for piece in journal_pieces(self._folder, None, self._file_of(group, position)):
            batches = piece if isinstance(piece, list) else self._of_file(piece)
            for batch in batches:
                rows = streamed(batch)
                if len(self._groups) > 1:
                    rows = rows.filter(pc.equal(rows.column("group"), group))
                for part in without_gaps(rows):
                    if last_position(part) >= position:
                        yield part.slice(max(position - first_position(part), 0))

    def _of_file(self, path: Path) -> Iterator[Any]:
        try:
            yield from arrow_batches(path)
        except FileNotFoundError:
            return  # dropped by retention meanwhile: the next position is a later one, which says so

    def _file_of(self, group: str, position: int) -> int:
        """The file in which a position is, or an earlier one."""
        number = self._groups.index(group)
        logged = self._log.files()  # first: a file leaves the log only when its Arrow file is there
        files = sorted({*logged, *journal_files(self._journal, self._disk)})
        for file in reversed(files):
            begins = self._begins(file, group, number)
            if begins is not None and begins <= position:
                return file
        return files[0] if files else 0

    def _begins(self, file: int, group: str, number: int) -> int | None:
        """The position of a file's first message of a group, or of the next; None: unknown."""
        check = read_check(self._disk, self._journal, file)
        if check is not None and check.begins is not None:
            return check.begins.get(group, 0)
        try:
            found = self._log.snapshot(file)
        except FileNotFoundError:
            return None
        if found is None or number >= len(found[1].groups):
            return None
        return found[1].groups[number].position
