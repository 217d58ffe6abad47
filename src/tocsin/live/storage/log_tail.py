"""The end of a member's log, read from outside while the member writes: each operation once, as soon as it is there.

It goes from batch to batch, and into the next file where that says that this one has ended. A file that has left the
log meanwhile (its rows are in an Arrow file by then) may be written over: what does not fit is told by a
FileNotFoundError, and the reader begins again.
"""

from collections.abc import Iterator
from pathlib import Path

from tocsin.live.errors import Damaged
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import log_path
from tocsin.live.storage.file_walk import FileWalk
from tocsin.live.storage.log_reader import LogReader, Noted


class LogTail:
    """Begins at the start of the newest file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._disk = Disk()
        self.reader = LogReader(folder, self._disk)
        files = self.reader.files()
        if not files:
            raise FileNotFoundError(2, "no log", str(folder))
        self._walk = FileWalk(self._disk, folder, files[-1])
        if self._walk.header is None:
            self._walk.close()
            raise self._behind(files[-1])

    def news(self) -> Iterator[Noted]:
        """What was added since."""
        while True:
            file = self._walk.file
            ended = self.reader.ended(file)  # looked at first: what a file lacks then, it will always lack
            self._walk.look_again()
            try:
                yield from self.reader.go_on(self._walk)
            except Damaged:
                raise self._behind(file) from None
            if ended < 0:
                return
            if self._walk.end != ended:
                raise self._behind(file)
            self._walk.close()
            self._walk = FileWalk(self._disk, self._folder, file + 1)
            if self._walk.header is None:
                raise self._behind(file + 1)

    def _behind(self, file: int) -> FileNotFoundError:
        return FileNotFoundError(2, "has left the log", str(log_path(self._folder, file)))

    def close(self) -> None:
        self._walk.close()
