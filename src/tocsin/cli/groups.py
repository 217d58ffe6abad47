"""`tocsin groups GROUP.toml [set|drop]`: who is in which group, and changes of that while members run."""

import argparse
import json
from pathlib import Path

from tocsin.cli.running_member import add_options, ask_member
from tocsin.cli.tables import output, print_table
from tocsin.live.group_config import read_group

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
    add_options(parser)
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
    answer = ask_member(group, arguments.site, request)
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
