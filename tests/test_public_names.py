"""Choose and Prove from Python, as docs/formats.md and the README have it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tocsin.cli.main import main

SHOWCASE = Path(__file__).parent.parent / "examples" / "showcase.toml"
SMALL = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 20, "every_us": 1000}}


def verdicts(report: tocsin.Report) -> dict[str, str]:
    return {name: found.verdict for name, found in report.properties.items()}


def test_simulate_gives_the_answer_and_the_trace_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(SHOWCASE), "--seed", "7", "--json", "--trace", str(tmp_path)]) == 0
    result = tocsin.simulate(SHOWCASE, seed=7)
    assert result.summary == json.loads(capsys.readouterr().out)
    assert result.trace.equals(pq.read_table(tmp_path / "trace.parquet").cast(result.trace.schema))


def test_a_scenario_may_be_a_mapping() -> None:
    result = tocsin.simulate(SMALL)
    assert result.summary["deliveries"] == 60
    with pytest.raises(tocsin.InputError, match=r"scenario: .*stes"):
        tocsin.simulate({**SMALL, "stes": 3})


def test_check_takes_a_table_a_path_and_several(tmp_path: Path) -> None:
    result = tocsin.simulate(SMALL, seed=1)
    assert verdicts(tocsin.check(result.trace)) == result.summary["verdicts"]
    pq.write_table(result.trace, tmp_path / "one.parquet")
    for source in (tmp_path, str(tmp_path / "one.parquet"), [tmp_path / "one.parquet"]):
        assert verdicts(tocsin.check(source)) == result.summary["verdicts"]


def test_check_refuses_a_table_that_is_no_trace() -> None:
    with pytest.raises(tocsin.InputError, match="column"):
        tocsin.check(pa.table({"a": [1]}))


def test_who_is_said_to_be_a_member_owes_deliveries() -> None:
    trace = tocsin.simulate(SMALL).trace
    assert verdicts(tocsin.check(trace, groups={"all": ["a", "b", "c"]}))["agreement"] == "pass"
    assert verdicts(tocsin.check(trace, groups={"all": ["a", "b", "c", "d"]}))["agreement"] == "fail"
