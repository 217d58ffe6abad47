"""The showcase's page: what happened, drawn; one file, no script, nothing from the network."""

import html
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tocsin.cli.showcase_stage import SITES, Sample

WIDTH, HEIGHT, LEFT, TOP = 900, 320, 60, 20
COLOURS = {"a": "#1b6ca8", "b": "#c8553d", "c": "#2a9d4a", "d": "#8a4fbf", "e": "#b8860b"}
VERDICTS = {"pass": "#2a9d4a", "fail": "#c8213d"}
NEUTRAL = "#555"


class Moment(NamedTuple):
    at: float
    what: str


def write_page(
    path: Path,
    samples: list[Sample],
    moments: list[Moment],
    properties: dict[str, dict[str, Any]],
    promised: Collection[str],
    engine: str,
) -> Path:
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Tocsin: a group under fire</title><style>",
        "body{font:16px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}",
        "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}",
        "td.n{text-align:right;font-variant-numeric:tabular-nums}svg{width:100%;height:auto}</style>",
        "<h1>A group under fire</h1><p>Five processes broadcast to one another. What each has delivered, over time: ",
        "the lines lie on one another because all deliver the same, in the same order; they part where a member was ",
        "killed or cut off, and meet again where it was healed.</p>",
        _deliveries(samples, moments),
        "<h2>Whom each member saw</h2><p>The height of a bar is how many members its member saw: five when all is ",
        "well, none while it was down or cut off from the majority.</p>",
        _views(samples, moments),
        f"<h2>Which guarantees held</h2><p>Decided by {html.escape(engine)} from the members' journals.</p>",
        _table(properties, promised),
        "</html>",
    ]
    path.write_text("".join(parts), encoding="utf-8")
    return path


def _x(at: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - 10) * at / end


def _frame(moments: list[Moment], end: float, height: int) -> list[str]:
    parts = [f"<svg viewBox='0 0 {WIDTH} {height + 76}' role='img'>"]
    step = 5 if end < 50 else 20
    for second in range(0, int(end) + 1, step):
        place = f"x='{_x(second, end):.1f}' y='{height + 14}'"
        parts.append(f"<text {place} font-size='11' fill='#888' text-anchor='middle'>{second} s</text>")
    for index, moment in enumerate(moments):
        x = _x(moment.at, end)
        parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{height}' stroke='#bbb' stroke-dasharray='4 4'/>")
        y = height + 34 + 14 * (index % 3)
        parts.append(f"<text x='{x:.1f}' y='{y}' font-size='12' text-anchor='middle'>{html.escape(moment.what)}</text>")
    return parts


def _deliveries(samples: list[Sample], moments: list[Moment]) -> str:
    end = max((sample.at for sample in samples), default=1.0)
    most = max((sample.delivered for sample in samples), default=1) or 1
    parts = _frame(moments, end, HEIGHT)
    for share in (0, 0.5, 1):
        y = HEIGHT - (HEIGHT - TOP) * share
        parts.append(f"<line x1='{LEFT}' x2='{WIDTH - 10}' y1='{y:.1f}' y2='{y:.1f}' stroke='#eee'/>")
        label = f"{int(most * share):,}"
        parts.append(f"<text x='{LEFT - 6}' y='{y + 4:.1f}' font-size='12' text-anchor='end'>{label}</text>")
    for name in SITES:
        for points in _runs([sample for sample in samples if sample.site == name]):
            path = " ".join(
                f"{_x(sample.at, end):.1f},{HEIGHT - (HEIGHT - TOP) * sample.delivered / most:.1f}" for sample in points
            )
            parts.append(f"<polyline points='{path}' fill='none' stroke='{COLOURS[name]}' stroke-width='2'/>")
    for index, name in enumerate(SITES):
        x = LEFT + 20 + 40 * index
        parts.append(
            f"<text x='{x}' y='{TOP + 14}' font-size='14' font-weight='bold' fill='{COLOURS[name]}'>{name}</text>"
        )
    return "".join(parts) + "</svg>"


def _runs(samples: list[Sample]) -> list[list[Sample]]:
    """Stretches in which the member was up."""
    runs: list[list[Sample]] = [[]]
    for sample in samples:
        if sample.delivered < 0:
            runs.append([])
        else:
            runs[-1].append(sample)
    return [run for run in runs if run]


def _views(samples: list[Sample], moments: list[Moment]) -> str:
    """A row per member; the height of the bar is how many it saw."""
    end = max((sample.at for sample in samples), default=1.0)
    row = 44
    parts = _frame(moments, end, row * len(SITES) + TOP)
    for index, name in enumerate(SITES):
        base = TOP + row * (index + 1)
        parts.append(f"<text x='{LEFT - 10}' y='{base - 10}' font-size='14' text-anchor='end'>{name}</text>")
        mine = [sample for sample in samples if sample.site == name]
        for begin, until, seen in _stretches(mine):
            height = 7 * seen
            x, width = _x(begin, end), _x(until, end) - _x(begin, end)
            parts.append(
                f"<rect x='{x:.1f}' y='{base - height}' width='{width:.1f}' height='{height}' fill='{COLOURS[name]}'/>"
            )
    return "".join(parts) + "</svg>"


def _stretches(samples: list[Sample]) -> list[tuple[float, float, int]]:
    """From when to when a member saw how many."""
    found: list[tuple[float, float, int]] = []
    for sample, following in pairwise(samples):
        seen = len(sample.members)
        begin = found.pop()[0] if found and found[-1][2] == seen else sample.at
        found.append((begin, following.at, seen))
    return found


def _table(properties: dict[str, dict[str, Any]], promised: Collection[str]) -> str:
    """Only a promise that was broken is red."""
    rows = ["<table><tr><th>property<th>promised<th>verdict<th>checked<th>violations<th>why</tr>"]
    for name, found in properties.items():
        verdict = found["verdict"]
        colour = VERDICTS.get(verdict, NEUTRAL) if name in promised or verdict != "fail" else NEUTRAL
        rows.append(
            f"<tr><td>{html.escape(name)}<td>{'yes' if name in promised else 'no'}"
            f"<td style='color:{colour}'>{html.escape(verdict)}"
            f"<td class='n'>{found['checked']:,}<td class='n'>{found['violations']:,}"
            f"<td>{html.escape(str(found['why'] or ''))}</tr>"
        )
    return "".join(rows) + "</table>"
