"""`tocsin restore OUT GROUP.toml`: a new group with the order and the state of a backup."""

import argparse
import contextlib
import sys
from pathlib import Path

import msgspec

from tocsin.backups.backup_file import Backup
from tocsin.backups.restoring import restore_group
from tocsin.live.group_config import read_group

EXAMPLES = """\
examples:
  tocsin restore orders.backup new/group.toml            the folders of all members, on this machine
  tocsin restore orders.backup new/group.toml --as a     of one: on the machine where it will run

Nothing is overwritten. Every member's folder must be made so before the first start, and again if its disk is lost.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("backup", type=Path, metavar="OUT", help="what `tocsin backup` has made")
    parser.add_argument("group", type=Path, metavar="GROUP.toml", help="of the new group")
    parser.add_argument("--as", dest="site", metavar="NAME", help="only this member's folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    group = read_group(arguments.group)
    with contextlib.closing(Backup(arguments.backup)) as backup:
        names = restore_group(backup, group, arguments.site)
        spans = backup.about.groups
    if arguments.json:
        groups = {name: {"first": span.first, "end": span.end} for name, span in spans.items()}
        print(msgspec.json.encode({"sites": names, "groups": groups, "state": backup.about.state}).decode())
        return 0
    for name in names:
        print(f"{group.data_dir / name}: made", file=sys.stderr)
    for label, span in spans.items():
        print(f"{label}: goes on at position {span.end}", file=sys.stderr)
    return 0
