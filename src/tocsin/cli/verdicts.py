"""What `tocsin check` and `tocsin audit` have in common: the same questions, the same answers, told in the same way.

A property that fails is an alarm only where it was promised: by the protocol that was simulated, or by the level that
the caller expects (`--expect`), which is also not met by what could not be checked. Of the others it is told that they
did not hold, and no more.
"""

import argparse
import json
import sys
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tocsin.cli.tables import Cell, output, print_table
from tocsin.core.errors import InputError
from tocsin.core.files import read_document, write_whole
from tocsin.core.topology_config import groups_from_document
from tocsin.judging import PATIENCE_S, judged_by
from tocsin.properties import FAIL, LEVELS, NOT_CHECKABLE, PASS, Report, level_properties
from tocsin.properties.report import chosen_properties
from tocsin.properties.terms import Terms
from tocsin.traces.rows import Row

ALARM = "bold red"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--expect", metavar="LEVEL", help=f"exit 1 unless this level holds: {', '.join(LEVELS)}")
    parser.add_argument(
        "--allow-unchecked", metavar="NAMES", help="properties of the level that may lack evidence: safe,view_synchrony"
    )
    parser.add_argument(
        "--calm-since", metavar="TIME", help="when faults were over: as time_us, or 2026-03-01T12:00; for `settled`"
    )
    parser.add_argument("--down", metavar="SITES", help="sites that are down or cut off for good: c,d; for `settled`")
    parser.add_argument(
        "--patience",
        type=float,
        metavar="SECONDS",
        help=f"of running members, what is younger is not owed yet (default {PATIENCE_S:g} in data folders)",
    )
    parser.add_argument("--groups", type=Path, metavar="GROUPS", help="a file with the members of the groups")
    parser.add_argument("--witnesses", type=Path, metavar="DIR", help="write each witness to DIR/PROPERTY.json")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def terms_of(arguments: argparse.Namespace) -> Terms:
    """What the caller says about the trace. Asked before the paths are opened."""
    groups = None
    if arguments.groups is not None:
        groups = groups_from_document(read_document(arguments.groups), str(arguments.groups))
    return judged_by(arguments.paths, groups, _time(arguments.calm_since), _names(arguments.down), arguments.patience)


def _time(text: str | None) -> int | datetime | None:
    if text is None:
        return None
    try:
        return int(text) if text.removeprefix("-").isdigit() else datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--calm-since: expected microseconds or a time as 2026-03-01T12:00, found `{text}`") from None


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


class Expected:
    """The level that should hold, and what may stay open of it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._level: str | None = arguments.expect
        self._allowed = chosen_properties(_names(arguments.allow_unchecked))
        if self._level is not None:
            level_properties(self._level)

    def judge(self, verb: str, report: Report) -> int:
        """Say on stderr how the level stands; the exit code."""
        level = self._level
        if level is None:
            return 0
        failed, unchecked = report.failed(level), report.unchecked(level)
        open_ones = [name for name in unchecked if name not in self._allowed]
        beside = _beside(report, level)
        if failed:
            said = f"does not hold: {', '.join(failed)} failed{beside}"
        elif open_ones:
            said = "is not shown: " + "; ".join(f"{name} is not checkable ({_why(report, name)})" for name in open_ones)
        else:
            said = f"holds{beside}"
        print(f"tocsin {verb}: level {level} {said}", file=sys.stderr)
        return 1 if failed or open_ones else 0


def _beside(report: Report, level: str) -> str:
    """What a level leaves open, in brackets."""
    said = {"not checkable": report.unchecked(level), "nobody is asked": report.unasked(level)}
    told = "; ".join(f"{what}: {', '.join(names)}" for what, names in said.items() if names)
    return f" ({told})" if told else ""


def _why(report: Report, name: str) -> str:
    return report[name].why or "" if report.rows else "the trace has no rows"


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
        elif unchecked:
            line.append("is not shown", ALARM if level == expected else "")
            line.append(f", {NOT_CHECKABLE}: {', '.join(unchecked)}")
        else:
            line.append("holds", "green").append(_beside(report, level))
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
    print_table(console, headings, rows, right=("checked", "violations"), prose=1)


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
