"""Traces as stories: a line for each row, in the words of the trace.

    a broadcast all:a/0
    b deliver all:a/0 time_us=7 view=1
    b view view=2 members=a,b primary=no
    c receive a/0 kind=data peer=a
    c crash

Each line is the next row of its site, at the time of its line, unless it says otherwise.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tocsin.properties import FAIL, PASS, PROPERTIES, Report, Verdict
from tocsin.properties.audit.tables import audit_table
from tocsin.properties.audit.tally import AT_LEAST
from tocsin.properties.plain.check import check_rows
from tocsin.properties.terms import Patience
from tocsin.traces.calm import Calm
from tocsin.traces.rows import Row
from tocsin.traces.schema import ROWS

TOO_LARGE = "too large to be opened at once"
NUMBERS = ("order", "time_us", "seqno", "size", "position", "view", "number")


def told(story: str, run: str = "story") -> list[Row]:
    """The rows of a story, each log's together."""
    logs: dict[tuple[str, str | None], list[Row]] = {}
    for number, line in enumerate(filter(None, (line.split("#")[0].strip() for line in story.splitlines()))):
        site, event, *words = line.split()
        incarnation = next((word.partition("=")[2] for word in words if word.startswith("incarnation=")), None)
        log = logs.setdefault((site, incarnation), [])
        columns: dict[str, Any] = {"order": log[-1].order + 1 if log else 0, "time_us": number}
        for word in words:
            if "=" in word:
                name, value = word.split("=")
                columns[name] = value == "yes" if name == "primary" else int(value) if name in NUMBERS else value
            else:
                columns.update(_message(word))
        if "members" in columns:
            columns["members"] = tuple(columns["members"].split(","))
        log.append(Row(run=run, site=site, event=event, **columns))
    return [row for log in logs.values() for row in log]


def _message(word: str) -> dict[str, Any]:
    group, _, name = word.rpartition(":")
    origin, seqno = name.split("/")
    return {"group": group or None, "origin": origin, "seqno": int(seqno)}


def shown(verdict: Verdict) -> list[str]:
    """The witness as a story, without times."""
    assert verdict.evidence is not None
    lines: list[str] = []
    for row in verdict.evidence:
        line = f"{row.site} {row.event}"
        if row.origin is not None:
            line += f" {row.group}:{row.origin}/{row.seqno}" if row.group else f" {row.origin}/{row.seqno}"
        if row.event == "view":
            line += f" view={row.view}"
        lines.append(line)
    return lines


def verdict(
    name: str,
    story: str,
    groups: dict[str, list[str]] | None = None,
    one_clock: bool = False,
    calm: Calm | None = None,
    patience: Patience | None = None,
) -> Verdict:
    """The verdict of one property on a story, after both engines gave the same one."""
    rows = told(story)
    plain = check_rows(rows, groups, one_clock=one_clock, calm=calm, patience=patience)
    arrays = audit_table(table_of(rows), groups or {}, one_clock, PROPERTIES, calm, patience)
    assert [*differences(plain, arrays, rows)] == []
    return plain[name]


def table_of(rows: list[Row]) -> Any:
    return pa.Table.from_pylist([row._asdict() for row in rows], ROWS)


def differences(expected: Report, found: Report, rows: list[Row]) -> Iterator[str]:
    """What one engine says otherwise than the other, in words."""
    every_row = set(rows)
    if (expected.rows, expected.runs, expected.sites) != (found.rows, found.runs, found.sites):
        yield f"{found} instead of {expected}"
    for name, right in expected.properties.items():
        answer = found.properties[name]
        told = f"{name}: {answer} instead of {right}"
        if answer.evidence is not None and not every_row.issuperset(answer.evidence):
            yield f"{name}: rows that are not in the trace: {answer.evidence}"
        if (answer.why is None) != (answer.verdict == PASS):
            yield told
        if told_too_large(answer):  # so it may have missed some; but it never passes what fails
            if answer.checked != right.checked or answer.violations > right.violations or answer.verdict == PASS:
                yield told
            continue
        same_words = answer.why == right.why or FAIL in (answer.verdict, right.verdict)
        if answer[:3] != right[:3] or not same_size(answer, right) or not same_words:
            yield told


def told_too_large(verdict: Verdict) -> bool:
    """Whether it says that a run was too large for the limits."""
    return verdict.why is not None and (TOO_LARGE in verdict.why or AT_LEAST in verdict.why)


def same_size(one: Verdict, other: Verdict) -> bool:
    if one.evidence is None or other.evidence is None:
        return one.evidence is other.evidence
    return len(one.evidence) == len(other.evidence)
