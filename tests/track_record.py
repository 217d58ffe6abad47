"""`python -m tests.track_record --seeds 0..1000`: every protocol's swarm, and the figures of docs/track-record.md.

The figures are those of one machine and one state of the sources; the page says which. What else stands on the page is
written by hand.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tocsin._sources import COMPILED
from tocsin.protocols.registry import REGISTRY

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "track-record.md"
HOUR_US = 3_600_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.track_record", description=__doc__)
    parser.add_argument("--seeds", default="0..1000", metavar="A..B", help="of each protocol (default 0..1000)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("protocols", nargs="*", help="default: all")
    arguments = parser.parse_args()
    names = arguments.protocols or sorted(REGISTRY)
    answers = [swarm(name, arguments.seeds, arguments.processes) for name in names]
    text = figures(answers, arguments.seeds, arguments.processes)
    if not arguments.protocols:
        PAGE.write_text(replaced(PAGE.read_text(), "figures", text))
    print(text)
    return 0


def swarm(name: str, seeds: str, processes: int) -> dict[str, Any]:
    """What `tocsin swarm` answers."""
    command = [sys.executable, "-m", "tocsin", "swarm", name, "--seeds", seeds, "--processes", str(processes)]
    print(" ".join(command[2:]), file=sys.stderr, flush=True)
    ended = subprocess.run([*command, "--keep-going", "--json"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"tocsin swarm {name}: exit code {ended.returncode}")
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def figures(answers: list[dict[str, Any]], seeds: str, processes: int) -> str:
    """Two tables: what was run, and what went wrong on purpose in it."""
    total = sum(answer["seeds"] for answer in answers)
    hours = sum(answer["simulated_us"] for answer in answers) / HOUR_US
    seconds = sum(answer["seconds"] for answer in answers)
    violations = sum(len(answer["violations"]) for answer in answers)
    way = "compiled" if COMPILED else "interpreted"
    summary = f"**{total:,} seeds, {hours:,.0f} simulated hours, {total / seconds:.1f} seeds a second"
    lines = [
        f"`python -m tests.track_record --seeds {seeds}`, {today()}, commit {commit()}, {way}, {processes} processes:",
        f"{summary}, {violations} seeds with a violation**.",
        "",
        "| protocol | seeds | simulated hours | seeds a second | seeds with a violation |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {answer['protocol']} | {answer['seeds']:,} | {answer['simulated_us'] / HOUR_US:,.1f} | "
        f"{answer['seeds'] / answer['seconds']:.1f} | {len(answer['violations'])} |"
        for answer in answers
    ]
    kinds = list(dict.fromkeys(kind for answer in answers for kind in answer["happened"]))
    happened = {kind: sum(answer["happened"].get(kind, 0) for answer in answers) for kind in kinds}
    lines += ["", "What happened in them: " + ", ".join(f"{count:,} {kind}" for kind, count in happened.items()) + "."]
    for answer in answers:
        for violation in answer["violations"][:3]:
            again = f"`tocsin swarm {answer['protocol']} --seeds {violation['seed']}`"
            lines.append(f"- {answer['protocol']}: {violation['violated']} ({again})")
    return "\n".join(lines) + "\n"


def replaced(page: str, part: str, text: str) -> str:
    """A page in which the lines between `<!-- PART: begin -->` and `<!-- PART: end -->` are these."""
    before, begin, rest = page.partition(f"<!-- {part}: begin -->\n")
    _, end, after = rest.partition(f"<!-- {part}: end -->\n")
    if not (begin and end):
        raise SystemExit(f"expected <!-- {part}: begin --> and <!-- {part}: end --> in the page")
    return before + begin + text + end + after


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def commit() -> str:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
