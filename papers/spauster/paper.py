"""Garcia-Molina, Spauster 1988: ordered and reliable multicast."""

from papers.common.paper import Paper
from papers.spauster.exponential import exponential
from papers.spauster.graphs import graphs
from papers.spauster.load import load
from papers.spauster.running import running
from papers.spauster.table_1 import point_to_point
from papers.spauster.table_2 import broadcast
from papers.spauster.trade import trade

SECTIONS = (
    lambda tables: graphs(tables["sites"], tables["sizes"]),
    lambda tables: load(tables["sites"], tables["sizes"], tables["loads"]),
    lambda tables: trade(tables["figure_5"], tables["trade"]),
    lambda tables: exponential(tables["sites"], tables["sizes"]),
    lambda tables: point_to_point(tables["fixed"], tables["mesh"], tables["sites"], tables["sizes"]),
    lambda tables: broadcast(tables["fixed"], tables["lan"]),
    lambda tables: running(tables["change"], tables["failures"]),
)

PAPER = Paper(
    name="spauster",
    title="Garcia-Molina, Spauster 1988: Ordered and Reliable Multicast Communication",
    grids=("sites", "sizes", "loads", "figure_5", "trade", "fixed", "mesh", "lan", "change", "failures"),
    sections=SECTIONS,
)
