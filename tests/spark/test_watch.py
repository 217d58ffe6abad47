"""`tocsin watch`: whatever the batches and restarts, its verdicts at the end are those of `tocsin check`."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.live_data import make_group
from tests.spark.planted_journals import drop_delivery, swap_deliveries
from tocsin.judging import judged_by
from tocsin.properties import FAIL
from tocsin.properties.watch import run_watch
from tocsin.proving import check
from tocsin.spark.watch import watching
from tocsin.spark.watch.watching import Told, Watching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

MESSAGES = 2_000


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_group(tmp_path_factory.mktemp("group"), MESSAGES, size=150)


@pytest.fixture
def data(group: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(group, tmp_path / "data"))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BATCH_ROWS", 2_500)
    monkeypatch.setattr(run_watch, "CLOSED_ROWS_MIN", 1_000)


def start(spark: "SparkSession", data: Path, checkpoint: Path, told: list[Told]) -> Watching:
    paths = [str(data)]
    return Watching(spark, paths, lambda: judged_by(paths, patience=0.0), told.append, checkpoint)


def watched(spark: "SparkSession", data: Path, checkpoint: Path, told: list[Told]) -> dict[str, Any]:
    watch = start(spark, data, checkpoint, told)
    watch.start(None).awaitTermination()
    return verdicts(watch.finish().line())


def verdicts(line: dict[str, Any]) -> dict[str, Any]:
    return {name: verdict["verdict"] for name, verdict in line["properties"].items()}


def expected(data: Path) -> dict[str, Any]:
    return verdicts(check(data, patience=0.0).to_json_object())


PLANTED: dict[str, Callable[[Path], None] | None] = {"nothing": None, "swap": swap_deliveries, "drop": drop_delivery}


@pytest.mark.parametrize("planted", sorted(PLANTED))
def test_the_end_is_that_of_a_check(spark: "SparkSession", data: Path, tmp_path: Path, planted: str) -> None:
    plant = PLANTED[planted]
    if plant is not None:
        plant(data / "b")
    told: list[Told] = []
    assert watched(spark, data, tmp_path / "w", told) == expected(data)
    assert len(told) > 3 and set(json.loads(json.dumps(told[0].line()))) == {"at_us", "rows", "lag_s", "properties"}
    failed = [[name for name, each in one.report.properties.items() if each.verdict == FAIL] for one in told]
    if planted == "nothing":
        assert not any(failed)
    if planted == "swap":
        seen = next(number for number, names in enumerate(failed) if "multiple_source" in names)
        verdict = told[seen].report["multiple_source"]
        assert verdict.evidence is not None and len(verdict.evidence) == 4
        assert all(row.event == "deliver" for row in verdict.evidence)
        assert "multiple_source" in failed[-1]
    if planted == "drop":
        late = [one.report["agreement"].verdict for one in told]
        assert FAIL not in late[:-1] and "late" in late
        assert expected(data)["view_synchrony"] == FAIL


def test_a_batch_that_comes_again_counts_once(spark: "SparkSession", data: Path, tmp_path: Path) -> None:
    """The driver died after it had kept what it knows, and before Spark had noted that the batch was done."""
    told: list[Told] = []
    first = watched(spark, data, tmp_path / "w", told)
    rows = told[-1].report.rows
    commits = tmp_path / "w" / "query" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    assert watched(spark, data, tmp_path / "w", told) == first == expected(data)
    assert told[-1].report.rows == rows


@pytest.mark.long
def test_a_watch_that_is_killed_goes_on(data: Path, tmp_path: Path) -> None:
    """kill -9 of the whole watch, at five moments."""
    swap_deliveries(data / "b")
    draw = random.Random(24)
    words = [sys.executable, "-m", "tocsin", "watch", str(data), "--json", "--checkpoint", str(tmp_path / "w")]
    for _ in range(5):
        process = subprocess.Popen([*words, "--follow"], stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(draw.uniform(0, 4))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    done = subprocess.run([*words, "--once", "--patience", "0"], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    assert verdicts(line) == expected(data) and verdicts(line)["multiple_source"] == FAIL
    stopped = subprocess.run(
        [*words[:-2], "--stop-on-violation"], capture_output=True, text=True, check=False, timeout=300
    )
    assert stopped.returncode == 1
