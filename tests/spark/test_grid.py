"""Grids: combinations, seeds, keys, and what is refused before anything starts."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tocsin.core.errors import InputError
from tocsin.spark.sweep.cell import CellResult
from tocsin.spark.sweep.grid import Grid, load_grid
from tocsin.spark.sweep.results import Results, read_status
from tocsin.spark.sweep.sources import CodeVersions, code_version
from tocsin.spark.sweep.statistics import mean_and_half_width, student_quantile
from tocsin.spark.sweep.wanted import missing_cells, wanted_cells

BASE = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 5, "every_us": 100}}


def write(tmp_path: Path, **keys: Any) -> Path:
    path = tmp_path / "grid.json"
    path.write_text(json.dumps({"scenario": BASE, **keys}))
    return path


def grid(tmp_path: Path, **keys: Any) -> Grid:
    return load_grid(write(tmp_path, **keys))


def test_combinations_in_the_order_of_the_file(tmp_path: Path) -> None:
    two = grid(tmp_path, grid={"sites": [3, 4], "network.loss": [0.0, 0.1, 0.2]})
    assert two.combinations == 6
    assert [two.parameters(n) for n in (0, 1, 3)] == [
        {"sites": 3, "network.loss": 0.0},
        {"sites": 3, "network.loss": 0.1},
        {"sites": 4, "network.loss": 0.0},
    ]
    assert two.document(5)["network"] == {"loss": 0.2} and two.document(5)["sites"] == 4
    assert "network" not in BASE, "the base is not changed"


def test_a_seed_comes_from_the_identity_of_its_cell(tmp_path: Path) -> None:
    small = grid(tmp_path, grid={"sites": [3, 4]}, replications=2)
    large = grid(tmp_path, grid={"sites": [2, 3, 4, 5]}, replications=9)
    assert small.seed(0, 1) == large.seed(1, 1) and small.key(0, 1) == large.key(1, 1)
    seeds = {large.seed(combination, replicate) for combination in range(4) for replicate in range(9)}
    assert len(seeds) == 36
    other = grid(tmp_path, grid={"sites": [3, 4]}, name="other")
    assert other.seed(0, 1) != small.seed(0, 1)


def test_an_edited_base_makes_other_cells_with_the_same_seeds(tmp_path: Path) -> None:
    before = grid(tmp_path, grid={"sites": [3]})
    path = write(tmp_path, grid={"sites": [3]})
    document = json.loads(path.read_text())
    document["scenario"]["workload"]["messages"] = 6
    path.write_text(json.dumps(document))
    after = load_grid(path)
    assert before.key(0, 0) != after.key(0, 0) and before.seed(0, 0) == after.seed(0, 0)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"grid": {"network.loss": [0.0, 1.5]}}, "cell with network.loss = 1.5"),
        ({"grid": {"sites": [3, "x"]}}, 'cell with sites = "x"'),
        ({"grid": {"protocol": ["ack_all", "ack_non"]}}, "unknown protocol `ack_non`"),
        ({"grid": {"sites": []}}, "grid"),
        ({"grid": {"sites": [3, 3]}}, "expected different values"),
        ({"grid": {"sites.x": [3]}}, "not a table"),
        ({"grid": {"workload": [{}], "workload.messages": [1]}}, "lies inside"),
        ({"grid": {".": [3]}}, "dotted keys"),
        ({"replications": 0}, "replications"),
        ({"replication": 3}, "did you mean `replications`?"),
        ({"grid": {"network.loss": [n / 4000 for n in range(4000)]}, "replications": 100_000}, "at most"),
    ],
)
def test_bad_grids_are_refused_before_anything_starts(tmp_path: Path, keys: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=r"grid\.json") as refused:
        load_grid(write(tmp_path, **keys))
    assert told in str(refused.value)


def result(combination: int, replicate: int, value: float, status: str = "ok") -> CellResult:
    return CellResult(
        combination=combination,
        replicate=replicate,
        status=status,
        error=None,
        seconds=0.0,
        metrics={"m": value},
        verdicts={},
    )


def test_replications_grow_until_the_precision_is_reached(tmp_path: Path) -> None:
    precise = {"metric": "m", "half_width": 0.05, "at_most": 20}
    noisy = grid(tmp_path, grid={"sites": [3, 4]}, replications=4, precision=precise)
    results = Results(tmp_path / "out", noisy, lambda _: "code")
    results.open(keep_old=False)
    assert len(wanted_cells(noisy, results)) == 8
    results.add([result(0, replicate, 10.0 + 0.001 * replicate) for replicate in range(4)])  # at once precise
    results.add([result(1, replicate, 10.0 + 9.0 * (replicate % 2)) for replicate in range(4)])  # never
    assert missing_cells(results, wanted_cells(noisy, results)) == [(1, 4), (1, 5)]
    while missing := missing_cells(results, wanted_cells(noisy, results)):
        results.add([result(*place, 10.0 + 9.0 * (place[1] % 2)) for place in missing])
    assert len(wanted_cells(noisy, results)) == 4 + 20


def test_students_t() -> None:
    assert [round(student_quantile(n), 3) for n in (1, 4, 7, 10, 30, 100)] == [
        12.706,
        2.776,
        2.365,
        2.228,
        2.042,
        1.984,
    ]
    mean, half = mean_and_half_width([1.0, 2.0, 3.0])
    assert mean == 2.0 and abs(half - 4.3027 / 3**0.5) < 1e-3


def test_results_of_another_code_are_not_mixed_in(tmp_path: Path) -> None:
    one = grid(tmp_path, grid={"sites": [3]}, replications=2)
    old = Results(tmp_path / "out", one, lambda _: "old")
    old.open(keep_old=False)
    old.add([result(0, 0, 1.0)])
    again = Results(tmp_path / "out", one, lambda _: "old")
    again.open(keep_old=False)
    assert again.find(0, 0) is not None
    kept_apart = Results(tmp_path / "out", one, lambda _: "new")
    kept_apart.open(keep_old=True)
    assert kept_apart.find(0, 0) is None and (tmp_path / "out" / "waves" / "old").is_dir()
    replaced = Results(tmp_path / "out", one, lambda _: "new")
    replaced.open(keep_old=False)
    assert replaced.find(0, 0) is None and not (tmp_path / "out" / "waves" / "old").exists()


def test_only_what_a_sweep_wrote_and_has_become_old_is_removed(tmp_path: Path) -> None:
    one = grid(tmp_path, grid={"sites": [3]}, replications=2)
    other = grid(tmp_path, grid={"sites": [4]}, replications=2)
    waves = tmp_path / "out" / "waves"
    for cells, code in ((one, "first"), (other, "second")):
        results = Results(tmp_path / "out", cells, lambda _, code=code: code)  # type: ignore[misc]
        results.open(keep_old=False)
        results.add([result(0, 0, 1.0)])
    (waves / "my_recordings").mkdir()
    (waves / "my_recordings" / "song.wav").write_bytes(b"la la")
    (waves / "first" / "notes.txt").write_text("mine")
    pq.write_table(pa.table({"a": [1]}), waves / "my_recordings" / "000007.parquet")
    changed = Results(tmp_path / "out", one, lambda _: "third")
    changed.open(keep_old=False)
    assert changed.find(0, 0) is None
    left = sorted(str(path.relative_to(waves)) for path in waves.rglob("*") if path.is_file())
    mine = ["first/notes.txt", "my_recordings/000007.parquet", "my_recordings/song.wav"]
    assert left == [*mine, "second/000001.parquet"], "what the other grid found is not this one's to remove"
    (waves / "second" / "000009.parquet").write_bytes(b"not Parquet")
    with pytest.raises(InputError, match=r"second/000009.parquet: expected finished cells of a sweep.*remove the file"):
        Results(tmp_path / "out", other, lambda _: "second").open(keep_old=False)


def test_a_cell_keeps_its_version_in_a_larger_grid(tmp_path: Path) -> None:
    small = grid(tmp_path, grid={"protocol": ["ack_all"]})
    large = grid(tmp_path, grid={"protocol": ["ack_all", "lamport"]})
    assert small.key(0, 0) == large.key(0, 0)
    assert CodeVersions(small).of(0) == CodeVersions(large).of(0) != CodeVersions(large).of(1)
    assert code_version(small) != code_version(large)
    first = Results(tmp_path / "out", small, CodeVersions(small).of)
    first.open(keep_old=False)
    first.add([result(0, 0, 1.0)])
    second = Results(tmp_path / "out", large, CodeVersions(large).of)
    second.open(keep_old=False)
    assert second.find(0, 0) is not None and second.find(1, 0) is None
    second.add([result(1, 0, 1.0)])
    first.open(keep_old=False)
    second.open(keep_old=False)
    assert second.find(0, 0) is not None and second.find(1, 0) is not None, "the smaller grid left it there"


def test_faults_beyond_the_assumptions_are_refused_unless_the_grid_says_so(tmp_path: Path) -> None:
    faults = [{"at_us": 1, "crash": ["a"]}, {"at_us": 2, "leave": ["b"]}]
    with pytest.raises(InputError, match=r"cell with sites = 3: `faults\[1\].leave`: a fault outside the assumptions"):
        grid(tmp_path, scenario={**BASE, "faults": faults}, grid={"sites": [3]})
    assert (
        grid(tmp_path, scenario={**BASE, "faults": faults}, grid={"sites": [3]}, beyond_assumptions=True).combinations
        == 1
    )


@pytest.mark.parametrize("content", ["[1]", "{}", '{"cells": "many"}', "", "\xff"])
def test_a_status_that_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "status.json").write_text(content)
    with pytest.raises(InputError, match=r"expected the folder of a sweep, found no readable status\.json"):
        read_status(tmp_path)


def test_two_sweeps_do_not_work_in_one_folder(tmp_path: Path) -> None:
    one = grid(tmp_path, grid={"sites": [3]})
    first, second = Results(tmp_path / "out", one, lambda _: "code"), Results(tmp_path / "out", one, lambda _: "code")
    with first.locked(), pytest.raises(InputError, match="another sweep is running"), second.locked():
        pass


def test_a_half_written_wave_is_never_read(tmp_path: Path) -> None:
    one = grid(tmp_path, grid={"sites": [3]})
    results = Results(tmp_path / "out", one, lambda _: "code")
    results.open(keep_old=False)
    results.add([result(0, 0, 1.0)])
    waves = tmp_path / "out" / "waves" / "code"
    (waves / ".000001.parquet.x").write_bytes((waves / "000000.parquet").read_bytes()[:50])
    again = Results(tmp_path / "out", one, lambda _: "code")
    again.open(keep_old=False)
    assert len(again.cells) == 1 and sorted(path.name for path in waves.iterdir()) == ["000000.parquet"]
