"""Chang, Hwang: an ordered and reliable broadcast protocol. Figures 3 to 7 and Tables 1 to 4, by simulation."""

from collections.abc import Mapping

from tocsin.spark.reproduce.paper import Paper, Section
from tocsin.spark.reproduce.papers.chang_hwang_comparison import sections as comparison
from tocsin.spark.reproduce.papers.chang_hwang_delay import delays
from tocsin.spark.reproduce.papers.chang_hwang_figure_3 import figure_3
from tocsin.spark.reproduce.papers.chang_hwang_figure_4 import figure_4
from tocsin.spark.reproduce.papers.chang_hwang_levels import levels
from tocsin.spark.reproduce.papers.chang_hwang_load import errors
from tocsin.spark.reproduce.table import Table


def sections(tables: Mapping[str, Table]) -> list[Section]:
    control, lossy = tables["chang_hwang_figure_3"], tables["chang_hwang_figure_4"]
    return [
        figure_3(control, lossy, tables["chang_hwang_overtaken"]),
        delays(control, tables["chang_hwang_commit"], lossy),
        figure_4(lossy, tables["chang_hwang_requests"]),
        *comparison(tables),
        errors(tables["chang_hwang_load"], tables["chang_hwang_repair"]),
        levels(tables["chang_hwang_levels"]),
    ]


PAPER = Paper(
    name="chang_hwang",
    title="Chang, Hwang: An Ordered and Reliable Broadcast Protocol for Distributed Systems",
    grids=(
        "chang_hwang_figure_3",
        "chang_hwang_figure_4",
        "chang_hwang_requests",
        "chang_hwang_commit",
        "chang_hwang_overtaken",
        "chang_hwang_rivals",
        "chang_hwang_counter_lan",
        "chang_hwang_counter_mesh",
        "chang_hwang_owner_time",
        "chang_hwang_load",
        "chang_hwang_repair",
        "chang_hwang_levels",
    ),
    sections=sections,
)
