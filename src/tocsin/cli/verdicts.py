"""What `tocsin check` and `tocsin audit` have in common: the same questions, the same answers, told in the same way.

A property that fails is an alarm only where it was promised: by the protocol that was simulated, or by the level that
the caller expects (`--expect`). Of the others it is told that they did not hold, and no more.
"""

import argparse
import json
import sys
from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tocsin.cli.tables import Cell, output, print_table
from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.properties import FAIL, LEVELS, NOT_CHECKABLE, PASS, Report, level_properties
from tocsin.traces.rows import Row

ALARM = "bold red"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--expect", metavar="LEVEL", help=f"exit 1 unless this level holds: {', '.join(LEVELS)}")
    parser.add_argument("--groups", type=Path, metavar="GROUPS", help="a file with the members of the groups")
    parser.add_argument("--witnesses", type=Path, metavar="DIR", help="write each witness to DIR/PROPERTY.json")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def judge(verb: str, report: Report, level: str) -> int:
    """Say on stderr how the expected level stands; the exit code."""
    failed = report.failed(level)
    unchecked = report.unchecked(level)
    beside = f" (not checkable: {', '.join(unchecked)})" if unchecked else ""
    if failed:
        print(f"tocsin {verb}: level {level} does not hold: {', '.join(failed)} failed{beside}", file=sys.stderr)
        return 1
    print(f"tocsin {verb}: level {level} holds{beside}", file=sys.stderr)
    return 0


def print_report(report: Report, expected: str | None = None) -> None:
    """Everything about a trace, for people; `expected`: the level that should hold."""
    console = output()
    promised = () if expected is None else level_properties(expected)
    console.print(f"{report.rows:,} rows, {report.runs:,} runs, {report.sites:,} sites\n")
    print_verdicts(console, report, promised, "expected")
    _print_witnesses(console, report, promised)
    console.print()
    for level in LEVELS:
        failed = report.failed(level)
        unchecked = report.unchecked(level)
        line = Text(f"level {level:7} ")
        if failed:
            line.append("fails", ALARM if level == expected else "").append(f" by {', '.join(failed)}")
        else:
            line.append("holds", "green").append(f", but {NOT_CHECKABLE}: {', '.join(unchecked)}" if unchecked else "")
        console.print(line)


def print_verdicts(console: Console, report: Report, promised: Collection[str], promise: str = "promised") -> None:
    """A line per property. Those that were promised are marked; only they turn red."""
    headings = ["property", promise, "verdict", "checked", "violations", "why"]
    rows: list[list[str | Cell]] = []
    for name, verdict in report.properties.items():
        style = ALARM if name in promised and verdict.verdict == FAIL else {PASS: "green"}.get(verdict.verdict, "")
        numbers = (f"{verdict.checked:,}", f"{verdict.violations:,}")
        kept = "yes" if name in promised else "no"
        rows.append([name, kept, Cell(verdict.verdict, style), *numbers, verdict.why or ""])
    if not promised:  # nobody said what should hold
        headings.remove(promise)
        rows = [[row[0], *row[2:]] for row in rows]
    print_table(console, headings, rows, right=("checked", "violations"), prose=True)


def _print_witnesses(console: Console, report: Report, promised: Collection[str]) -> None:
    shown: dict[tuple[Row, ...], str] = {}  # witness: the property under which it was shown
    for name, verdict in report.properties.items():
        if verdict.evidence is None:
            continue
        console.print()
        console.print(Text.assemble((name, ALARM if name in promised else "bold"), f": {verdict.why or ''}"))
        if verdict.evidence in shown:
            console.print(f"(the rows above, under {shown[verdict.evidence]})")
        else:
            _print_rows(console, verdict.evidence)
            shown[verdict.evidence] = name


_NUMBERS = ("order", "time_us", "seqno", "size", "position", "view")


def _print_rows(console: Console, rows: tuple[Row, ...]) -> None:
    """The rows as they are in the trace, without the columns that none of them uses."""
    used = [name for name in Row._fields if any(getattr(row, name) is not None for row in rows)]
    cells = [[_cell(getattr(row, name)) for name in used] for row in rows]
    print_table(console, used, cells, right=_NUMBERS)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, tuple) else str(value)


def write_witnesses(report: Report, folder: Path) -> None:
    """A file for each property that fails; those of properties that now hold are removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, verdict in report.properties.items():
            path = folder / f"{name}.json"
            if verdict.evidence is None:
                path.unlink(missing_ok=True)
            else:
                document = {"property": name, **verdict.to_json_object()}
                write_whole(path, json.dumps(document, indent=1).encode() + b"\n")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
