"""`tocsin.audit` and `tocsin.sweep`, with a session of the caller's."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import tocsin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SHOWCASE = Path(__file__).parents[2] / "examples" / "showcase.toml"
GRID = """\
replications = 2
[scenario]
protocol = "ack_all"
sites = 3
[scenario.workload]
messages = 10
every_us = 1000
[grid]
sites = [3, 4]
"""


def decided(report: tocsin.Report) -> dict[str, tuple[str, int, int]]:
    """Without the witness: which of several smallest ones is shown may differ."""
    return {name: (found.verdict, found.checked, found.violations) for name, found in report.properties.items()}


def test_audit_decides_as_check_does_and_leaves_the_session_running(spark: "SparkSession", tmp_path: Path) -> None:
    trace = tocsin.simulate(SHOWCASE).trace
    pq.write_table(trace, tmp_path / "trace.parquet")
    audited, checked = tocsin.audit(tmp_path, spark), tocsin.check(trace)
    assert decided(audited) == decided(checked)
    assert spark.range(3).count() == 3


def test_audit_sorts_what_is_not_sorted(spark: "SparkSession", tmp_path: Path) -> None:
    trace = tocsin.simulate(SHOWCASE).trace
    pq.write_table(trace.sort_by([("time_us", "ascending")]), tmp_path / "trace.parquet")
    assert decided(tocsin.audit([tmp_path], spark)) == decided(tocsin.check(trace))


def test_sweep_gives_a_row_per_cell_and_runs_nothing_twice(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    table = tocsin.sweep(tmp_path / "grid.toml", tmp_path / "out", spark)
    assert table.num_rows == 4 and set(table.column("status").to_pylist()) == {"ok"}
    again = tocsin.sweep(str(tmp_path / "grid.toml"), str(tmp_path / "out"), spark)
    assert again.equals(table), "`seconds` would differ had it run again"
