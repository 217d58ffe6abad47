"""A file that nobody ever sees a part of: it is put together beside its place, hidden, and renamed when it is whole."""

import fcntl
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Final

PART_SUFFIX: Final = ".part"


class WholeFile:
    """A hidden file that takes its name when it is whole. It is locked while its writer lives."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> IO[bytes]:
        descriptor, self._temporary = tempfile.mkstemp(PART_SUFFIX, _part_prefix(self._path), self._path.parent)
        os.fchmod(descriptor, 0o666 & ~_umask())
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._file = os.fdopen(descriptor, "wb")
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                os.replace(self._temporary, self._path)
        finally:
            self._file.close()
            if os.path.exists(self._temporary):
                os.unlink(self._temporary)


def _part_prefix(path: Path) -> str:
    return f".{path.name}."


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def remove_leftovers(path: Path) -> None:
    """Remove the parts of writers of this file that were killed: nobody holds their locks."""
    for entry in os.scandir(path.parent):
        if not (entry.name.startswith(_part_prefix(path)) and entry.name.endswith(PART_SUFFIX)):
            continue
        with open(entry.path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            os.unlink(entry.path)
