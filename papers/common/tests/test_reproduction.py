"""The reproduction from end to end: grids, versions, one paper, and all of them on a cluster."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from papers.common.paper import (
    AGREES,
    DIFFERS,
    NOT_DECIDED,
    NOT_REPRODUCED,
    TOO_WIDE,
    Claim,
    Paper,
    Section,
)
from papers.common.reproduction import FOLDER, NAMES, Reproduction, load_grids, papers, sections_of, write_all
from papers.common.table import Mean, Point, Table
from tests.spark.clusters import standalone_cluster
from tocsin.core.errors import InputError
from tocsin.spark.sweep.sources import CodeVersions, code_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    for paper in papers([]):
        assert set(paper.grids) == {path.stem for path in (FOLDER / paper.name / "grids").glob("*.toml")}
        for name, grid in zip(paper.grids, load_grids([paper], quick), strict=True):
            assert grid.name == f"{paper.name}_{name}" and grid.combinations >= 1


def test_the_version_of_a_result_is_that_of_what_it_depends_on() -> None:
    grids = {grid.name: grid for grid in load_grids(papers(["schneider", "garbinato"]), True)}
    first, second = grids["schneider_completion"], grids["garbinato_size"]
    assert code_version(first) == code_version(grids["schneider_duplication"]) != code_version(second)

    needed = {"protocols.baselines.push_gossip.machine", "sim.kernel", "core.rng", "planning.reliability"}
    used = set(CodeVersions(second).sources(0))
    assert {f"tocsin.{name}" for name in needed} | {"papers.garbinato.experiments.regular"} <= used
    for other in ("tocsin.protocols.tree_ack.machine", "tocsin.sim.explore.search", "papers.schneider.experiments"):
        assert other not in used, "a change there leaves the results as they are"


def test_what_rests_on_cells_that_failed_is_not_decided() -> None:
    """Whether a section could be made from what is left or not; sections that rest on other grids are as they were."""
    whole = Table("test_whole", [Mean({}, "m", Point(1.0, 0.0, 1), 1.0, 1.0)])
    broken = Table("test_broken", [])

    def section(*needed: str) -> Callable[[Mapping[str, Table]], Section]:
        def make(tables: Mapping[str, Table]) -> Section:
            found = [tables[name].rows for name in needed]
            return Section("made", "", [Claim("here", "it is so", str(max(found)[0].point.mean), AGREES)])

        return make

    paper = Paper(
        "test", "A test", ("whole", "broken"), (section("whole"), section("whole", "broken"), section("broken"))
    )
    tables = {"whole": whole, "broken": broken}
    first, second, third = sections_of(paper, tables, {"test_broken"})
    assert [claim.verdict for claim in first.claims] == [AGREES]
    assert [claim.verdict for claim in second.claims] == [NOT_DECIDED] and second.title == "made"
    assert [claim.verdict for claim in third.claims] == [NOT_DECIDED] and third.title == "Not made: broken"
    assert all("failed" in claim.because for part in (second, third) for claim in part.claims)
    with pytest.raises(IndexError):
        sections_of(paper, tables, ())  # with all cells there it is a fault of ours, and is not hidden


def test_an_interval_that_is_too_wide_is_told() -> None:
    def make(_: Mapping[str, Table]) -> Section:
        return Section("made", "", [Claim("here", "it is so", "1 ± 9", NOT_DECIDED, "a reason why it would differ")])

    (section,) = sections_of(Paper("test", "A test", (), (make,)), {}, ())
    assert section.claims[0].because == TOO_WIDE


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_one_paper_from_end_to_end(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again: nothing is computed twice."""
    smaller = tmp_path / "schneider" / "grids"
    smaller.mkdir(parents=True)
    for path in (FOLDER / "schneider" / "grids").glob("*.toml"):
        (smaller / path.name).write_text(path.read_text().replace("replications = 200\n", "replications = 20\n"))
    monkeypatch.setattr("papers.common.reproduction.FOLDER", tmp_path)
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
    assert all(
        claim["measured"] and claim["verdict"] in (AGREES, DIFFERS, NOT_REPRODUCED, NOT_DECIDED)
        for claim in here["claims"]
    )
    assert all(claim["because"] for claim in here["claims"] if claim["verdict"] == DIFFERS)
    with standalone_cluster(tmp_path) as address:
        there = reproduce(tmp_path / "there", "--quick", "--master", address)
    assert there["claims"] == here["claims"]
    for pattern in ("plots/*.svg", "tables/*.csv"):
        made = sorted((tmp_path / "here").glob(pattern))
        assert len(made) >= 20
        for path in made:
            assert path.read_bytes() == (tmp_path / "there" / path.parent.name / path.name).read_bytes()
