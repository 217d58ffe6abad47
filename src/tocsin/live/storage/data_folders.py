"""Paths that people name for a check or an audit: traces, journals, and data folders of live groups alike."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tocsin.live.storage.identity import is_site_folder, site_folders
from tocsin.live.storage.journal import journal_snapshot


@contextlib.contextmanager
def opened(paths: Iterable[str], scratch: Path | None = None) -> Iterator[list[str]]:
    """The same paths, with the files of their journals, as they stand now, in place of data folders.

    What a journal's files do not hold yet is written to a folder below `scratch` (by default a temporary one), which is
    gone afterwards: members may be running, and whoever checks reads more than once."""
    found: list[str] = []
    with contextlib.ExitStack() as stack:
        for path in paths:
            folders = _members(path)
            if not folders:
                found.append(path)
            for folder in folders:
                below = stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-journal-", dir=scratch))
                found += map(str, journal_snapshot(folder, Path(below)))
        yield found


def is_data_folder(path: str) -> bool:
    """Whether a path is a member's folder, its journal, or a folder of members."""
    return bool(_members(path))


def _members(path: str) -> list[Path]:
    """The folders of the members meant by a path; none if it is something else."""
    if "://" in path:
        return []
    folder = Path(path)
    if folder.name == "journal" and is_site_folder(folder.parent):
        return [folder.parent]
    if is_site_folder(folder) or any(is_site_folder(below) for below in folder.glob("*")):
        return site_folders(folder)
    return []
