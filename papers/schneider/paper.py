"""Schneider, Gries, Schlichting 1982: fast reliable broadcasts. Section 4 by simulation."""

from collections.abc import Mapping

from papers.common.paper import Paper, Section
from papers.common.table import Table
from papers.schneider.completion import completion
from papers.schneider.duplication import duplication


def sections(tables: Mapping[str, Table]) -> list[Section]:
    return [completion(tables["completion"]), duplication(tables["duplication"])]


PAPER = Paper(
    name="schneider",
    title="Schneider, Gries, Schlichting 1982: Fast Reliable Broadcasts",
    grids=("completion", "duplication"),
    sections=sections,
)
