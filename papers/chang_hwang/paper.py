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
from papers.common.paper import Paper, Section
from papers.common.table import Table


def sections(tables: Mapping[str, Table]) -> list[Section]:
    control, lossy, rivals = tables["figure_3"], tables["figure_4"], tables["rivals"]
    lan = Measured("lan", rivals, tables["counter_lan"])
    mesh = Measured("mesh", rivals, tables["counter_mesh"])
    return [
        figure_3(control, lossy, tables["overtaken"]),
        delays(control, tables["commit"], lossy),
        figure_4(lossy, tables["requests"]),
        broadcast(lan),
        point_to_point(lan, mesh, tables["owner_time"]),
        errors(tables["load"], tables["repair"]),
        levels(tables["levels"]),
    ]


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
    sections=sections,
)
