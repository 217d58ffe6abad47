"""The reproduction: means with intervals, verdicts that can come out otherwise, a page that needs nothing else."""

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.clusters import standalone_cluster
from tocsin.calculations.calculation import Calculation
from tocsin.calculations.registry import CALCULATIONS
from tocsin.core.errors import InputError
from tocsin.spark.reproduce.aggregate import aggregated
from tocsin.spark.reproduce.drawing import svg
from tocsin.spark.reproduce.judging import falls, near, rises, slope
from tocsin.spark.reproduce.markdown import markdown
from tocsin.spark.reproduce.page import page
from tocsin.spark.reproduce.paper import (
    AGREES,
    DIFFERS,
    NOT_REPRODUCED,
    Chart,
    Claim,
    Line,
    Listing,
    Mark,
    Paper,
    Section,
    exact,
    verdict,
)
from tocsin.spark.reproduce.reproduction import GRIDS, NAMES, Reproduced, Reproduction, load_grids, papers, write_all
from tocsin.spark.reproduce.table import Mean, Point, Table
from tocsin.spark.sweep.grid import load_grid
from tocsin.spark.sweep.results import SCHEMA
from tocsin.spark.sweep.sources import PACKAGE, _sources, code_version
from tocsin.spark.sweep.statistics import mean_and_half_width

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cell(replicate: int, metrics: dict[str, float], status: str = "ok", **verdicts: str) -> dict[str, Any]:
    return {
        "key": f"{replicate}",
        "experiment": "e",
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


def test_shapes_are_judged_by_their_intervals() -> None:
    def series(*points: tuple[float, float]) -> list[tuple[int, Point]]:
        return [(x, Point(mean, half, 3)) for x, (mean, half) in enumerate(points)]

    assert rises(series((1, 0.1), (2, 0.1), (1.95, 0.1), (3, 0.1)))
    assert not rises(series((1, 0.1), (2, 0.1), (1.5, 0.1), (3, 0.1))), "surely down in between"
    assert not rises(series((1, 1.0), (2, 1.0))), "too uncertain"
    assert falls(series((3, 0.1), (2, 0.1))) and not falls(series((2, 0.1), (3, 0.1)))
    assert near(Point(4.4, 0.1, 3), 4, 0.1) and not near(Point(4.6, 0.1, 3), 4, 0.1)
    assert slope(series((1, 0), (3, 0), (5, 0))) == 2.0
    assert [verdict(True), verdict(False, "why"), verdict(False)] == [AGREES, DIFFERS, NOT_REPRODUCED]


def test_numbers_are_told_without_exponents() -> None:
    assert Point(1336.7, 128.4, 3).told(3) == "1,340 ± 130"
    assert Point(0.00018, 0.000073, 3).told() == "0.00018 ± 7.3e-05"
    assert Point(2.0, 0.0, 3).told() == "2"


def reproduced() -> Reproduced:
    chart = Chart(
        name="one",
        title="Times & sizes",
        x_label="sites",
        y_label="ms",
        lines=[
            Line("measured", [(1, Point(2, 0.5, 3)), (2, Point(4, 0.5, 3))]),
            Line("formula", [(1, exact(2)), (2, exact(4))], formula=True),
        ],
        marks=[Mark("the paper: 4", 2, 4)],
    )
    claims = [
        Claim("Figure 1", "a < b", "1 ± 0.1", AGREES),
        Claim("Figure 2", "c | d", "2", DIFFERS, "of <this>"),
        Claim("Figure 3", "e", "3", NOT_REPRODUCED),
    ]
    section = Section("Times", "Text.", claims, [chart], [Listing("Rows", ["x", "y"], [["1", "2"]])])
    paper = Paper("some", "Somebody 1999", (), lambda tables: [section])
    table = table_of({2: [1.0, 2.0]})
    return Reproduced([(paper, [section])], {"times": table}, True, "abc", 2, 2, 1.5, 3.0, ["times: cell 7: timeout"])


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    found = reproduced()
    write_all(tmp_path, found)
    text = (tmp_path / "index.html").read_text()
    for needed in ("a &lt; b", "of &lt;this&gt;", "not reproduced", "1 agree, 1 differ", "Times &amp; sizes", "<svg"):
        assert needed in text
    assert "times: cell 7: timeout" in text
    assert "<script" not in text and "<link" not in text and "@import" not in text and "src=" not in text
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["times.csv", "times.parquet"]
    told = (tmp_path / "reproduction.md").read_text()
    assert "c \\| d" in told and "**differs**: of <this>" in told and "code abc" in told
    assert markdown(found) == told and "One call ran them all, in 2 s." in told
    assert "The last call ran 1 of the cells, in 2 s; earlier ones the others." in markdown(found._replace(ran=1))


def test_a_chart_is_the_same_bytes_again_and_twice_on_a_page() -> None:
    chart = reproduced().papers[0][1][0].charts[0]
    assert svg(chart) == svg(chart)
    drawn = page(reproduced(), {"one": svg(chart)})
    names = [part.split('"')[0] for part in drawn.split(' id="')[1:]]
    assert len(set(names)) == len(names), "ids of charts do not collide"


def test_what_lies_below_zero_is_drawn() -> None:
    def ticks(*means: float) -> str:
        points = [(number, Point(mean, 0.001, 3)) for number, mean in enumerate(means, 1)]
        return svg(Chart("one", "Excess", "heartbeats", "part", [Line("measured", points)]))

    assert "−" in ticks(-0.02, 0.01) and "−" not in ticks(0.02, 0.01)


def test_names_are_known_or_refused() -> None:
    assert [paper.name for paper in papers([])] == list(NAMES)
    with pytest.raises(InputError, match="did you mean `schneider`"):
        papers(["schnieder"])


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="out: cannot be written: not a directory"):
        Reproduction(tmp_path / "file" / "out", papers(["schneider"]), True)


@pytest.mark.parametrize("quick", [True, False])
def test_every_grid_is_whole(quick: bool) -> None:
    """All files are read and all their cells checked; quick ones have no cells but those of the whole, or fewer."""
    grids = load_grids(papers([]), quick)
    assert len({grid.experiment for grid in grids}) == len(grids)
    for grid in grids:
        assert grid.combinations >= 1


def test_every_calculation_is_there_and_measures() -> None:
    for name, kind in CALCULATIONS.items():
        found = getattr(importlib.import_module(f"tocsin.calculations.{name.split('.')[0]}"), kind)
        assert issubclass(found, Calculation) and found.measure is not Calculation.measure, name


def test_calculations_in_a_grid(tmp_path: Path) -> None:
    def load(keys: dict[str, Any], quick: bool = False) -> Any:
        (tmp_path / "g.json").write_text(json.dumps(keys))
        return load_grid(tmp_path / "g.json", quick)

    good = {
        "calculation": "schneider.completion",
        "arguments": {"shape": "bush", "times": [2, 1]},
        "grid": {"sites": [4, 5]},
        "replications": 3,
        "quick": {"grid": {"sites": [4]}, "replications": 1, "constants": {"shape": "chain"}},
    }
    assert load(good).calculation(0).measure(1)["completion"] == 4.0
    small = load(good, quick=True)
    assert (small.combinations, small.replicates_max) == (1, 1)
    assert small.calculation(0).measure(1)["completion"] == 6.0
    with pytest.raises(InputError, match="did you mean `schneider"):
        load({**good, "calculation": "schneider.completion_"})
    with pytest.raises(InputError, match="cell with sites = 1"):
        load({**good, "grid": {"sites": [1]}})
    with pytest.raises(InputError, match="either `scenario` or `calculation`"):
        load({**good, "scenario": {"protocol": "ack_all"}})


def test_the_version_of_a_result_is_that_of_what_it_depends_on(tmp_path: Path) -> None:
    grids = {grid.experiment: grid for grid in load_grids(papers(["schneider", "garbinato"]), True)}
    first, second = grids["schneider_completion"], grids["garbinato_size"]
    assert code_version(first) == code_version(grids["schneider_duplication"]) != code_version(second)

    def used(grid: Any) -> set[str]:
        return {".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in _sources(grid)}

    needed = {"calculations.garbinato_runs", "protocols.baselines.push_gossip.machine", "sim.kernel", "core.rng"}
    assert needed <= used(second) and "planning.reliability" in used(second)
    for other in ("protocols.tree_ack.machine", "sim.explore", "calculations.schneider"):
        assert other not in used(second), "a change there leaves the results as they are"
    (tmp_path / "g.json").write_text(json.dumps({"scenario": {"protocol": "lamport", "sites": 3}}))
    found = used(load_grid(tmp_path / "g.json"))
    assert {"protocols.baselines.lamport.machine", "properties.plain.causal", "sim.networks.lossy"} <= found
    assert "protocols.counter_token.machine" not in found


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_one_paper_from_end_to_end(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again: nothing is computed twice."""
    smaller = tmp_path / "grids"
    smaller.mkdir()
    for name in ("schneider_completion", "schneider_duplication"):
        text = (GRIDS / f"{name}.toml").read_text()
        (smaller / f"{name}.toml").write_text(text.replace("replications = 200\n", "replications = 20\n"))
    monkeypatch.setattr("tocsin.spark.reproduce.reproduction.GRIDS", smaller)
    seen: list[str] = []
    out = tmp_path / "out"
    first = Reproduction(out, papers(["schneider"]), True).run(spark, 2, lambda name, *rest: seen.append(name))
    assert set(seen) == {"schneider_completion", "schneider_duplication"} and not first.failures
    seen.clear()
    second = Reproduction(out, papers(["schneider"]), True).run(spark, 2, lambda name, *rest: seen.append(name))
    assert not seen and [t.csv() for t in second.tables.values()] == [t.csv() for t in first.tables.values()]
    write_all(out, second)
    claims = [claim for _, sections in second.papers for section in sections for claim in section.claims]
    assert len(claims) == 9 and sum(claim.verdict == AGREES for claim in claims) >= 7


def reproduce(out: Path, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tocsin.cli.main", "reproduce", "--json", "--out", str(out), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_quick_makes_the_page_and_a_cluster_the_same_figures(tmp_path: Path) -> None:
    here = reproduce(tmp_path / "here", "--quick")
    assert not here["failed"] and len(here["claims"]) >= 40
    assert all(claim["measured"] and claim["verdict"] in (AGREES, DIFFERS, NOT_REPRODUCED) for claim in here["claims"])
    assert all(claim["because"] for claim in here["claims"] if claim["verdict"] == DIFFERS)
    with standalone_cluster(tmp_path) as address:
        there = reproduce(tmp_path / "there", "--quick", "--master", address)
    assert there["claims"] == here["claims"]
    for pattern in ("plots/*.svg", "tables/*.csv"):
        made = sorted((tmp_path / "here").glob(pattern))
        assert len(made) >= 20
        for path in made:
            assert path.read_bytes() == (tmp_path / "there" / path.parent.name / path.name).read_bytes()
