"""`tocsin doctor GROUP.toml [--as NAME]`: what would stop this member, and the cure."""

import argparse
import json
from pathlib import Path

import msgspec

from tocsin import __version__
from tocsin._sources import WHY_INTERPRETED
from tocsin.cli.tables import Cell, output, print_table
from tocsin.live.group_config import read_group
from tocsin.live.operations.doctor import Finding, examine, here

EXAMPLES = """\
examples:
  tocsin doctor orders.toml             for the first site that has an address of this machine
  tocsin doctor orders.toml --as b      for b; members that run answer probes
exit code: 0 nothing wrong was found, 1 something would not work
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("group", type=Path, metavar="GROUP.toml")
    parser.add_argument("--as", dest="site", metavar="NAME", help="the site that lives here (found by its address)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    group = read_group(arguments.group)
    site = here(group) if arguments.site is None else group.site(arguments.site)
    findings = [_build(), *examine(group, site)]
    healthy = all(finding.ok for finding in findings)
    if arguments.json:
        print(json.dumps({"ok": healthy, "findings": [msgspec.to_builtins(finding) for finding in findings]}))
    else:
        _print(findings)
    return 0 if healthy else 1


def _build() -> Finding:
    if WHY_INTERPRETED is None:
        return Finding("build", True, f"tocsin {__version__}, compiled")
    return Finding("build", True, f"tocsin {__version__}, interpreted (slower): {WHY_INTERPRETED}")


def _print(findings: list[Finding]) -> None:
    rows: list[list[str | Cell]] = [
        [finding.check, Cell("ok") if finding.ok else Cell("BAD", "bold red"), finding.found, finding.cure]
        for finding in findings
    ]
    print_table(output(), ["check", "", "found", "cure"], rows, prose=1)
