"""Which members' folders a path means.

A path is a member's folder, its journal, or a folder of members. Whatever lies deeper, or has lost its identity, is
named rather than left out: a group of which some rows are missing seems to have broken its guarantees.
"""

import os
from pathlib import Path
from typing import NoReturn

from tocsin.core.errors import InputError

NAMED_MAX = 5  # folders in one line of text


def site_folders(path: Path) -> list[Path]:
    """The members' folders meant by a path, by name; there is at least one."""
    found = find_site_folders(path)
    if not found:
        raise InputError(f"{path}: expected a member's data folder or a folder of them, found no identity.json")
    return found


def find_site_folders(path: Path) -> list[Path]:
    """The members' folders meant by a path, by name; none if it is something else."""
    folder = _home_of_journal(path) or _home_of_journal(path.resolve()) or path
    if _is_site_folder(folder):
        return [folder]
    if _holds_log(folder):
        _refuse_nameless(folder)
    found = _below(folder)
    if not found:
        return []
    homes = sorted({each.parent for each in found})
    if homes != [folder]:
        named = ", ".join(map(str, homes[:NAMED_MAX])) + (", …" if len(homes) > NAMED_MAX else "")
        raise InputError(
            f"{path}: expected a member's data folder or a folder of them, found members in {named}; name that folder"
        )
    for each in sorted(folder.iterdir()):
        if not _is_site_folder(each) and ((each / "journal").is_dir() or (each / "wal").is_dir()):
            _refuse_nameless(each)
    return found


def _home_of_journal(path: Path) -> Path | None:
    """The member's folder, if a path is that of its journal. (Seen from inside, it is `.`; a link has its own name.)"""
    return path.parent if path.name == "journal" and _is_or_was_site_folder(path.parent) else None


def _below(folder: Path) -> list[Path]:
    """The members' folders anywhere below a folder, those included that have lost their identity. What is hidden or
    behind links is not searched."""
    found: list[Path] = []
    for name, below, _ in os.walk(folder, onerror=_refuse_unlisted):
        here = Path(name)
        members = [each for each in below if _is_or_was_site_folder(here / each)]
        found += [here / each for each in members]
        below[:] = [each for each in below if not each.startswith(".") and each not in members]
    return sorted(found)


def _is_site_folder(path: Path) -> bool:
    return os.path.exists(path / "identity.json")


def _is_or_was_site_folder(path: Path) -> bool:
    return _is_site_folder(path) or _holds_log(path)


def _holds_log(path: Path) -> bool:
    return any((path / "wal").glob("*.wal"))


def _refuse_nameless(folder: Path) -> NoReturn:
    raise InputError(f"{folder}: expected identity.json beside a member's journal and log, found none")


def _refuse_unlisted(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):  # what is not there is nobody's folder
        raise InputError(f"{error.filename}: cannot be read: {(error.strerror or str(error)).lower()}")
