"""Garcia-Molina, Kogan 1988: reliable broadcast on an unreliable multicast facility."""

from collections.abc import Mapping

from papers.common.paper import Paper, Section
from papers.common.table import Table
from papers.kogan.control import control
from papers.kogan.epidemic import epidemic
from papers.kogan.example import example
from papers.kogan.heuristic import heuristic
from papers.kogan.partitions import partitions
from papers.kogan.theorem import theorem
from papers.kogan.without_failures import without_failures


def sections(tables: Mapping[str, Table]) -> list[Section]:
    return [
        theorem(tables["trees"]),
        example(tables["example"], tables["assignment"]),
        heuristic(tables["trees"]),
        without_failures(tables["control"], tables["transient"]),
        partitions(tables["repair"], tables["redelivery"]),
        control(tables["control"], tables["delta"]),
        epidemic(tables["epidemic"]),
    ]


PAPER = Paper(
    name="kogan",
    title="Garcia-Molina, Kogan 1988: An Implementation of Reliable Broadcast Using an Unreliable Multicast Facility",
    grids=("repair", "redelivery", "control", "delta", "transient", "epidemic", "assignment", "example", "trees"),
    sections=sections,
)
