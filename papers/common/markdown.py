"""`docs/reproduction.md`, from the same tables as the page."""

from collections.abc import Sequence

from papers.common.page import summary
from papers.common.paper import Section
from papers.common.reproduction import Reproduced

HEAD = """\
# The papers, reproduced

Made by `tocsin reproduce` (`make reproduce`); do not edit. The page with the plots is `index.html` in its output
folder, the numbers are in `tables/` there. Each paper has a folder in `papers/`, with its experiments, its grids
(`papers/*/grids`) and its claims; all are judged by the rules in `papers/common/judging.py`. A cell's seed comes from
the grid's name, the cell's parameters and the replicate, so that the same code gives the same numbers anywhere.
"""


def markdown(found: Reproduced) -> str:
    parts = [HEAD, summary(found), f"\n{_time(found)}\n"]
    for paper, sections in found.papers:
        parts.append(f"\n## {paper.title}\n")
        parts += [_section(section) for section in sections]
    if found.failures:
        parts.append("\n## Cells that failed\n" + "".join(f"- {failure}\n" for failure in found.failures))
    return "\n".join(parts)


def _time(found: Reproduced) -> str:
    if found.ran == found.cells:
        return f"One call ran them all, in {found.seconds:,.0f} s."
    return f"The last call ran {found.ran:,} of the cells, in {found.seconds:,.0f} s; earlier ones the others."


def _section(section: Section) -> str:
    parts = [f"### {section.title}\n{section.text}\n"]
    if section.claims:
        rows = [
            (claim.where, claim.says, claim.measured, f"**{claim.verdict}**" + _because(claim.because))
            for claim in section.claims
        ]
        parts.append(_table(("where", "the paper says", "we measured", "verdict"), rows))
    for listing in section.listings:
        parts.append(f"{listing.title}. {listing.note}\n\n{_table(listing.head, listing.rows)}")
    return "\n".join(parts)


def _because(because: str) -> str:
    return f": {because}" if because else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(word.replace("|", "\\|").replace("\n", " ") for word in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
