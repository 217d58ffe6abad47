"""A journal while it grows: what a running member notes can be read as soon as it is in its log."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_walk import FileWalk
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal import JournalReading, arrow_batches


def followed_batches(site_dir: Path, wait: Callable[[], None]) -> Iterator[Any]:
    """All rows of a member as record batches, oldest first, and without end: `wait` is called when there is nothing
    new. It goes on over restarts; where the member begins anew, with the rows of its new incarnation."""
    while True:
        incarnation = read_identity(site_dir).incarnation
        following = _Following(site_dir)
        while read_identity(site_dir).incarnation == incarnation:
            yield from following.news()
            wait()


class _Following:
    def __init__(self, site_dir: Path) -> None:
        self._wal = site_dir / "wal"
        self._disk = Disk()
        self._reading = JournalReading(site_dir, None, 0)
        self._next_order = 0  # all rows before were given
        self._end = (-1, 0, 0)  # of the log when it was read last: file, offset and checksum

    def news(self) -> Iterator[Any]:
        """What was added since."""
        reading = self._reading
        logged = reading.log.files()
        if not logged or (logged[-1] == self._end[0] and not self._goes_on()):
            return
        for piece in reading.from_files():
            yield from self._new(arrow_batches(piece) if isinstance(piece, Path) else iter(piece))
        rest = [file for file in logged if file > reading.done]
        for file in rest:
            if file == logged[-1]:
                end = self._end_of(file)
                batches = reading.again(file)
                if batches is not None and end is not None:
                    self._end = end
            else:
                batches = reading.from_log(file, logged, is_first=file == rest[0])
            if batches is None:
                return  # files have come and gone meanwhile: look again
            yield from self._new(iter(batches))

    def _new(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Without the rows that were given before."""
        for batch in batches:
            first = batch.column("order")[0].as_py()
            given = min(max(self._next_order - first, 0), batch.num_rows)
            if given < batch.num_rows:
                self._next_order = first + batch.num_rows
                yield batch.slice(given)

    def _end_of(self, file: int) -> tuple[int, int, int] | None:
        try:
            walk = FileWalk(self._disk, self._wal, file)
        except FileNotFoundError:
            return None
        try:
            if walk.header is None:
                return None
            for _ in walk.batches():
                pass
            return file, walk.end, walk.check
        finally:
            walk.close()

    def _goes_on(self) -> bool:
        """Whether more was written to the newest file."""
        file, end, check = self._end
        try:
            walk = FileWalk(self._disk, self._wal, file)
        except FileNotFoundError:
            return True
        try:
            walk.end, walk.check = end, check
            return walk.header is not None and next(walk.batches(), None) is not None
        finally:
            walk.close()
