"""The report of an audit: one page that needs nothing else, with verdicts, witnesses drawn, and plots."""

import os
from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path

import numpy as np

from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.properties.kernels.arrays import Ints
from tocsin.properties.kernels.histogram import Histogram
from tocsin.properties.report import FAIL, LEVELS, PASS, Report, level_properties
from tocsin.spark.audit.diagram import witness_diagram
from tocsin.spark.audit.page_style import STYLE
from tocsin.spark.audit.plots import Band, Series, bar_plot, line_plot, short_number, short_time
from tocsin.spark.audit.surveying import Surveyed
from tocsin.traces.rows import Row

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
SITES_SHOWN = 24  # of the bars of load by site; the busiest ones
GROUPS_SHOWN = 6  # of the lines of latency; those with most deliveries
BUSY_SHARE = 0.02  # of all messages: kinds that are rarer are shown together


def write_page(
    path: Path, paths: Sequence[str], report: Report, surveyed: Surveyed | None, expected: str | None = None
) -> None:
    """Write the page beside its place and rename it there: a reader sees the old page or the new one, never a
    part. `expected`: the level that should hold; only what it promises is told as an alarm.
    """
    try:
        write_whole(path, page(paths, report, surveyed, expected).encode(errors="backslashreplace"))
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def page(paths: Sequence[str], report: Report, surveyed: Surveyed | None, expected: str | None = None) -> str:
    runs, sites = _plural(report.runs, "run"), _plural(report.sites, "site")
    asked = "no level was expected" if expected is None else f"expected: level {expected}"
    parts = [
        f"<h1>Audit of {escape(_title(paths))}</h1>",
        f'<p class="lead">{report.rows:,} rows, {report.runs:,} {runs}, {report.sites:,} {sites}; {asked}</p>',
        _levels(report, expected),
        _verdicts(report, () if expected is None else level_properties(expected)),
        _witnesses(report),
    ]
    if surveyed is not None:
        parts.append(_plots(surveyed, report.runs))
    body = "\n".join(parts)
    title = escape(f"Audit of {_title(paths)}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n"
    )


def _title(paths: Sequence[str]) -> str:
    first = paths[0] if paths else "a trace"
    return f"{first} and {len(paths) - 1} more" if len(paths) > 1 else first


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _levels(report: Report, expected: str | None) -> str:
    items: list[str] = []
    for level in LEVELS:
        failed = report.failed(level)
        unchecked = report.unchecked(level)
        kind = ("fail" if level == expected else "not") if failed else ("open" if unchecked else "pass")
        said = "holds, as far as it can be checked" if kind == "open" else ("fails" if failed else "holds")
        because = f"fails by {', '.join(failed)}" if failed else ""
        because = because or (f"not checkable: {', '.join(unchecked)}" if unchecked else "")
        items.append(f'<li class="{kind}" title="{escape(because)}"><b>{level}</b><span>{said}</span></li>')
    return f'<ol class="levels">{"".join(items)}</ol>'


def _verdicts(report: Report, promised: Collection[str]) -> str:
    rows: list[str] = []
    for name, verdict in report.properties.items():
        kind = {PASS: "pass", FAIL: "fail" if name in promised else "not"}.get(verdict.verdict, "open")
        link = f'<a href="#{name}">{name}</a>' if verdict.evidence is not None else name
        violations = f"{verdict.violations:,}" if verdict.violations else "–"
        rows.append(
            f'<tr><th scope="row">{link}</th><td><span class="pill {kind}">{verdict.verdict}</span></td>'
            f'<td class="number">{verdict.checked:,}</td><td class="number">{violations}</td>'
            f"<td>{escape(verdict.why or '')}</td></tr>"
        )
    head = "<tr><th>property</th><th>verdict</th><th>checked</th><th>violations</th><th>why</th></tr>"
    return (
        f'<div class="wide"><table class="verdicts"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _witnesses(report: Report) -> str:
    shown: dict[tuple[Row, ...], list[str]] = {}
    for name, verdict in report.properties.items():
        if verdict.evidence is not None:
            shown.setdefault(verdict.evidence, []).append(name)
    if not shown:
        return ""
    cards: list[str] = []
    for rows, names in shown.items():
        anchors = "".join(f'<a id="{name}"></a>' for name in names)
        why = report.properties[names[0]].why or ""
        cards.append(
            f'<section class="card">{anchors}<h3>{", ".join(names)}</h3><p>{escape(why)}</p>'
            f'<div class="wide">{witness_diagram(rows, by_time="safe" in names)}</div>'
            f"<details><summary>{len(rows)} {_plural(len(rows), 'row')} of the trace</summary>"
            f'<div class="wide">{_rows_table(rows)}</div></details></section>'
        )
    signs = (
        "■ broadcast",
        "● deliver",
        "○ receive",
        "✕ rollback or crash",
        "┃ view",
        "arrows and dashes join a message",
    )
    legend = "&emsp;".join(signs)
    return f"<h2>Witnesses</h2><p class='note'>{legend}</p>{''.join(cards)}"


def _rows_table(rows: Sequence[Row]) -> str:
    used = [name for name in Row._fields if any(getattr(row, name) is not None for row in rows)]
    head = "".join(f"<th>{name}</th>" for name in used)
    lines = []
    for row in rows:
        cells = []
        for name in used:
            value = getattr(row, name)
            text = "" if value is None else (" ".join(value) if isinstance(value, tuple) else str(value))
            cells.append(f"<td{' class=number' if isinstance(value, int) else ''}>{escape(text)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


# Plots


def _plots(surveyed: Surveyed, runs: int) -> str:
    survey = surveyed.survey
    seconds = surveyed.axis.width_us / 1e6
    parts = ["<h2>What happened</h2>"]
    if runs > 1:
        parts.append("<p class='note'>Plots over time lay all runs over each other.</p>")
    parts.append('<div class="plots">')
    parts.append(_latency(surveyed))
    parts.append(_over_time("Deliveries per second, by site", survey.delivered, surveyed, "deliveries/s"))
    if survey.handled:
        parts.append(
            _over_time("Load: messages sent and received per second, by site", survey.handled, surveyed, "messages/s")
        )
        parts.append(_load_by_site(survey.handled))
        parts.append(_kinds(survey.kinds))
    parts.append(_gaps(surveyed))
    parts.append("</div>")
    parts.append(_percentiles(surveyed, seconds))
    return "".join(parts)


def _latency(surveyed: Surveyed) -> str:
    groups = sorted(surveyed.survey.latencies.items(), key=lambda item: -item[1].count)[:GROUPS_SHOWN]
    lines: list[Series] = []
    for name, histogram in groups:
        ends, shares = histogram.shares()
        lines.append(
            Series(name, [(ends[0], 0.0), *zip(ends, [100 * share for share in shares], strict=True)] if ends else [])
        )
    return line_plot(
        "Latency: from broadcast to delivery",
        [line for line in lines if line.points],
        x_label="latency",
        y_label="deliveries, %",
        x_text=short_time,
        x_log=True,
        y_high=100.0,
    )


def _over_time(title: str, by_site: dict[str, Ints], surveyed: Surveyed, unit: str) -> str:
    """The middle of all sites, and between which of them the others are."""
    axis = surveyed.axis
    if not by_site:
        return line_plot(title, [], x_label="time", y_label=unit)
    rates = np.array(list(by_site.values())) / (axis.width_us / 1e6)
    at = [(place + 0.5) * axis.width_us for place in range(rates.shape[1])]
    middle = np.median(rates, axis=0).tolist()
    band = Band("least to most", list(zip(at, rates.min(axis=0).tolist(), rates.max(axis=0).tolist(), strict=True)))
    return line_plot(
        title,
        [Series("median of sites", list(zip(at, middle, strict=True)))],
        band=band if len(by_site) > 1 else None,
        x_label="time",
        y_label=unit,
        x_text=short_time,
    )


def _gaps(surveyed: Surveyed) -> str:
    axis = surveyed.axis
    gaps = list(surveyed.survey.longest_gap.values())
    if not gaps:
        return line_plot("Gaps between deliveries", [], x_label="time", y_label="gap")
    longest = np.max(gaps, axis=0)
    at = [(place + 0.5) * axis.width_us for place in range(len(longest))]
    points = [(x, float(gap)) for x, gap in zip(at, longest.tolist(), strict=True) if gap > 0]
    return line_plot(
        "Longest gap between two deliveries of a site, by when it ended",
        [Series("longest of all sites", points)],
        x_label="time",
        y_label="gap",
        x_text=short_time,
        y_text=short_time,
        y_log=True,
    )


def _load_by_site(handled: dict[str, Ints]) -> str:
    loads = sorted(
        ((int(counts.sum()), site) for site, counts in handled.items()), key=lambda pair: (-pair[0], pair[1])
    )
    title = "Load: messages sent and received, by site"
    if len(loads) > SITES_SHOWN:
        title += f" (the {SITES_SHOWN} busiest of {len(loads)})"
    return bar_plot(title, [(site, [("messages", float(load))]) for load, site in loads[:SITES_SHOWN]])


def _kinds(kinds: dict[tuple[str, str], int]) -> str:
    events = ("send", "receive", "drop")
    totals: dict[str, dict[str, int]] = {}
    for (event, kind), count in kinds.items():
        if event in events:
            totals.setdefault(kind or "(no kind)", {})[event] = count
    everything = sum(sum(found.values()) for found in totals.values())
    rare = [kind for kind, found in totals.items() if sum(found.values()) < BUSY_SHARE * everything]
    if len(rare) > 2:
        others: dict[str, int] = {}
        for kind in rare:
            for event, count in totals.pop(kind).items():
                others[event] = others.get(event, 0) + count
        totals[f"{len(rare)} others"] = others
    order = sorted(totals, key=lambda kind: -sum(totals[kind].values()))
    bars = [(kind, [(event, float(totals[kind].get(event, 0))) for event in events]) for kind in order]
    return bar_plot("Messages by kind", bars)


def _percentiles(surveyed: Surveyed, seconds: float) -> str:
    survey = surveyed.survey
    rows: list[tuple[str, str, list[str]]] = []
    for group, histogram in sorted(survey.latencies.items()):
        rows.append((f"latency, group {group}", f"{histogram.count:,}", _values(histogram)))
    if survey.gaps.count:
        rows.append(("gap between two deliveries of a site", f"{survey.gaps.count:,}", _values(survey.gaps)))
    for title, found in (
        ("load: messages per second and site", survey.handled),
        ("deliveries per second and site", survey.delivered),
    ):
        if found:
            rates = np.concatenate(list(found.values())) / seconds
            values = [*np.percentile(rates, PERCENTILES).tolist(), float(rates.max()), float(rates.mean())]
            rows.append((title, f"{len(rates):,}", [short_number(value) for value in values]))
    words = ["count", *(f"{percent:g} %" for percent in PERCENTILES), "most", "mean"]
    heads = "".join(f'<th class="number">{word}</th>' for word in words)
    lines = "".join(
        f'<tr><th scope="row">{escape(title)}</th><td class="number">{count}</td>'
        + "".join(f'<td class="number">{value}</td>' for value in values)
        + "</tr>"
        for title, count, values in rows
    )
    note = "Percentiles of latencies and gaps are of buckets one per cent wide."
    if surveyed.sampled < surveyed.messages:
        note += (
            f" Latencies are those of {surveyed.sampled:,} messages, drawn by their hash from {surveyed.messages:,}."
        )
    return (
        f'<div class="wide"><table><thead><tr><th></th>{heads}</tr></thead>'
        f'<tbody>{lines}</tbody></table></div><p class="note">{note}</p>'
    )


def _values(histogram: Histogram) -> list[str]:
    values = [histogram.percentile(percent) for percent in PERCENTILES]
    return [short_time(value) for value in (*values, histogram.highest, histogram.mean())]
