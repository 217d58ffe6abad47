"""`python -m tests.track_record --seeds 0..1000`: every protocol's swarm, and the figures of docs/track-record.md.

The figures are those of one machine and one state of the sources; the page says which. What else stands on the page is
written by hand. A protocol's answer is kept in `out/track-record`, by commit: a command that was stopped goes on.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.known_failures import excuse, known_of
from tocsin._sources import COMPILED
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import Outcome

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "track-record.md"
KEPT = ROOT / "out" / "track-record"
HOUR_US = 3_600_000_000
SHOWN = 6  # new violations of a protocol that are told


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
    """What `tocsin swarm` answers, and which of its violations have a known cause."""
    path = KEPT / f"{commit()}-{name}-{seeds}.json"
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept
    command = [sys.executable, "-m", "tocsin", "swarm", name, "--seeds", seeds, "--processes", str(processes)]
    print(" ".join(command[2:]), file=sys.stderr, flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run([*command, "--keep-going", "--json"], stdout=subprocess.PIPE, text=True, cwd=KEPT)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"tocsin swarm {name}: exit code {ended.returncode}")
    answer: dict[str, Any] = json.loads(ended.stdout)
    for each in answer["violations"]:
        outcome = Outcome(seed=each["seed"], violated=each["violated"], happened={}, drawn=tuple(each["drawn"]))
        each["known"] = [entry.cause for entry in excuse(REGISTRY[name], outcome)]
    path.write_text(json.dumps(answer))
    return answer


def figures(answers: list[dict[str, Any]], seeds: str, processes: int) -> str:
    """What was run, what went wrong on purpose in it, what failed, and what the known failures hide."""
    total = sum(answer["seeds"] for answer in answers)
    hours = sum(answer["simulated_us"] for answer in answers) / HOUR_US
    seconds = sum(answer["seconds"] for answer in answers)
    way = "compiled" if COMPILED else "interpreted"
    new = sum(1 for answer in answers for each in answer["violations"] if not each["known"])
    failed = sum(len(answer["violations"]) for answer in answers)
    summary = f"**{total:,} seeds, {hours:,.0f} simulated hours, {total / seconds:.1f} seeds a second"
    lines = [
        f"`python -m tests.track_record --seeds {seeds}`, {today()}, commit {commit()}, {way}, {processes} processes:",
        f"{summary}; {failed:,} seeds failed, {failed - new:,} of them by a known cause**.",
        "",
        "| protocol | seeds | simulated hours | seeds a second | failed by a known cause | failed otherwise |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for answer in answers:
        known = sum(1 for each in answer["violations"] if each["known"])
        lines.append(
            f"| {answer['protocol']} | {answer['seeds']:,} | {answer['simulated_us'] / HOUR_US:,.1f} | "
            f"{answer['seeds'] / answer['seconds']:.1f} | {known} | {len(answer['violations']) - known} |"
        )
    lines += ["", "What happened in them: " + _counted(answers, "happened") + "."]
    lines += ["", "Scenarios that had each kind of thing: " + _counted(answers, "drawn") + ".", ""]
    for answer in answers:
        for violation in [each for each in answer["violations"] if not each["known"]][:SHOWN]:
            again = f"`tocsin swarm {answer['protocol']} --seeds {violation['seed']}`"
            lines.append(f"- {answer['protocol']}: {violation['violated']} ({again})")
    return "\n".join([*lines, *_hidden(answers)]) + "\n"


def _counted(answers: list[dict[str, Any]], what: str) -> str:
    names = list(dict.fromkeys(name for answer in answers for name in answer[what]))
    return ", ".join(f"{sum(answer[what].get(name, 0) for answer in answers):,} {name}" for name in names)


def _hidden(answers: list[dict[str, Any]]) -> list[str]:
    """By known failure: how many scenarios had its kinds, and how many failed by it. The others were judged whole."""
    lines = [
        "",
        "What known failures hide: seeds that fail by them are excused, and say nothing about anything else.",
        "",
        "| protocol | known failure | kinds | seeds with one of them, at most | excused |",
        "|---|---|---|---:|---:|",
    ]
    for answer in answers:
        for entry in known_of(answer["protocol"]):
            drawn = sum(answer["drawn"].get(kind, 0) for kind in entry.kinds)
            excused = sum(1 for each in answer["violations"] if entry.cause in each["known"])
            kinds = ", ".join(entry.kinds)
            if entry.kinds:
                lines.append(f"| {answer['protocol']} | {entry.cause} | {kinds} | {drawn} | {excused} |")
    return lines


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
