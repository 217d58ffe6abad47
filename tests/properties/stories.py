"""Traces as stories: a line for each row, in the words of the trace.

    a broadcast all:a/0
    b deliver all:a/0 time_us=7 view=1
    b view view=2 members=a,b
    c receive a/0 kind=data peer=a
    c crash

Each line is the next row of its site, at the time of its line, unless it says otherwise.
"""

from typing import Any

from tocsin.properties import Verdict, check
from tocsin.traces.rows import Row

NUMBERS = ("order", "time_us", "seqno", "size", "position", "view")


def told(story: str, run: str = "story") -> list[Row]:
    """The rows of a story, each site's together."""
    logs: dict[str, list[Row]] = {}
    for number, line in enumerate(filter(None, (line.split("#")[0].strip() for line in story.splitlines()))):
        site, event, *words = line.split()
        log = logs.setdefault(site, [])
        columns: dict[str, Any] = {"order": log[-1].order + 1 if log else 0, "time_us": number}
        for word in words:
            if "=" in word:
                name, value = word.split("=")
                columns[name] = int(value) if name in NUMBERS else value
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
    assert verdict.witness is not None
    lines: list[str] = []
    for row in verdict.witness:
        line = f"{row.site} {row.event}"
        if row.origin is not None:
            line += f" {row.group}:{row.origin}/{row.seqno}" if row.group else f" {row.origin}/{row.seqno}"
        if row.event == "view":
            line += f" view={row.view}"
        lines.append(line)
    return lines


def verdict(name: str, story: str, **options: Any) -> Verdict:
    """The verdict of one property on a story."""
    return check(told(story), **options).properties[name]
