"""Paths that people name for a check or an audit: traces, journals, and data folders of live groups alike."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.live.storage.aside import folders_aside
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.held_files import HELD
from tocsin.live.storage.journal import journal_pieces, journal_snapshot
from tocsin.live.storage.site_folders import find_site_folders


@contextlib.contextmanager
def opened(paths: Iterable[str], scratch: Path | None = None) -> Iterator[list[str]]:
    """The same paths, with the files of their journals, as they stand now, in place of data folders.

    What a journal's files do not hold yet is written to a folder below `scratch` (by default a temporary one), which is
    gone afterwards, and its files are held there: members may be running, and whoever checks reads more than once."""
    found: list[str] = []
    homes: dict[str, str] = {}  # by a folder of held files: where the member has them
    with contextlib.ExitStack() as stack:
        for path in paths:
            folders = _members(path)
            if not folders:
                found.append(path)
            for folder in [each for home in folders for each in (*_readable_aside(home), home)]:
                below = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-journal-", dir=scratch)))
                homes[str(below / HELD)] = str(folder / "journal")
                with _told_of_members(homes):
                    found += map(str, journal_snapshot(folder, below))
        with _told_of_members(homes):
            yield found


@contextlib.contextmanager
def _told_of_members(homes: dict[str, str]) -> Iterator[None]:
    """Bad input is told by the names of the members' own files: the held ones are gone when somebody reads it."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for held, home in homes.items():
            text = text.replace(held, home)
        if text != str(error):
            raise InputError(text) from None
        raise


def _readable_aside(home: Path) -> list[Path]:
    """What earlier incarnations of a member have left, oldest first. What is damaged there is missing."""
    found: list[Path] = []
    for folder in folders_aside(home, Disk()):
        with contextlib.suppress(InputError):
            for _ in journal_pieces(folder):
                pass
            found.append(folder)
    return found


def is_data_folder(path: str) -> bool:
    """Whether a path is a member's folder, its journal, or a folder of members."""
    return bool(_members(path))


def _members(path: str) -> list[Path]:
    return [] if "://" in path else find_site_folders(Path(path))
