"""The page of a reproduction: one file that needs nothing else, made to be shown to the papers' authors."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from papers.common.paper import AGREES, DIFFERS, NOT_DECIDED, Claim, Listing, Section
from papers.common.reproduction import Reproduced
from tocsin.spark.audit.page_style import STYLE

# Charts are drawn for white paper, so they lie on a white card by day and by night.
MORE_STYLE = """
.chart { background: #fff; color: #111; border: 1px solid var(--rule); border-radius: 10px; }
.chart { padding: 12px 14px 8px; margin: 0; }
.chart figcaption { color: #111; } .chart .note { color: #555; margin: 2px 0 4px; }
.chart svg text { fill: #111; }
.charts {
  display: grid; gap: 16px; margin: 12px 0;
  grid-template-columns: repeat(auto-fill, minmax(min(480px, 100%), 1fr));
}
.claims td:nth-child(1) { color: var(--soft); white-space: nowrap; }
.claims td { min-width: 7em; } .because { color: var(--soft); font-size: 13px; display: block; margin-top: 4px; }
nav ul { columns: 2; padding-left: 18px; } nav .number { margin-left: 6px; color: var(--soft); }
.listing td, .listing th { padding: 4px 14px 4px 0; }
"""

KINDS = {AGREES: "pass", DIFFERS: "open", NOT_DECIDED: "open"}  # anything else is shown as a failure


def page(found: Reproduced, drawn: Mapping[str, str]) -> str:
    """`drawn`: the charts' SVG by name."""
    parts = [
        "<h1>Five papers on reliable broadcast, reproduced</h1>",
        f'<p class="lead">{escape(summary(found))}</p>',
        _contents(found),
    ]
    for paper, sections in found.papers:
        parts.append(f'<h2 id="{paper.name}">{escape(paper.title)}</h2>')
        parts += [_section(section, drawn) for section in sections]
    if found.failures:
        items = "".join(f"<li>{escape(failure)}</li>" for failure in found.failures[:50])
        parts.append(f"<h2>Cells that failed</h2><ul>{items}</ul>")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Papers reproduced</title><style>{STYLE}{MORE_STYLE}</style></head><body><main>\n{body}\n"
        "</main></body></html>\n"
    )


def summary(found: Reproduced) -> str:
    """What was run, in a sentence."""
    claims = [claim for _, sections in found.papers for section in sections for claim in section.claims]
    agree = sum(claim.verdict == AGREES for claim in claims)
    differ = sum(claim.verdict == DIFFERS for claim in claims)
    undecided = sum(claim.verdict == NOT_DECIDED for claim in claims)
    return (
        f"{len(claims)} claims: {agree} agree, {differ} differ for a reason that is given, "
        f"{len(claims) - agree - differ - undecided} not reproduced, {undecided} not decided. {found.cells:,} cells, "
        f"{found.cell_seconds:,.0f} s of computing, code {found.code}, seeds from each cell's parameters"
        + (", the quick version with fewer cells." if found.quick else ".")
        + " Intervals are 95 % confidence intervals of the mean (Student's t over the replications)."
    )


def _contents(found: Reproduced) -> str:
    items = []
    for paper, sections in found.papers:
        claims = [claim for section in sections for claim in section.claims]
        agree = sum(claim.verdict == AGREES for claim in claims)
        items.append(
            f'<li><a href="#{paper.name}">{escape(paper.title)}</a>'
            f'<span class="number">{agree} of {len(claims)} agree</span></li>'
        )
    return f"<nav><ul>{''.join(items)}</ul></nav>"


def _section(section: Section, drawn: Mapping[str, str]) -> str:
    charts = []
    for chart in section.charts:
        note = f'<p class="note">{_rich(chart.note)}</p>' if chart.note else ""
        charts.append(
            f'<figure class="chart"><figcaption>{escape(chart.title)}</figcaption>{note}'
            f"{_embedded(drawn[chart.name], chart.name)}</figure>"
        )
    return "\n".join(
        [
            f"<h3>{_rich(section.title)}</h3><p>{_rich(section.text)}</p>",
            _claims(section.claims) if section.claims else "",
            f'<div class="charts">{"".join(charts)}</div>' if charts else "",
            *[_listing(listing) for listing in section.listings],
        ]
    )


def _rich(text: str) -> str:
    """Words between backticks are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _embedded(text: str, name: str) -> str:
    """An SVG file as a part of the page: no XML head, and ids that no other chart has."""
    inside = text[text.index("<svg") :]
    inside = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', inside)
    inside = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', inside)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", inside)


def _claims(claims: Sequence[Claim]) -> str:
    rows = []
    for claim in claims:
        because = f'<span class="because">{_rich(claim.because)}</span>' if claim.because else ""
        rows.append(
            f"<tr><td>{escape(claim.where)}</td><td>{_rich(claim.says)}</td><td>{_rich(claim.measured)}{because}</td>"
            f'<td><span class="pill {KINDS.get(claim.verdict, "fail")}">{escape(claim.verdict)}</span></td></tr>'
        )
    head = "<tr><th>where</th><th>the paper says</th><th>we measured</th><th>verdict</th></tr>"
    return f'<div class="wide"><table class="claims"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _listing(listing: Listing) -> str:
    head = "".join(f"<th>{escape(word)}</th>" for word in listing.head)
    rows = "".join("<tr>" + "".join(f"<td>{_rich(word)}</td>" for word in row) + "</tr>" for row in listing.rows)
    note = f'<p class="note">{_rich(listing.note)}</p>' if listing.note else ""
    return (
        f'<div class="wide"><h4>{escape(listing.title)}</h4>{note}<table class="listing"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
