"""`tocsin groups GROUP.toml [set|drop]`: who is in which group, and changes of that while members run."""

import argparse
import json
from pathlib import Path

from tocsin.cli.tables import output, print_table
from tocsin.core.errors import EnvironmentMissing
from tocsin.live.group_config import Group, read_group
from tocsin.live.operations.status_server import ask

EXAMPLES = """\
examples:
  tocsin groups orders.toml                  the groups as they were last decided
  tocsin groups orders.toml set east a,b     `east` has the members a and b from now on
  tocsin groups orders.toml drop east        nobody is in `east` any more
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("change", nargs="?", choices=("set", "drop"), help="what to change; without it, only look")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the group to change")
    parser.add_argument("members", nargs="*", metavar="MEMBER", help="with set: who is in it from now on")
    parser.add_argument(
        "--as", dest="site", metavar="MEMBER", help="ask this member (default: the first that runs here)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    group = read_group(arguments.group)
    request: dict[str, object] = {"ask": "groups"}
    if arguments.change is not None:
        if arguments.name is None or bool(arguments.members) != (arguments.change == "set"):
            arguments.parser.error("expected set NAME MEMBER..., or drop NAME")
        members = [member for words in arguments.members for member in words.split(",") if member]
        for member in members:
            group.site(member)
        request |= {"group": arguments.name, "members": members}
    answer = _ask(group, arguments.site, request)
    decided: dict[str, list[str]] = answer["groups"]
    written = {
        name: [group.sites[site] for site in sites] for name, sites in zip(group.group_names, group.groups, strict=True)
    }
    if arguments.json:
        print(json.dumps({"groups": decided, "file": written, "asked": arguments.change is not None}))
        return 0
    console = output()
    rows = []
    for name, members in decided.items():
        differs = "" if written.get(name) == members else "the file says: " + " ".join(written.get(name, ["nothing"]))
        rows.append((name, " ".join(members) or "nobody", differs))
    print_table(console, ("group", "members", ""), rows)
    if arguments.change is not None:
        console.print("asked for; it comes about when a majority of the sites is up, and the groups above are then old")
    return 0


def _ask(group: Group, site: str | None, request: dict[str, object]) -> dict[str, dict[str, list[str]]]:
    """Of the member that is named, or of the first that runs on this machine."""
    if site is not None:
        return ask(group.site_dir(group.site(site)), request)
    for number in range(len(group.sites)):
        try:
            return ask(group.site_dir(number), request)
        except EnvironmentMissing:
            continue
    raise EnvironmentMissing(f"{group.name}: no member runs on this machine; start one, or say where with --as")
