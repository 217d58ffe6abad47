"""Garcia-Molina, Spauster 1988: ordered and reliable multicast. The parts are in `spauster_*.py`."""

from collections.abc import Mapping

from tocsin.spark.reproduce.paper import Paper, Section
from tocsin.spark.reproduce.papers import spauster_graphs, spauster_load, spauster_running, spauster_tables
from tocsin.spark.reproduce.table import Table

GRIDS = ("sites", "sizes", "loads", "figure_5", "trade", "fixed", "mesh", "lan", "change", "failures")


def sections(tables: Mapping[str, Table]) -> list[Section]:
    given = {name: tables[f"spauster_{name}"] for name in GRIDS}
    return [
        spauster_graphs.graphs(given["sites"], given["sizes"]),
        spauster_load.load(given["sites"], given["sizes"], given["loads"]),
        spauster_load.trade(given["figure_5"], given["trade"]),
        spauster_graphs.exponential(given["sites"], given["sizes"]),
        spauster_tables.point_to_point(given["fixed"], given["mesh"], given["sites"], given["sizes"]),
        spauster_tables.broadcast(given["fixed"], given["lan"]),
        spauster_running.running(given["change"], given["failures"]),
    ]


PAPER = Paper(
    name="spauster",
    title="Garcia-Molina, Spauster 1988: Ordered and Reliable Multicast Communication",
    grids=[f"spauster_{name}" for name in GRIDS],
    sections=sections,
)
