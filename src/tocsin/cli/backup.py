"""`tocsin backup GROUP.toml OUT`: a group's order and state into one file."""

import argparse
import sys
from pathlib import Path

import msgspec

from tocsin.backups.writing import write_backup
from tocsin.live.group_config import read_group

EXAMPLES = """\
examples:
  tocsin backup orders/group.toml orders.backup          of the member on this machine that has come the furthest
  tocsin backup orders/group.toml orders.backup --as a   of this one

Members may be running. docs/operations.md says what is in it; `tocsin restore` makes a new group of it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("out", type=Path, metavar="OUT", help="the file to make")
    parser.add_argument("--as", dest="site", metavar="NAME", help="the member whose folder is read")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    about = write_backup(read_group(arguments.group), arguments.out, arguments.site)
    if arguments.json:
        groups = {name: {"first": span.first, "end": span.end} for name, span in about.groups.items()}
        told = {"file": str(arguments.out), "group": about.group, "groups": groups, "state": about.state}
        print(msgspec.json.encode(told).decode())
        return 0
    for name, span in about.groups.items():
        print(f"{name}: positions {span.first} up to {span.end}", file=sys.stderr)
    state = "no replicated state" if about.state is None else f"replicated state as of position {about.state}"
    print(f"{arguments.out}: {state}", file=sys.stderr)
    return 0
