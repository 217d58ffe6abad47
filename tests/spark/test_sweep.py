"""Sweeps on a real Spark session: the same results however they are cut, interrupted and gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.spark.clusters import connect_server, standalone_cluster
from tocsin.spark.sweep.grid import load_grid
from tocsin.spark.sweep.results import Results, read_status
from tocsin.spark.sweep.sweep import Progress, Sweep
from tocsin.spark.sweep.wanted import failed_cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

BASE = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 20, "every_us": 100}, "network": {"loss": 0.1}}


def write_grid(folder: Path, **keys: Any) -> Path:
    path = folder / "grid.json"
    path.write_text(json.dumps({"scenario": BASE, "grid": {"sites": [3, 4, 6]}, "replications": 3, **keys}))
    return path


def rows(folder: Path) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = pq.read_table(folder / "results.parquet").drop_columns(["seconds"]).to_pylist()
    return table


def sweep(session: "SparkSession", path: Path, out: Path, cores: int = 2) -> Results:
    grid = load_grid(path)
    results = Results(out, grid, lambda _: "code")
    results.open(keep_old=False)
    results.write_table(Sweep(session, grid, results, cores).run())
    return results


def test_the_same_rows_for_any_partitioning(spark: "SparkSession", tmp_path: Path) -> None:
    path = write_grid(tmp_path)
    sweep(spark, path, tmp_path / "one", cores=1)
    sweep(spark, path, tmp_path / "five", cores=5)
    assert rows(tmp_path / "one") == rows(tmp_path / "five")
    assert len(rows(tmp_path / "one")) == 9
    assert {row["status"] for row in rows(tmp_path / "one")} == {"ok"}


def test_only_what_is_missing_runs(spark: "SparkSession", tmp_path: Path) -> None:
    small = write_grid(tmp_path, replications=2)
    sweep(spark, small, tmp_path / "out")
    waves = sorted((tmp_path / "out" / "waves" / "code").iterdir())
    kept = {path: path.read_bytes() for path in waves}
    large = write_grid(tmp_path, replications=3)
    sweep(spark, large, tmp_path / "out")
    added = [path for path in (tmp_path / "out" / "waves" / "code").iterdir() if path not in kept]
    assert sum(pq.read_metadata(path).num_rows for path in added) == 3
    assert all(path.read_bytes() == data for path, data in kept.items())
    sweep(spark, large, tmp_path / "whole")
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


def test_a_bad_cell_is_a_row_and_progress_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    path = write_grid(tmp_path, limits={"seconds": 0.001}, replications=1)
    grid = load_grid(path)
    results = Results(tmp_path / "out", grid, lambda _: "code")
    results.open(keep_old=False)
    seen: list[Progress] = []
    wanted = Sweep(spark, grid, results, 2, watch=seen.append).run()
    assert {cell.status for cell in failed_cells(results, wanted)} == {"timeout"}
    assert seen[-1].done == seen[-1].cells == 3 and seen[-1].failed == 3
    status = read_status(tmp_path / "out")
    assert status["done"] == 3 and status["running_now"] is False


def test_precision_adds_replications(spark: "SparkSession", tmp_path: Path) -> None:
    precision = {"metric": "delay_us.mean", "half_width": 0.2, "at_most": 12}
    results = sweep(spark, write_grid(tmp_path, replications=2, precision=precision), tmp_path / "out")
    counts = [sum(1 for cell in results.cells.values() if cell.combination == n) for n in range(3)]
    assert max(counts) > 2 and all(2 <= count <= 12 for count in counts)


@pytest.mark.long
def test_kill_9_and_go_on(tmp_path: Path) -> None:
    """The driver dies in the middle; the next call runs the rest; the table is that of an undisturbed sweep."""
    heavy = {**BASE, "workload": {"messages": 2_000, "every_us": 100}}
    path = write_grid(tmp_path, scenario=heavy, replications=20)
    command = [sys.executable, "-m", "tocsin.cli.main", "sweep", str(path), "--out"]
    broken = subprocess.Popen(
        [*command, str(tmp_path / "broken")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 600
    while not list((tmp_path / "broken").glob("waves/*/*.parquet")) and time.monotonic() < deadline:
        assert broken.poll() is None, "finished before it could be killed"
        time.sleep(0.05)
    os.kill(broken.pid, signal.SIGKILL)
    broken.wait()
    assert not (tmp_path / "broken" / "results.parquet").exists()
    finished = sum(pq.read_metadata(wave).num_rows for wave in (tmp_path / "broken").glob("waves/*/*.parquet"))
    assert 0 < finished < 60
    for out in ("broken", "whole"):
        done = subprocess.run([*command, str(tmp_path / out), "--json"], capture_output=True, check=True)
        assert json.loads(done.stdout)["cells"] == 60
    assert rows(tmp_path / "broken") == rows(tmp_path / "whole")


@pytest.mark.long
def test_the_same_rows_on_a_cluster_and_through_spark_connect(tmp_path: Path) -> None:
    """Three masters, three processes: `local[2]`, a master with two workers, a Connect server."""
    path = write_grid(tmp_path)

    def swept(master: str) -> list[dict[str, Any]]:
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        words = [sys.executable, "-m", "tocsin.cli.main", "sweep", str(path), "--out", str(out), "--master", master]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["cells"] == 9
        return rows(out)

    here = swept("local[2]")
    with standalone_cluster(tmp_path) as address:
        assert swept(address) == here
    with connect_server() as address:
        assert swept(address) == here
