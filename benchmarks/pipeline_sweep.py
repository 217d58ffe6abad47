"""Sweeps against the ideal, in one run: ratios, session start aside.

400 uneven cells (10 ms to 3 s) against the sum of the cells' own seconds over the cores: at most 1.15 times.
20,000 cells of about 1 ms against a plain loop in as many processes: at most 3 times.

    python benchmarks/pipeline_sweep.py [uneven] [tiny]
"""

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tocsin.spark.session import SessionOptions, open_session
from tocsin.spark.sweep.cell import Cell, run_cell
from tocsin.spark.sweep.grid import Grid
from tocsin.spark.sweep.grid_config import GridConfig
from tocsin.spark.sweep.results import Results
from tocsin.spark.sweep.sweep import Sweep

CORES = min(2, os.cpu_count() or 1)
UNEVEN_BAR = 1.15
TINY_BAR = 3.0


def grid(scenario: dict[str, Any], values: dict[str, list[Any]], replications: int) -> Grid:
    config = GridConfig(scenario=scenario, grid=values, replications=replications)
    return Grid("benchmark", scenario, ".", config)


def sweep_seconds(session: Any, cells: Grid) -> tuple[float, float]:
    """The time of a sweep, and the sum of its cells' own seconds."""
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder), cells, lambda _: "benchmark")
        results.open(keep_old=False)
        began = time.perf_counter()
        Sweep(session, cells, results, CORES).run()
        return time.perf_counter() - began, sum(result.seconds for result in results.cells.values())


def uneven(session: Any) -> bool:
    """A few long cells and many short ones: messages from 50 to 15,000."""
    scenario = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 1, "every_us": 1_000}}
    messages = [int(50 * 1.35**step) for step in range(20)]
    cells = grid(scenario, {"workload.messages": messages}, 20)
    took, work = sweep_seconds(session, cells)
    ratio = took / (work / CORES)
    print(f"400 uneven cells: {took:.1f} s, ideal {work / CORES:.1f} s: {ratio:.2f} times (bar: {UNEVEN_BAR})")
    return ratio <= UNEVEN_BAR


def _plain(share: tuple[Grid, range]) -> None:
    cells, numbers = share
    for replicate in numbers:
        run_cell(cells, Cell(0, replicate))


def tiny(session: Any) -> bool:
    scenario = {"protocol": "ack_all", "sites": 2, "workload": {"messages": 1, "every_us": 1_000}}
    cells = grid(scenario, {}, 20_000)
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        began = time.perf_counter()
        pool.map(_plain, [(cells, range(first, 20_000, CORES)) for first in range(CORES)])
        plain = time.perf_counter() - began
    took, _ = sweep_seconds(session, cells)
    ratio = took / plain
    print(f"20,000 tiny cells: {took:.1f} s, a plain loop {plain:.1f} s: {ratio:.2f} times (bar: {TINY_BAR:g})")
    return ratio <= TINY_BAR


def main() -> int:
    asked = sys.argv[1:] or ["uneven", "tiny"]
    with open_session(SessionOptions(f"local[{CORES}]")) as session:
        reached = [{"uneven": uneven, "tiny": tiny}[name](session) for name in asked]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
