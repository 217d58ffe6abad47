"""The curves of Graphs 1 to 5 of Garcia-Molina and Spauster, and the range that the paper looked at."""

from typing import Any

from papers.common.judging import Series
from papers.common.table import Point, Table

SITES, SIZES = (20, 1000), (5, 40)  # the ranges that the paper looked at


def inside(table: Table, over: str, limits: tuple[int, int], distribution: str = "fixed") -> list[dict[str, Any]]:
    """The settings of a table within the paper's range."""
    return [
        where
        for where in table.combinations()
        if where["distribution"] == distribution and limits[0] <= where[over] <= limits[1]
    ]


def curves(table: Table, metric: str, over: str, distribution: str = "fixed") -> dict[int, Series]:
    """By the number of groups."""
    return {
        groups: table.series(metric, over, {"distribution": distribution, "groups": groups})
        for groups in table.values("groups")
    }


def peak(series: Series) -> tuple[Any, Point]:
    return max(series, key=lambda pair: pair[1].mean)


def between(series: Series, limits: tuple[int, int]) -> Series:
    return [(x, point) for x, point in series if limits[0] <= x <= limits[1]]
