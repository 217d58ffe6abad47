"""`tocsin status GROUP.toml --as NAME`: ask a running member how it is; change its injected faults or its keys."""

import argparse
import json
from pathlib import Path
from typing import Any

from tocsin.cli.event_lines import consumer_line
from tocsin.cli.tables import output, print_table
from tocsin.live.group_config import read_group
from tocsin.live.operations.status_server import ask

EXAMPLES = """\
examples:
  tocsin status orders.toml --as a                             a table
  tocsin status orders.toml --as a --json                      everything, for scripts
  tocsin status orders.toml --as a --inject loss=0.2,cut=b+c   make its network bad
  tocsin status orders.toml --as a --inject ""                 and good again
  tocsin status orders.toml --as a --rekey                     read the key file again
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("--as", dest="site", required=True, metavar="NAME", help="the member to ask (on this machine)")
    parser.add_argument("--inject", metavar="FAULTS", help="change the injected faults; an empty text heals everything")
    parser.add_argument("--rekey", action="store_true", help="let the member read its key file again")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    group = read_group(arguments.group)
    folder = group.site_dir(group.site(arguments.site))
    if arguments.inject is not None:
        ask(folder, {"ask": "inject", "faults": arguments.inject})
    if arguments.rekey:
        ask(folder, {"ask": "rekey"})
    status = ask(folder, {"ask": "status"})
    if arguments.json:
        print(json.dumps(status))
    else:
        _print(status)
    return 0


def _print(status: dict[str, Any]) -> None:
    """A line for each part of a member; what is zero or empty is left out."""
    console = output()
    console.print(f"{status['site']} of {status['group']} ({status['protocol']})")
    view = status["view"]
    if view is None:
        rows = [("view", "none yet")]
    else:
        kind = "primary" if view["primary"] else "not primary"
        rows = [("view", f"{view['view']}: {' '.join(view['members'])} ({kind})")]
    for part in ("queues", "totals", "drops", "injected", "socket", "journal", "process"):
        shown = {name: value for name, value in status[part].items() if value not in (0, "", None, {})}
        if shown:
            rows.append((part, "  ".join(f"{name} {value}" for name, value in shown.items())))
    if status.get("state") is not None:
        rows.append(("state", "  ".join(f"{name} {value}" for name, value in status["state"].items())))
    for name, told in status["consumers"].items():
        rows.append(("consumer", consumer_line(name, told)))
    if status["failed"]:
        rows.append(("failed", status["failed"]))
    print_table(console, ["part", "now"], rows, prose=1)
