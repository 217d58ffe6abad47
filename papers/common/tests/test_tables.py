"""Cells become means with intervals, and tables that answer."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers.common.aggregate import aggregated
from papers.common.table import Mean, Point, Table
from tocsin.core.errors import InputError
from tocsin.spark.sweep.results import SCHEMA
from tocsin.spark.sweep.statistics import mean_and_half_width

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cell(replicate: int, metrics: dict[str, float], status: str = "ok", **verdicts: str) -> dict[str, Any]:
    return {
        "key": f"{replicate}",
        "name": "e",
        "parameters": [("b", "2"), ("a", "[1, 2]")],
        "replicate": replicate,
        "seed": replicate,
        "code": "c",
        "status": status,
        "error": None,
        "metrics": list(metrics.items()),
        "verdicts": list(verdicts.items()),
        "seconds": 0.0,
    }


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_means_are_those_of_plain_arithmetic(spark: "SparkSession") -> None:
    values = [0.1, 0.7, 0.30000000000000004, 1e9, 5.5]
    cells = [cell(number, {"x": value}, fifo="pass") for number, value in enumerate(values)]
    cells[2] = cell(2, {"x": values[2]}, fifo="fail", safe="not checkable")
    cells.append(cell(5, {"once": 3.0, "x": 4.0}, status="timeout"))
    cells.append(cell(6, {"once": 3.0}))
    answers = []
    for partitions in (1, 4):
        frame = spark.createDataFrame(pa.Table.from_pylist(cells, SCHEMA)).repartition(partitions)
        answers.append([row.asDict() for row in aggregated(spark, frame, 10).collect()])
    assert answers[0] == answers[1], "the order of cells does not matter, to the last bit"
    rows = {row["metric"]: row for row in answers[0]}
    mean, half = mean_and_half_width(values)
    assert rows["x"]["replications"] == 5 and (rows["x"]["low"], rows["x"]["high"]) == (0.1, 1e9)
    assert math.isclose(rows["x"]["mean"], mean) and math.isclose(rows["x"]["half_width"], half)
    assert rows["verdict.fifo"]["mean"] == 0.8 and "verdict.safe" not in rows
    assert rows["once"]["replications"] == 1 and rows["once"]["half_width"] is None, "a failed cell says nothing"
    table = Table.of("e", answers[0])
    assert table.point("x", {"a": [1, 2], "b": 2}).replications == 5


def table_of(values: dict[int, list[float]]) -> Table:
    rows = []
    for sites, found in values.items():
        mean, half = mean_and_half_width(found)
        point = Point(mean, half if len(found) > 1 else 0.0, len(found))
        rows.append(Mean({"sites": sites, "shape": "ring"}, "time", point, min(found), max(found)))
    return Table("times", rows)


def test_a_table_answers_and_says_what_it_lacks(tmp_path: Path) -> None:
    table = table_of({10: [5.0, 6.0], 2: [1.0, 1.0], 4: [2.0]})
    assert [x for x, _ in table.series("time", "sites", {"shape": "ring"})] == [2, 4, 10]
    assert table.values("sites") == [2, 4, 10] and table.replications() == (1, 2)
    assert table.point("time", {"shape": "ring", "sites": 10}).told() == "5.5 ± 6.4"
    with pytest.raises(InputError, match="no result for time at"):
        table.point("time", {"shape": "ring", "sites": 3})
    lines = table.csv().decode().splitlines()
    assert lines[0] == "sites,shape,metric,replications,mean,half_width_95,smallest,largest"
    assert lines[2] == "4,ring,time,1,2.0,,2.0,2.0"
    (tmp_path / "t.parquet").write_bytes(table.parquet())
    assert pq.read_table(tmp_path / "t.parquet").column("mean").to_pylist() == [1.0, 2.0, 5.5]


def test_numbers_are_told_without_exponents() -> None:
    assert Point(1336.7, 128.4, 3).told(3) == "1,340 ± 130"
    assert Point(0.00018, 0.000073, 3).told() == "0.00018 ± 7.3e-05"
    assert Point(2.0, 0.0, 3).told() == "2"
