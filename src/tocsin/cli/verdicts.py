"""What `tocsin check` and `tocsin audit` have in common: the same questions, the same answers, told in the same way."""

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tocsin.cli.tables import print_verdicts
from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.properties import LEVELS, NOT_CHECKABLE, Report
from tocsin.traces.rows import Row


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


def print_report(report: Report) -> None:
    console = Console(highlight=False)
    print(f"{report.rows:,} rows, {report.runs:,} runs, {report.sites:,} sites")
    print()
    print_verdicts(report)
    shown: dict[tuple[Row, ...], str] = {}  # witness: the property under which it was shown
    for name, verdict in report.properties.items():
        if verdict.evidence is None:
            continue
        console.print(f"\n[bold red]{name}[/]: {escape(verdict.why or '')}")
        if verdict.evidence in shown:
            print(f"(the rows above, under {shown[verdict.evidence]})")
        else:
            console.print(_witness_table(verdict.evidence))
            shown[verdict.evidence] = name
    print()
    for level in LEVELS:
        failed = report.failed(level)
        unchecked = report.unchecked(level)
        if failed:
            console.print(f"level {level:7} [red]fails[/] by {', '.join(failed)}")
        else:
            beside = f", but {NOT_CHECKABLE}: {', '.join(unchecked)}" if unchecked else ""
            console.print(f"level {level:7} [green]holds[/]{beside}")


def _witness_table(rows: tuple[Row, ...]) -> Table:
    """The rows as they are in the trace, without the columns that none of them uses."""
    table = Table(box=None, pad_edge=False)
    used = [name for name in Row._fields if any(getattr(row, name) is not None for row in rows)]
    for name in used:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(getattr(row, name)) for name in used))
    return table


_NUMBERS = frozenset(["order", "time_us", "seqno", "size", "position", "view"])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escape(" ".join(value) if isinstance(value, tuple) else str(value))


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
