"""`tocsin keygen FILE`: make a group's key, or change it in steps without stopping anybody."""

import argparse
import sys
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.live.wire.keys import new_key, read_keys, write_keys

EXAMPLES = """\
examples:
  tocsin keygen orders.key             a new key file, readable by its owner only; copy it to every member
changing the key of a running group, each step on all members before the next (tocsin status … --rekey reads the file):
  tocsin keygen orders.key --add       1. add a new key: it opens, the old one still seals
  tocsin keygen orders.key --promote   2. the newest key seals, the old one still opens
  tocsin keygen orders.key --drop      3. only the sealing key is kept
(step 1 makes the new key: do it once and copy the file to all)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("file", type=Path)
    step = parser.add_mutually_exclusive_group()
    step.add_argument("--add", action="store_true", help="add a new key at the end: it opens, and does not seal yet")
    step.add_argument("--promote", action="store_true", help="let the newest key seal")
    step.add_argument("--drop", action="store_true", help="keep only the key that seals")


def run(arguments: argparse.Namespace) -> int:
    path: Path = arguments.file
    if not (arguments.add or arguments.promote or arguments.drop):
        write_keys(path, [new_key()], replace=False)
        print(f"{path}: a new key; copy it to every member by a safe way", file=sys.stderr)
        return 0
    keys = read_keys(path)
    if arguments.add:
        keys = [*keys, new_key()]
    elif arguments.promote:
        if len(keys) < 2:
            raise InputError(f"{path}: expected at least two keys to promote one, found {len(keys)}")
        keys = [keys[-1], *keys[:-1]]
    else:
        keys = keys[:1]
    write_keys(path, keys, replace=True)
    print(f"{path}: {len(keys)} key(s), the first seals", file=sys.stderr)
    return 0
