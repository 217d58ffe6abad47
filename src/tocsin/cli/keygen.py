"""`tocsin keygen FILE`: make a group's key, or change it in steps without stopping anybody; `--door`: certificate and
key of its doors."""

import argparse
import os
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
for doors, docs/door.md:
  tocsin keygen door --door            door.pem and door.key, self-signed; prints the fingerprint that clients give
  tocsin keygen door --door --host h1 --host 10.0.0.1   also good for clients that check names
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE")
    step = parser.add_mutually_exclusive_group()
    step.add_argument("--add", action="store_true", help="add a new key at the end: it opens, and does not seal yet")
    step.add_argument("--promote", action="store_true", help="let the newest key seal")
    step.add_argument("--drop", action="store_true", help="keep only the key that seals")
    step.add_argument("--door", action="store_true", help="make FILE.pem and FILE.key, a self-signed pair for doors")
    parser.add_argument("--host", action="append", default=[], metavar="NAME", help="a host that the certificate names")


def run(arguments: argparse.Namespace) -> int:
    path: Path | None = arguments.file
    if arguments.host and not arguments.door:
        raise InputError("--host: expected --door beside it")
    if arguments.door:
        return _make_pair(path or Path("door"), arguments.host)
    if path is None:
        raise InputError("expected FILE, the key file")
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


def _make_pair(path: Path, hosts: list[str]) -> int:
    from tocsin.door.certificates import fingerprint, new_pair

    base = path.with_suffix("") if path.suffix in (".pem", ".key") else path
    cert_path, key_path = base.with_name(base.name + ".pem"), base.with_name(base.name + ".key")
    for each in (cert_path, key_path):
        if each.exists():
            raise InputError(f"{each}: exists already; nothing was touched")
    cert, key = new_pair(["localhost", "127.0.0.1", "::1", *hosts])
    try:
        for target, content, mode in ((key_path, key, 0o600), (cert_path, cert, 0o644)):
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
    except OSError as error:
        raise InputError(f"{error.filename or target}: {(error.strerror or str(error)).lower()}") from None
    print(fingerprint(cert))
    print(
        f"{cert_path} and {key_path}: copy both to every member with a door; clients give the fingerprint",
        file=sys.stderr,
    )
    return 0
