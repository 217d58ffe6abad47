"""Garcia-Molina, Spauster 1988: ordered and reliable multicast."""

from collections.abc import Mapping

from papers.common.paper import Paper, Section
from papers.common.table import Table
from papers.spauster.exponential import exponential
from papers.spauster.graphs import graphs
from papers.spauster.load import load
from papers.spauster.running import running
from papers.spauster.table_1 import point_to_point
from papers.spauster.table_2 import broadcast
from papers.spauster.trade import trade


def sections(tables: Mapping[str, Table]) -> list[Section]:
    sites, sizes = tables["sites"], tables["sizes"]
    return [
        graphs(sites, sizes),
        load(sites, sizes, tables["loads"]),
        trade(tables["figure_5"], tables["trade"]),
        exponential(sites, sizes),
        point_to_point(tables["fixed"], tables["mesh"], sites, sizes),
        broadcast(tables["fixed"], tables["lan"]),
        running(tables["change"], tables["failures"]),
    ]


PAPER = Paper(
    name="spauster",
    title="Garcia-Molina, Spauster 1988: Ordered and Reliable Multicast Communication",
    grids=("sites", "sizes", "loads", "figure_5", "trade", "fixed", "mesh", "lan", "change", "failures"),
    sections=sections,
)
