"""Tables for people, on stdout."""

from collections.abc import Collection

from rich.console import Console
from rich.table import Table

from tocsin.properties import FAIL, PASS, Report

STYLES = {PASS: "green", FAIL: "bold red"}


def print_verdicts(report: Report, promised: Collection[str] = ()) -> None:
    """A line per property; those that were promised are marked, so that a red line can be told from an open one."""
    table = Table(box=None, pad_edge=False)
    table.add_column("property")
    if promised:
        table.add_column("promised")
    table.add_column("verdict")
    table.add_column("checked", justify="right")
    table.add_column("violations", justify="right")
    table.add_column("why", overflow="fold")
    for name, verdict in report.properties.items():
        cells = [name] + (["yes" if name in promised else ""] if promised else [])
        style = STYLES.get(verdict.verdict, "yellow")
        cells += [f"[{style}]{verdict.verdict}[/]", f"{verdict.checked:,}", f"{verdict.violations:,}"]
        table.add_row(*cells, _escape(verdict.why or ""))
    Console(soft_wrap=False, highlight=False).print(table)


def _escape(text: str) -> str:
    return text.replace("[", "\\[")
