"""Asking a running member of this machine: the options for it, and whom to ask."""

import argparse
from pathlib import Path
from typing import Any

from tocsin.core.errors import EnvironmentMissing
from tocsin.live.group_config import Group
from tocsin.live.operations.status_server import ask


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="site", metavar="MEMBER", help="ask this member (default: the first that runs here)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def ask_member(group: Group, site: str | None, request: dict[str, object]) -> dict[str, Any]:
    """The answer of the member that is named, or of the first that runs on this machine. Who was added while the group
    ran is in no file, and has a folder beside the others."""
    folders = [group.site_dir(number) for number in range(len(group.sites))]
    if group.data_dir.is_dir():
        folders += sorted(each for each in group.data_dir.iterdir() if each.is_dir() and each not in folders)
    if site is not None:
        return ask(_folder_of(group, site, folders), request)
    for folder in folders:
        try:
            return ask(folder, request)
        except EnvironmentMissing:
            continue
    raise EnvironmentMissing(f"{group.name}: no member runs on this machine; start one, or say where with --as")


def _folder_of(group: Group, site: str, folders: list[Path]) -> Path:
    for folder in folders:
        if folder.name == site:
            return folder
    return group.site_dir(group.site(site))  # which says what it expects
