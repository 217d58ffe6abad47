"""Audits on real Spark: this machine, a standalone cluster, Spark Connect; equal answers everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.properties.random_traces import random_trace
from tests.spark.clusters import connect_server, standalone_cluster
from tests.spark.trace_files import MadeRun, trace_table, write_rows
from tocsin.core.errors import InputError
from tocsin.properties import Report, check
from tocsin.properties.audit.audit import audit, outline
from tocsin.properties.audit.executor import Executor, LocalExecutor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.terms import Terms
from tocsin.spark.audit.executor import SparkExecutor
from tocsin.spark.audit.sorting import sort_with_spark
from tocsin.spark.session import SessionOptions, open_session
from tocsin.spark.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

GROUPS = {"g": ["a", "b", "c"], "h": ["b", "c", "d"], "k": ["a", "d"]}
LIMITS = Limits(run_rows=2000, task_rows=3000, open_rows=4000)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large run in order, a large run that is not, and many small ones."""
    folder = tmp_path_factory.mktemp("traces")
    right = MadeRun(GROUPS, 2500, seed=1, run="right")
    wrong = MadeRun(GROUPS, 2500, seed=2, run="wrong")
    wrong.swap("b", 300)
    wrong.drop("c", 900)
    write_rows(folder / "right.parquet", right.rows(), row_group_size=1000)
    write_rows(folder / "wrong.parquet", wrong.rows(), row_group_size=700)
    small = [row._replace(run=f"{seed}-{row.run}") for seed in range(40) for row in random_trace(seed).rows]
    write_rows(folder / "small.parquet", small, row_group_size=300)
    return folder


def audited(folder: Path, executor: Executor) -> Report:
    result = audit(outline([str(folder)], executor), executor, Terms(GROUPS), limits=LIMITS)
    assert "wrong" in result.opened and "right" not in result.opened
    return result.report


def test_the_same_answer_here_and_on_spark(spark: "SparkSession", traces: Path) -> None:
    seen: list[tuple[int, int]] = []
    with watched(spark, lambda done, known: seen.append((done, known))):
        report = audited(traces, SparkExecutor(spark))
    assert report == audited(traces, LocalExecutor())
    verdicts = {verdict.verdict for verdict in report.properties.values()}
    assert "fail" in verdicts
    assert seen and all(done <= known for done, known in seen)


def test_bad_input_is_told_as_it_is(spark: "SparkSession", tmp_path: Path) -> None:
    rows = trace_table(MadeRun(GROUPS, 50, seed=3).rows()).to_pylist()
    rows[7]["event"] = "delivr"
    pq.write_table(pa.Table.from_pylist(rows, trace_table([]).schema), tmp_path / "t.parquet")
    executor = SparkExecutor(spark)
    with pytest.raises(InputError, match=r"unknown event `delivr` \(did you mean `deliver`\?\)"):
        audit(outline([str(tmp_path)], executor), executor)


def test_spark_sorts_what_is_not_sorted(spark: "SparkSession", tmp_path: Path) -> None:
    rows = MadeRun(GROUPS, 400, seed=4).rows()
    path = write_rows(tmp_path / "t" / "t.parquet", Random(1).sample(rows, len(rows)), one_clock=True)
    executor = SparkExecutor(spark)
    found = audit(
        outline([str(path)], executor),
        executor,
        Terms(GROUPS),
        sort=lambda files, rows, trace_map: sort_with_spark(spark, files, rows, trace_map, str(tmp_path)),
    )
    expected = check(rows, GROUPS, one_clock=True)
    assert {name: verdict[:3] for name, verdict in found.report.properties.items()} == {
        name: verdict[:3] for name, verdict in expected.properties.items()
    }


def test_the_command_answers_like_check_and_says_nothing_else(traces: Path, tmp_path: Path) -> None:
    """A session of its own: `tocsin audit` in a folder of its own, which it leaves as it was."""
    (tmp_path / "here").mkdir()
    (tmp_path / "groups.toml").write_text('[groups]\ng = ["a", "b", "c"]\nh = ["b", "c", "d"]\nk = ["a", "d"]\n')
    words = [str(traces), "--groups", str(tmp_path / "groups.toml"), "--json", "--expect", "agreed"]
    words += ["--witnesses", str(tmp_path / "witnesses")]
    only_audit = ["--spark", "spark.sql.shuffle.partitions=2", "--report", str(tmp_path / "page.html")]
    answers = {}
    for verb in ("check", "audit"):
        words_of_verb = [*words, *only_audit] if verb == "audit" else words
        answers[verb] = subprocess.run(
            [sys.executable, "-m", "tocsin.cli.main", verb, *words_of_verb],
            cwd=tmp_path / "here",
            capture_output=True,
            text=True,
            env={**os.environ, "TOCSIN_PURE": "1"},
        )
    assert [answer.returncode for answer in answers.values()] == [1, 1], answers
    told = [line for line in answers["audit"].stderr.splitlines() if line.strip()]
    assert len(told) == 1 and told[0].startswith("tocsin audit: level agreed does not hold"), told
    audit_answer, check_answer = (json.loads(answers[verb].stdout) for verb in ("audit", "check"))
    for answer in (audit_answer, check_answer):
        for verdict in answer["properties"].values():
            verdict["witness"] = None if verdict["witness"] is None else len(verdict["witness"])
            del verdict["why"]
    assert audit_answer == check_answer
    failed = {name for name, verdict in audit_answer["properties"].items() if verdict["verdict"] == "fail"}
    assert {path.stem for path in (tmp_path / "witnesses").iterdir()} == failed
    assert not list((tmp_path / "here").iterdir())
    text = (tmp_path / "page.html").read_text()
    assert all(f'<a id="{name}"></a>' in text for name in failed)


@pytest.mark.long
def test_the_same_answer_on_a_standalone_cluster(traces: Path, tmp_path: Path) -> None:
    assert in_another_process(traces, tmp_path, "cluster") == audited(traces, LocalExecutor()).to_json_object()


@pytest.mark.long
def test_the_same_answer_through_spark_connect(traces: Path, tmp_path: Path) -> None:
    assert in_another_process(traces, tmp_path, "connect") == audited(traces, LocalExecutor()).to_json_object()


def in_another_process(traces: Path, folder: Path, kind: str) -> object:
    """A classic session and a Connect session do not live in one process; nor do two masters."""
    answer = subprocess.run(
        [sys.executable, "-m", "tests.spark.test_audit_spark", kind, str(traces), str(folder)],
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout)


def main(kind: str, traces: Path, folder: Path) -> None:
    started = standalone_cluster(folder) if kind == "cluster" else connect_server()
    with started as address, open_session(SessionOptions(address, name="tests")) as session:
        print(json.dumps(audited(traces, SparkExecutor(session)).to_json_object()))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
