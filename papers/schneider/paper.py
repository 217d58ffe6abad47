"""Schneider, Gries, Schlichting 1982: fast reliable broadcasts. Section 4 by simulation."""

from papers.common.paper import Paper
from papers.schneider.completion import completion
from papers.schneider.duplication import duplication

SECTIONS = (
    lambda tables: completion(tables["completion"]),
    lambda tables: duplication(tables["duplication"]),
)

PAPER = Paper(
    name="schneider",
    title="Schneider, Gries, Schlichting 1982: Fast Reliable Broadcasts",
    grids=("completion", "duplication"),
    sections=SECTIONS,
)
