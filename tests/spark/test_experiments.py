"""Experiments of a sweep: found by their import path wherever they lie, versioned and shipped with what they import."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.spark.clusters import connect_server, standalone_cluster
from tocsin.core.errors import InputError
from tocsin.spark.sweep.grid import Grid, load_grid
from tocsin.spark.sweep.results import Results
from tocsin.spark.sweep.sources import CodeVersions, code_version, files_to_ship
from tocsin.spark.sweep.sweep import Sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A package of an experimenter: it imports by name, relatively, and a plain file beside it
EXPERIMENT = """
from tocsin.sim.kernel import Kernel
from tocsin.spark.sweep.experiment import Experiment
from lab_units import MILLI
from .helpers.counts import count


class Slow(Experiment, frozen=True):
    sites: int
    factor: float = 1.0

    def measure(self, seed):
        return {"time": MILLI * count(self.sites) * self.factor, "odd": seed % 2}


NOT_ONE = 3
"""
GOOD = {"experiment": "lab.delays:Slow", "arguments": {"factor": 2.0}, "grid": {"sites": [4, 5]}, "replications": 3}


def make_lab(folder: Path) -> None:
    (folder / "lab" / "helpers").mkdir(parents=True)
    (folder / "lab" / "__init__.py").touch()
    (folder / "lab" / "delays.py").write_text(EXPERIMENT)
    (folder / "lab" / "unused.py").write_text("")
    (folder / "lab" / "helpers" / "counts.py").write_text("def count(sites):\n    return sites - 1\n")
    (folder / "lab_units.py").write_text("MILLI = 1000\n")


@pytest.fixture(name="lab")
def lab_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with experiments, on Python's path."""
    make_lab(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lab", "lab_units")]:
        del sys.modules[name]


def load(folder: Path, is_quick: bool = False, **keys: Any) -> Grid:
    (folder / "g.json").write_text(json.dumps({**GOOD, **keys}))
    return load_grid(folder / "g.json", is_quick)


def test_an_experiment_in_a_grid(lab: Path) -> None:
    quick = {"grid": {"sites": [4]}, "replications": 1, "constants": {"factor": 3.0}}
    grid = load(lab, quick=quick)
    first = grid.experiment(0)
    assert grid.name == "g" and first is not None and first.measure(1) == {"time": 6000.0, "odd": 1}
    small = load(lab, True, quick=quick)
    assert (small.combinations, small.replicates_max) == (1, 1)
    first = small.experiment(0)
    assert first is not None and first.measure(1)["time"] == 9000.0


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("loss", "expected an import path like `package.module:Class`, found `loss` .*`name`"),
        ("lab.delays.Slow", "expected an import path"),
        ("lab.delays:", "expected an import path"),
        ("lab/delays:Slow", "expected an import path"),
        ("lab.nothing:Slow", "expected a module that can be imported, found `lab.nothing` .*No module named"),
        ("nowhere_at_all:Slow", "expected a module that can be imported, found `nowhere_at_all`"),
        ("lab.broken:Slow", "expected .*, found `lab.broken` .ZeroDivisionError: division by zero"),
        (
            "lab.delays:Slo",
            r"expected a tocsin.Experiment of `lab.delays` with `measure`, found `Slo` \(did you mean `Slow`\?\)",
        ),
        (
            "lab.delays:NOT_ONE",
            r"expected a tocsin.Experiment of `lab.delays` with `measure`, found `NOT_ONE` \(known: Slow\)",
        ),
        (
            "lab.delays:Experiment",
            "expected a tocsin.Experiment of `lab.delays` with `measure`, found `Experiment`",
        ),
        (
            "lab.delays:Kernel",
            "expected a tocsin.Experiment of `lab.delays` with `measure`, found `Kernel`",
        ),
    ],
)
def test_a_bad_path_is_one_line(lab: Path, path: str, told: str) -> None:
    (lab / "lab" / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=rf"^{lab}/g.json: `experiment`: {told}") as error:
        load(lab, experiment=path)
    assert "\n" not in str(error.value)


def test_bad_arguments_name_their_cell(lab: Path) -> None:
    with pytest.raises(InputError, match='cell with sites = "many": `sites`: expected `int`'):
        load(lab, grid={"sites": [3, "many"]})
    with pytest.raises(InputError, match=r"unknown key `factr` \(did you mean `factor`"):
        load(lab, arguments={"factr": 1})
    with pytest.raises(InputError, match="either `scenario` or `experiment`, found both"):
        load(lab, scenario={"protocol": "ack_all"})


def test_the_version_is_that_of_everything_the_experiment_imports(lab: Path) -> None:
    grid = load(lab)
    used = set(CodeVersions(grid).sources(0))
    own = {name for name in used if not name.startswith("tocsin")}
    assert own == {"lab", "lab.delays", "lab.helpers.counts", "lab_units"}
    assert {"tocsin.spark.sweep.experiment", "tocsin.sim.kernel", "tocsin.core.config"} <= used
    assert not any(name.startswith("tocsin.protocols.counter_token") for name in used)
    before = code_version(grid)
    (lab / "lab" / "unused.py").write_text("x = 1\n")
    assert code_version(grid) == before
    (lab / "lab_units.py").write_text("MILLI = 1_000\n")
    assert code_version(grid) != before


def test_protocols_that_a_grid_or_an_experiment_names_count(lab: Path) -> None:
    machine = "tocsin.protocols.baselines.lamport.machine"
    assert machine not in CodeVersions(load(lab)).sources(0)
    (lab / "lab" / "delays.py").write_text(EXPERIMENT + "\nWHICH = 'lamport'\n")
    assert machine in CodeVersions(load(lab)).sources(0)
    (lab / "g.json").write_text(json.dumps({"scenario": {"protocol": "lamport", "sites": 3}}))
    found = set(CodeVersions(load_grid(lab / "g.json")).sources(0))
    assert {machine, "tocsin.properties.plain.causal", "tocsin.sim.networks.lossy"} <= found
    assert "tocsin.protocols.counter_token.machine" not in found


def test_whole_packages_are_shipped_and_ours_never() -> None:
    """`tests` itself as an experimenter's package: what is beside it in its folder stays here."""
    files = files_to_ship("tests.spark.clusters:Daemon")
    assert {"tests/__init__.py", "tests/spark/clusters.py", "tests/live/harness.py"} <= set(files)
    assert all(name.startswith("tests/") for name in files)


def test_of_installed_packages_only_the_experiments_own_is_followed(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.spark.sweep.sources.INSTALLED", {lab.name})
    assert not any(name.startswith("lab_units") for name in CodeVersions(load(lab)).sources(0))
    assert set(files_to_ship("lab.delays:Slow")) == {
        f"lab/{name}.py" for name in ("__init__", "delays", "helpers/counts", "unused")
    }


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_workers_find_an_experiment_that_only_this_process_can_see(lab: Path, spark: "SparkSession") -> None:
    grid = load(lab)
    results = Results(lab / "out", grid, lambda _: "code")
    results.open(keep_old=False)
    Sweep(spark, grid, results, 2).run()
    assert {cell.status for cell in results.cells.values()} == {"ok"}, next(iter(results.cells.values()))
    found = [results.find(combination, 0) for combination in (0, 1)]
    assert [cell.metrics["time"] for cell in found if cell] == [6000.0, 8000.0]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_same_rows_on_a_cluster_and_through_spark_connect(tmp_path: Path) -> None:
    """The experiment lies in the folder in which `tocsin sweep` is called, and nowhere else."""
    lab = tmp_path / "lab"
    lab.mkdir()
    make_lab(lab)
    (lab / "grid.json").write_text(json.dumps(GOOD))

    def swept(master: str) -> list[dict[str, Any]]:
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        words = [sys.executable, "-m", "tocsin.cli.main", "sweep", "grid.json", "--out", str(out), "--master", master]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, cwd=lab)
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = pq.read_table(out / "results.parquet").drop_columns(["seconds"]).to_pylist()
        assert [row["status"] for row in rows] == ["ok"] * 6, rows[0]
        return rows

    here = swept("local[2]")
    with standalone_cluster(tmp_path) as address:
        assert swept(address) == here
    with connect_server() as address:
        assert swept(address) == here
