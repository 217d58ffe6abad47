"""`tocsin reproduce`: run the grids of the papers asked for, aggregate, draw, judge, and write everything down.

DIR/sweeps/<grid>/             the sweep's own folder: the next call runs only what is missing
DIR/tables/<grid>.csv          means with intervals; also .parquet
DIR/plots/<chart>.svg
DIR/index.html                 the page, which needs nothing else
DIR/reproduction.md            the same for the documentation
"""

import hashlib
import importlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from papers.common.paper import NOT_DECIDED, TOO_WIDE, Claim, Paper, Section
from papers.common.table import Table
from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.spark.sweep.cell import CellResult
from tocsin.spark.sweep.grid import Grid, load_grid
from tocsin.spark.sweep.results import Results, explained
from tocsin.spark.sweep.sources import CodeVersions, code_version
from tocsin.spark.sweep.sweep import Progress, Sweep
from tocsin.spark.sweep.wanted import failed_cells, missing_cells, wanted_cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("schneider", "kogan", "chang_hwang", "spauster", "garbinato")
FOLDER = Path(__file__).parents[1]  # one folder a paper, each with its grids

CELLS_FAILED = "cells that it rests on failed; they are listed at the end"

Watch = Callable[[str, int, int, Progress], None]  # grid, its number, of how many, how far it is


class Reproduced(NamedTuple):
    """Everything that the page shows."""

    papers: list[tuple[Paper, list[Section]]]
    tables: dict[str, Table]
    quick: bool
    code: str
    cells: int
    ran: int  # of them by this call; the others an earlier one has run
    seconds: float  # of this call
    cell_seconds: float  # of all cells, also those that an earlier call has run
    failures: list[str]


def papers(names: Sequence[str]) -> list[Paper]:
    """The papers of these names; all of them if none is named."""
    for name in names:
        if name not in NAMES:
            raise InputError(f"expected a paper, found `{name}`{suggestion(name, list(NAMES))}")
    return [importlib.import_module(f"papers.{name}.paper").PAPER for name in names or NAMES]


def grid_file(paper: Paper, grid: str) -> Path:
    return FOLDER / paper.name / "grids" / f"{grid}.toml"


def load_grids(chosen: Sequence[Paper], quick: bool) -> list[Grid]:
    """Every grid file that the papers need, checked, before anything starts."""
    return [load_grid(grid_file(paper, grid), quick) for paper in chosen for grid in paper.grids]


class Reproduction:
    """Runs the sweeps of some papers in one folder, on a session that the caller started."""

    def __init__(self, folder: Path, chosen: Sequence[Paper], quick: bool) -> None:
        self._folder = folder
        self._papers = chosen
        self._quick = quick
        self._grids = load_grids(chosen, quick)
        self._versions = [code_version(grid) for grid in self._grids]
        _make_parts(folder)
        self._cells = 0
        self._ran = 0
        self._cell_seconds = 0.0
        self._failures: list[str] = []
        self._broken: set[str] = set()  # grids of which a cell failed

    def run(self, session: "SparkSession", cores: int, watch: Watch) -> Reproduced:
        began = time.monotonic()
        paths = [self._sweep(session, cores, grid, number, watch) for number, grid in enumerate(self._grids)]
        tables = self._aggregate(session, paths)
        return Reproduced(
            papers=[(paper, sections_of(paper, _tables_of(paper, tables), self._broken)) for paper in self._papers],
            tables=tables,
            quick=self._quick,
            code=hashlib.blake2b("".join(self._versions).encode(), digest_size=8).hexdigest(),
            cells=self._cells,
            ran=self._ran,
            seconds=time.monotonic() - began,
            cell_seconds=self._cell_seconds,
            failures=self._failures,
        )

    def _sweep(self, session: "SparkSession", cores: int, grid: Grid, number: int, watch: Watch) -> Path:
        results = Results(self._folder / "sweeps" / grid.name, grid, CodeVersions(grid).of)

        def told(progress: Progress) -> None:
            watch(grid.name, number, len(self._grids), progress)

        with results.locked():
            results.open(keep_old=False)
            had = len(results.cells)
            wanted = wanted_cells(grid, results)
            if missing_cells(results, wanted):
                wanted = Sweep(session, grid, results, cores, watch=told).run()
            results.write_table(wanted)
        self._cells += len(wanted)
        self._ran += len(results.cells) - had
        self._cell_seconds += sum(cell.seconds for cell in results.cells.values())
        failures = [_failure(grid, cell) for cell in failed_cells(results, wanted)]
        self._failures += failures
        if failures:
            self._broken.add(grid.name)
        return results.table_path

    def _aggregate(self, session: "SparkSession", paths: Sequence[Path]) -> dict[str, Table]:
        """One job over the results of all grids. They are sent from here: a cluster may not see our files."""
        from papers.common.aggregate import aggregated

        replications_max = max(grid.replicates_max for grid in self._grids)
        columns = ["name", "parameters", "replicate", "status", "metrics", "verdicts"]
        results = session.createDataFrame(pa.concat_tables([pq.read_table(path, columns=columns) for path in paths]))
        rows = [row.asDict() for row in aggregated(session, results, replications_max).collect()]
        return {
            grid.name: Table.of(grid.name, [row for row in rows if row["name"] == grid.name]) for grid in self._grids
        }


class _Read(dict[str, Table]):
    """Tables by name, which notes those that were read."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Table:
        self.names.add(name)
        return super().__getitem__(name)


def sections_of(paper: Paper, tables: Mapping[str, Table], broken: Collection[str]) -> list[Section]:
    """The sections of a paper. `broken`: the grids of which cells failed; what rests on such a grid is not decided."""
    return [_section(make, paper, _Read(tables), broken) for make in paper.sections]


def _section(
    make: Callable[[Mapping[str, Table]], Section], paper: Paper, tables: _Read, broken: Collection[str]
) -> Section:
    try:
        section = make(tables)
    except Exception:  # whatever missing cells lead to; with all cells there it is a fault of ours
        failed = _failed(paper, tables, broken)
        if not failed:
            raise
        claim = Claim("", f"everything that rests on {failed}", "nothing: cells failed", NOT_DECIDED, CELLS_FAILED)
        return Section(f"Not made: {failed}", "Cells of these experiments failed; they are listed at the end.", [claim])
    if _failed(paper, tables, broken):
        claims = [claim._replace(verdict=NOT_DECIDED, because=CELLS_FAILED) for claim in section.claims]
    else:
        claims = [
            claim._replace(because=TOO_WIDE) if claim.verdict == NOT_DECIDED else claim for claim in section.claims
        ]
    return section._replace(claims=claims)


def _failed(paper: Paper, tables: _Read, broken: Collection[str]) -> str:
    return ", ".join(name for name in sorted(tables.names) if f"{paper.name}_{name}" in broken)


def _tables_of(paper: Paper, tables: Mapping[str, Table]) -> dict[str, Table]:
    """A paper's tables, by the names of its grid files."""
    return {grid: tables[f"{paper.name}_{grid}"] for grid in paper.grids}


def _failure(grid: Grid, cell: CellResult) -> str:
    return f"{grid.name}: {grid.label(cell.combination)}, replicate {cell.replicate}: {cell.status}: {cell.error}"


def _make_parts(folder: Path) -> None:
    """The folders of the result: at the start too, so that an impossible one is noticed before anything runs."""
    with explained(folder):
        for name in ("sweeps", "tables", "plots"):
            (folder / name).mkdir(parents=True, exist_ok=True)


def write_all(folder: Path, found: Reproduced) -> None:
    """Tables, plots, the page and the documentation; each written beside its place and renamed."""
    from papers.common.drawing import svg
    from papers.common.markdown import markdown
    from papers.common.page import page

    _make_parts(folder)
    with explained(folder):
        for table in found.tables.values():
            write_whole(folder / "tables" / f"{table.name}.csv", table.csv())
            write_whole(folder / "tables" / f"{table.name}.parquet", table.parquet())
        drawn: dict[str, str] = {}
        for _, sections in found.papers:
            for section in sections:
                for chart in section.charts:
                    drawn[chart.name] = svg(chart)
                    write_whole(folder / "plots" / f"{chart.name}.svg", drawn[chart.name].encode())
        write_whole(folder / "index.html", page(found, drawn).encode())
        write_whole(folder / "reproduction.md", markdown(found).encode())
