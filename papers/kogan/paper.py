"""Garcia-Molina, Kogan 1988: reliable broadcast on an unreliable multicast facility."""

from papers.common.paper import Paper
from papers.kogan.control import control
from papers.kogan.epidemic import epidemic
from papers.kogan.example import example
from papers.kogan.heuristic import heuristic
from papers.kogan.partitions import partitions
from papers.kogan.theorem import theorem
from papers.kogan.without_failures import without_failures

SECTIONS = (
    lambda tables: theorem(tables["trees"]),
    lambda tables: example(tables["example"], tables["assignment"]),
    lambda tables: heuristic(tables["trees"]),
    lambda tables: without_failures(tables["control"], tables["transient"]),
    lambda tables: partitions(tables["repair"], tables["redelivery"]),
    lambda tables: control(tables["control"], tables["delta"]),
    lambda tables: epidemic(tables["epidemic"]),
)

PAPER = Paper(
    name="kogan",
    title="Garcia-Molina, Kogan 1988: An Implementation of Reliable Broadcast Using an Unreliable Multicast Facility",
    grids=("repair", "redelivery", "control", "delta", "transient", "epidemic", "assignment", "example", "trees"),
    sections=SECTIONS,
)
