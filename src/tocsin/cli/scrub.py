"""`tocsin scrub DATA`: read everything that members have on disk, and name what is damaged."""

import argparse
import sys
from pathlib import Path

import msgspec

from tocsin.live.storage.scrub import ReadingDisk, Scrubbed, scrub
from tocsin.live.storage.site_folders import site_folders

EXAMPLES = """\
examples:
  tocsin scrub data              all members below data, running or not; exit 1 if anything is damaged
  tocsin scrub data/a --json     one member, as one JSON object

Nothing is changed. docs/durability.md says what to do about damage.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="DATA", help="members' data folders, or a folder of them"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    disk = ReadingDisk()
    found = Scrubbed()
    for folder in [folder for path in arguments.paths for folder in site_folders(path)]:
        one = scrub(folder, disk)
        found = Scrubbed(found.files + one.files, found.bytes + one.bytes, [*found.damaged, *one.damaged])
    if arguments.json:
        print(msgspec.json.encode(found).decode())
    else:
        for finding in found.damaged:
            print(finding.line())
        print(f"{found.files} files, {found.bytes} bytes: {len(found.damaged)} damaged", file=sys.stderr)
    return 1 if found.damaged else 0
