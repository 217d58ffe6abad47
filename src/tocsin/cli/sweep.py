"""`tocsin sweep GRID.toml --out DIR`: simulate a grid of scenarios on Spark."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tocsin.cli.progress import Bar
from tocsin.cli.tables import output, print_table
from tocsin.core.errors import InputError
from tocsin.spark.session import SessionOptions, cores_of, open_session, parse_settings
from tocsin.spark.sweep.cell import OK, CellResult
from tocsin.spark.sweep.grid import Grid, load_grid
from tocsin.spark.sweep.results import Results, read_status
from tocsin.spark.sweep.sources import CodeVersions
from tocsin.spark.sweep.statistics import mean_and_half_width
from tocsin.spark.sweep.sweep import Progress, Sweep
from tocsin.spark.sweep.wanted import Place, failed_cells, missing_cells, wanted_cells

FAILURES_SHOWN = 10
COMBINATIONS_SHOWN = 40
METRICS_SHOWN = 6
SHOWN_METRICS = ("control_per_broadcast", "delay_us.mean", "delay_us.p99")

EXAMPLES = """\
examples:
  tocsin sweep examples/loss-grid.toml --out out/loss
  tocsin sweep examples/loss-grid.toml --out out/loss     again: runs only what is missing
  tocsin sweep --status out/loss                          from another terminal
  tocsin sweep grid.toml --out out/grid --master spark://host:7077

Results: DIR/results.parquet, a row per cell (docs/sweeps.md has the schema). Exit code 1 when a cell failed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("grid", type=Path, nargs="?", help="a grid file (docs/sweeps.md)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results go, and where a sweep goes on")
    parser.add_argument("--status", type=Path, metavar="DIR", help="only say how far the sweep in DIR is")
    parser.add_argument("--traces", action="store_true", help="keep every cell's trace in DIR/traces")
    parser.add_argument("--keep-old", action="store_true", help="leave results of other code versions in DIR/waves")
    parser.add_argument(
        "--master", metavar="URL", help="a Spark master, or sc://… for Spark Connect (default: this machine)"
    )
    parser.add_argument("--spark", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    if arguments.status is not None:
        return _status(arguments.status, arguments.json)
    if arguments.grid is None or arguments.out is None:
        raise InputError("expected GRID.toml and --out DIR (or --status DIR)")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: an experiment may lie in the current folder
    grid = load_grid(arguments.grid)
    results = Results(arguments.out, grid, CodeVersions(grid).of)
    options = SessionOptions(arguments.master, parse_settings(arguments.spark), "tocsin sweep")
    with results.locked():
        results.open(arguments.keep_old)
        wanted = wanted_cells(grid, results)
        if missing_cells(results, wanted):
            wanted = _run(grid, results, options, arguments.traces)
        results.write_table(wanted)
    broken = failed_cells(results, wanted)
    if arguments.json:
        print(json.dumps(_answer(grid, results, wanted, broken)))
    else:
        _print(grid, results, wanted, broken)
    return 1 if broken else 0


def _run(grid: Grid, results: Results, options: SessionOptions, traces: bool) -> list[Place]:
    with Bar("sweeping", 1.0) as bar:

        def watch(progress: Progress) -> None:
            bar.show(progress.done / max(1, progress.cells), _note(progress))

        print("starting Spark", file=sys.stderr)
        with open_session(options) as session:
            return Sweep(session, grid, results, cores_of(session, options), traces, watch).run()


def _note(progress: Progress) -> str:
    left = progress.estimated_seconds_left
    about = f", about {left:.0f} s left" if left is not None else ""
    return f"{progress.done} of {progress.cells} done, {progress.running} running, {progress.failed} failed{about}"


def _status(folder: Path, as_json: bool) -> int:
    status = read_status(folder)
    if as_json:
        print(json.dumps(status))
        return 0
    progress = Progress(**{name: status[name] for name in Progress.__struct_fields__})
    state = "running" if status["running_now"] else ("finished" if progress.done == progress.cells else "stopped")
    print(f"{state}: {_note(progress)}")
    return 0


def _answer(grid: Grid, results: Results, wanted: list[Place], broken: list[CellResult]) -> dict[str, Any]:
    return {
        "name": grid.name,
        "cells": len(wanted),
        "failed": [
            {
                "parameters": grid.parameters(cell.combination),
                "replicate": cell.replicate,
                "status": cell.status,
                "error": cell.error,
            }
            for cell in broken
        ],
        "results": str(results.table_path),
    }


def _print(grid: Grid, results: Results, wanted: list[Place], broken: list[CellResult]) -> None:
    wanted_metrics = [precision.metric for precision in grid.config.precisions()]
    metrics = dict.fromkeys([*wanted_metrics, *_shown_metrics(grid, results)])
    rows: list[list[str]] = []
    for combination in range(min(grid.combinations, COMBINATIONS_SHOWN)):
        found = [results.find(*place) for place in wanted if place[0] == combination]
        good = [result for result in found if result is not None and result.status == OK]
        cells = [json.dumps(value) for value in grid.parameters(combination).values()]
        rows.append([*cells, str(len(good)), *[_interval(good, metric) for metric in metrics]])
    print_table(output(), [*grid.config.grid, "cells", *metrics], rows)
    if grid.combinations > COMBINATIONS_SHOWN:
        print(f"… and {grid.combinations - COMBINATIONS_SHOWN} combinations more")
    for cell in broken[:FAILURES_SHOWN]:
        error = " ".join((cell.error or "").split())  # one line, whatever it has in it
        print(f"FAILED ({cell.status}): {grid.label(cell.combination)}, replicate {cell.replicate}: {error}")
    if len(broken) > FAILURES_SHOWN:
        print(f"… and {len(broken) - FAILURES_SHOWN} failures more")
    print(f"{len(wanted)} cells, {len(broken)} failed: {results.table_path}")


def _shown_metrics(grid: Grid, results: Results) -> list[str]:
    """The best known numbers of a simulation; all of an experiment."""
    if grid.config.experiment is None:
        return list(SHOWN_METRICS)
    return sorted({name for result in results.cells.values() for name in result.metrics})[:METRICS_SHOWN]


def _interval(results: list[CellResult], metric: str) -> str:
    values = [result.metrics[metric] for result in results if metric in result.metrics]
    if not values:
        return "-"
    mean, half = mean_and_half_width(values)
    return f"{mean:.4g}" if len(values) < 2 else f"{mean:.4g} ± {half:.2g}"
