"""`tocsin members GROUP.toml [found|add|remove|move|recover]`: who votes, and changes of that while members run."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from tocsin.cli.running_member import add_options, ask_member
from tocsin.cli.tables import output, print_table
from tocsin.core.errors import TocsinError
from tocsin.live.group_config import Group, read_group

EXAMPLES = """\
examples:
  tocsin members orders.toml                          who votes, where, and what each of them does
  tocsin members orders.toml add d 10.0.0.4:7400      d may be started now; it votes when it has everything
  tocsin members orders.toml remove b                 b is no voter any more, and never comes back as the same
  tocsin members orders.toml move c 10.0.0.9:7400     c is found there from now on
  tocsin members orders.toml found a,b                the group is founded without waiting for the others
  tocsin members orders.toml recover --accept-loss    most disks are lost: those that are left go on without them
"""
WORDS: Final = {"found": 1, "add": 2, "remove": 1, "move": 2, "recover": 0}  # expected after the change
DECIDED_SECONDS: Final = 10.0  # so long is waited for a change to be decided
LOOK_SECONDS: Final = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("change", nargs="?", choices=tuple(WORDS), help="what to change; without it, only look")
    parser.add_argument("words", nargs="*", metavar="NAME ADDRESS", help="of whom; with add and move, where it is")
    parser.add_argument("--accept-loss", action="store_true", help="with recover: what the others had is given up")
    add_options(parser)
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    group = read_group(arguments.group)
    change = arguments.change or ""
    expected = WORDS.get(change, 0)
    if len(arguments.words) != expected:
        arguments.parser.error("expected found NAMES, add NAME ADDRESS, remove NAME, move NAME ADDRESS, or recover")
    if (change == "recover") != arguments.accept_loss:
        arguments.parser.error("recover gives up what those have who are not here: say --accept-loss, and only with it")
    name, address = [*arguments.words, "", ""][:2]
    answer = ask_member(group, arguments.site, {"ask": "members", "change": change, "name": name, "address": address})
    found = asked = answer["members"]
    if change:
        found = _decided(group, arguments.site, change, name, answer)["members"]
    if change == "recover":
        left = {voter["name"] for voter in found["voters"]}
        _say_loss([voter["name"] for voter in asked["voters"] if voter["name"] not in left], answer["kept"])
    if arguments.json:
        print(json.dumps(found))
    else:
        _print(found)
    return 0


def _decided(group: Group, site: str | None, change: str, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Look until it has come about."""
    deadline = time.monotonic() + DECIDED_SECONDS
    before = asked["members"]
    while True:
        answer = ask_member(group, site, {"ask": "members"})
        if _has_come_about(change, name, before, answer):
            return answer
        if time.monotonic() > deadline:
            raise TocsinError(f"members: {change} {name}: asked for, and not decided within {DECIDED_SECONDS:g} s")
        time.sleep(LOOK_SECONDS)


def _has_come_about(change: str, name: str, before: dict[str, Any], answer: dict[str, Any]) -> bool:
    now = answer["members"]
    if change == "found":
        return now["group_id"] is not None
    if change == "recover":
        return bool(now["epoch"] > before["epoch"] and now["view"] and now["view"]["primary"])
    seats: dict[str, str] = answer["seats"]
    if change == "remove":
        return name not in seats
    return answer["pending"] == [] and name in seats


def _say_loss(gone: list[str], positions: dict[str, int]) -> None:
    lost = ", ".join(gone) or "those who were away"
    kept = ", ".join(f"{group} up to position {position}" for group, position in positions.items())
    print(
        f"given up: whatever only {lost} had. Kept is what is here: {kept}, and what was on its way. Who comes back "
        f"from before begins anew.",
        file=sys.stderr,
    )


def _print(found: dict[str, Any]) -> None:
    console = output()
    view = found["view"]
    where = "no view yet" if view is None else f"view {view['view']}: {' '.join(view['members'])}"
    kind = "" if view is None or view["primary"] else " (no majority: nothing is ordered)"
    console.print(f"group {found['group_id'] or 'not founded yet'}, epoch {found['epoch']}, {where}{kind}")
    rows = []
    for voter in found["voters"]:
        position = "" if voter["position"] is None else str(voter["position"])
        disk = f"{voter['incarnation']}" + ("" if voter["life"] is None else f", start {voter['life']}")
        rows.append((voter["name"], voter["address"], voter["state"], disk, position))
    print_table(console, ("voter", "address", "state", "disk", "position"), rows)
