"""`tocsin init DIR`: a group to start with: its file and its key, and what to type next."""

import argparse
import shlex
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.live.group_config import read_group
from tocsin.live.wire.keys import new_key, write_keys

EXAMPLES = """\
examples:
  tocsin init orders                          orders/group.toml and orders/group.key for three members on this machine
  tocsin init orders --sites a,b,c,d,e        five
  tocsin init orders --sites a=10.0.0.1:7401,b=10.0.0.2:7401,c=10.0.0.3:7401   each on its own machine
"""
FIRST_PORT = 7401


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--sites", default="a,b,c", metavar="a,b,c", help="names of the members, each with =HOST:PORT if it has one"
    )


def run(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    sites = _sites(arguments.sites)
    path, key = folder / "group.toml", folder / "group.key"
    for each in (path, key):
        if each.exists():
            raise InputError(f"{each}: exists already; nothing was touched")
    text = _group_text(folder.resolve().name, sites)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    try:
        read_group(path)  # names and addresses are checked as `join` would
        write_keys(key, [new_key()], replace=False)
    except InputError:
        path.unlink()
        raise
    print(_next_steps(path, key, sites))
    return 0


def _sites(text: str) -> dict[str, str]:
    sites: dict[str, str] = {}
    for number, word in enumerate(text.split(",")):
        name, _, address = word.strip().partition("=")
        if not name or name in sites:
            raise InputError(f"--sites: expected different names, as in a,b,c, found `{text}`")
        sites[name] = address or f"127.0.0.1:{FIRST_PORT + number}"
    return sites


def _group_text(name: str, sites: dict[str, str]) -> str:
    lines = [f"{_quoted(site)} = {_quoted(address)}" for site, address in sites.items()]
    head = [f"name = {_quoted(name[:64] or 'group')}", 'protocol = "counter_token"', 'key_file = "group.key"']
    return "\n".join([*head, 'data_dir = "data"', "[sites]", *lines]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _next_steps(path: Path, key: Path, sites: dict[str, str]) -> str:
    elsewhere = any(not address.startswith("127.") for address in sites.values())
    where = "on their machines" if elsewhere else f"in {len(sites)} terminals"
    lines = [f"{path} and {key} are made."]
    if elsewhere:
        lines.append("Copy both to every member's machine, the key by a safe way.")
    lines += [f"Now type, {where}:"]
    lines += [f"  tocsin join {shlex.quote(str(path))} --as {shlex.quote(name)}" for name in sites]
    lines.append("What is typed in one comes out of all, in one order, as soon as all have been there once.")
    return "\n".join(lines)
