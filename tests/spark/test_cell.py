"""A cell that raises, hangs, eats memory or dies costs one row; the others go on."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tocsin.spark.sweep import cell as cells
from tocsin.spark.sweep.cell import Cell, CellResult, run_cell, run_cells
from tocsin.spark.sweep.grid import Grid
from tocsin.spark.sweep.grid_config import GridConfig, LimitsConfig

BASE: dict[str, Any] = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 5, "every_us": 100}}


def grid(**limits: Any) -> Grid:
    config = GridConfig(scenario=BASE, grid={"sites": [3, 4, 5]}, limits=LimitsConfig(**limits))
    return Grid("test", BASE, ".", config)


ALL = [Cell(combination, replicate) for combination in range(3) for replicate in range(2)]


def without_seconds(result: CellResult) -> CellResult:
    return msgspec.structs.replace(result, seconds=0.0)


def test_a_child_gives_the_same_results_as_this_process() -> None:
    here = [without_seconds(run_cell(grid(), cell)) for cell in ALL]
    there = [without_seconds(result) for result in run_cells(grid(), ALL)]
    assert here == there and all(result.status == "ok" for result in here)
    assert here[0].metrics["deliveries"] == 15.0 and here[0].verdicts["agreement"] == "pass"


def raise_something() -> None:
    raise ValueError("seven")


def hang() -> None:
    time.sleep(60)


def eat() -> None:
    hoard = [bytearray(1 << 24) for _ in range(200)]
    assert not hoard


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("misbehave", "status", "told"),
    [
        (raise_something, "error", "ValueError: seven"),
        (hang, "timeout", "longer than 0.3 s"),
        (eat, "memory", "more than 500 MB"),
        (die, "crash", "SIGSEGV"),
    ],
)
def test_one_bad_cell(monkeypatch: pytest.MonkeyPatch, misbehave: Any, status: str, told: str) -> None:
    real = run_cell

    def sometimes(the_grid: Grid, cell: Cell, traces: Path | None) -> CellResult:
        if cell == ALL[2]:
            misbehave()
        return real(the_grid, cell, traces)

    monkeypatch.setattr(cells, "run_cell", sometimes)
    limits = {"seconds": 0.3} if misbehave is hang else {"memory_mb": 500}
    results = list(run_cells(grid(**limits), ALL))
    assert [result.status for result in results] == ["ok", "ok", status, "ok", "ok", "ok"]
    assert told in (results[2].error or "")


def test_no_child_is_left_behind() -> None:
    before = {child.pid for child in psutil.Process().children()}  # other tests of this process may have some
    list(run_cells(grid(), ALL[:1]))
    assert {child.pid for child in psutil.Process().children()} <= before


def test_traces_are_kept_when_asked_for(tmp_path: Path) -> None:
    result = next(iter(run_cells(grid(), ALL[:1], tmp_path)))
    assert result.status == "ok"
    assert [path.name for path in tmp_path.iterdir()] == [f"{grid().key(0, 0)}.parquet"]
