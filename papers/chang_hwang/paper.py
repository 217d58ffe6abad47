"""Chang, Hwang: an ordered and reliable broadcast protocol. Figures 3 to 7 and Tables 1 to 4, by simulation."""

from collections.abc import Mapping

from papers.chang_hwang.broadcast import broadcast
from papers.chang_hwang.columns import Measured
from papers.chang_hwang.delay import delays
from papers.chang_hwang.figure_3 import figure_3
from papers.chang_hwang.figure_4 import figure_4
from papers.chang_hwang.load import errors
from papers.chang_hwang.point_to_point import point_to_point
from papers.chang_hwang.table_4 import levels
from papers.common.paper import Paper
from papers.common.table import Table


def _lan(tables: Mapping[str, Table]) -> Measured:
    return Measured("lan", tables["rivals"], tables["counter_lan"])


def _mesh(tables: Mapping[str, Table]) -> Measured:
    return Measured("mesh", tables["rivals"], tables["counter_mesh"])


SECTIONS = (
    lambda tables: figure_3(tables["figure_3"], tables["figure_4"], tables["overtaken"]),
    lambda tables: delays(tables["figure_3"], tables["commit"], tables["figure_4"]),
    lambda tables: figure_4(tables["figure_4"], tables["requests"]),
    lambda tables: broadcast(_lan(tables)),
    lambda tables: point_to_point(_lan(tables), _mesh(tables), tables["owner_time"]),
    lambda tables: errors(tables["load"], tables["repair"]),
    lambda tables: levels(tables["levels"]),
)

PAPER = Paper(
    name="chang_hwang",
    title="Chang, Hwang: An Ordered and Reliable Broadcast Protocol for Distributed Systems",
    grids=(
        "figure_3",
        "figure_4",
        "requests",
        "commit",
        "overtaken",
        "rivals",
        "counter_lan",
        "counter_mesh",
        "owner_time",
        "load",
        "repair",
        "levels",
    ),
    sections=SECTIONS,
)
