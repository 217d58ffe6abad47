"""Small tables of a reproduction's experiments, made without Spark, and altered so that verdicts must turn."""

from collections.abc import Callable, Sequence
from typing import Any

from papers.common.paper import Claim, Paper
from papers.common.reproduction import grid_file
from papers.common.table import Mean, Point, Table
from tocsin.spark.sweep.cell import Cell, run_cell
from tocsin.spark.sweep.grid import load_grid

Altering = Callable[[dict[str, Any], str, float], float]  # parameters, metric, mean: another mean


def table_of(
    paper: Paper, name: str, replicates: int, keep: Callable[[dict[str, Any]], bool] = lambda _: True
) -> Table:
    """A small table of the real experiment, by the quick grid."""
    grid = load_grid(grid_file(paper, name), quick=True)
    rows = []
    for combination in range(grid.combinations):
        parameters = grid.parameters(combination)
        if not keep(parameters):
            continue
        results = [run_cell(grid, Cell(combination, number)) for number in range(replicates)]
        numbers: dict[str, list[float]] = {}
        for result in results:
            passed = {f"verdict.{key}": float(value == "pass") for key, value in result.verdicts.items()}
            for metric, value in {**result.metrics, **passed}.items():
                numbers.setdefault(metric, []).append(value)
        for metric, values in numbers.items():
            point = Point(sum(values) / len(values), 0.0, len(values))
            rows.append(Mean(parameters, metric, point, min(values), max(values)))
    return Table(name, rows)


def altered(table: Table, change: Altering) -> Table:
    """The same table with other means."""
    rows = []
    for row in table.rows:
        mean = change(row.parameters, row.metric, row.point.mean)
        rows.append(row._replace(point=row.point._replace(mean=mean)))
    return Table(table.name, rows)


def judged(claims: Sequence[Claim], says: str) -> Claim:
    (found,) = [claim for claim in claims if says in claim.says]
    return found
