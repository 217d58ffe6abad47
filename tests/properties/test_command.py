"""`tocsin check` as people and scripts meet it: tables, JSON, exit codes, one line for what is wrong."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.properties.stories import told
from tocsin.cli.main import main
from tocsin.properties import PROPERTIES, check
from tocsin.traces.rows import Row
from tocsin.traces.schema import SCHEMA
from tocsin.traces.writer import TraceWriter

INVERTED = """
    a broadcast g:a/0
    b broadcast g:b/0
    a deliver g:a/0
    a deliver g:b/0
    b deliver g:b/0
    b deliver g:a/0
"""


def write(path: Path, rows: list[Row]) -> Path:
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], SCHEMA), path)
    return path


@pytest.fixture
def inverted(tmp_path: Path) -> Path:
    return write(tmp_path / "inverted.parquet", told(INVERTED))


def test_json_is_the_report(inverted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(inverted), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == check(told(INVERTED)).to_json_object()
    assert out.count("\n") == 1 and err == ""


def test_a_table_and_the_rows_that_show_it(inverted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(inverted)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("6 rows, 1 runs, 2 sites\n") and err == ""
    for name in PROPERTIES:
        assert f"\n{name} " in out
    assert "multiple_source: site a delivered g:a/0 before g:b/0, site b the other way round" in out
    assert "(the rows above, under multiple_source)" in out
    assert "level causal  holds" in out and "level agreed  fails by multiple_source, multiple_group, acyclic" in out


@pytest.mark.parametrize(("level", "code"), [("basic", 0), ("fifo", 0), ("causal", 0), ("agreed", 1), ("safe", 1)])
def test_expect(inverted: Path, level: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(inverted), "--json", "--expect", level]) == code
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 6
    assert ("does not hold: multiple_source, multiple_group, acyclic failed" if code else "holds") in err
    assert err.count("\n") == 1


def test_what_was_not_checkable_is_named_beside_the_level(inverted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(inverted), "--expect", "safe"]) == 1
    assert "(not checkable: view_synchrony, safe)" in capsys.readouterr().err


def test_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "t.parquet", told("a broadcast g:a/0 \n a deliver g:a/0"))
    groups = tmp_path / "groups.toml"
    groups.write_text('[groups]\ng = ["a", "z"]\n')
    assert main(["check", str(path), "--expect", "basic"]) == 0
    assert main(["check", str(path), "--expect", "basic", "--groups", str(groups)]) == 1
    assert "site z (it has no rows in run story)" in capsys.readouterr().out.replace("\n", " ")


def test_witnesses_are_kept_and_old_ones_removed(inverted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "witnesses"
    assert main(["check", str(inverted), "--json", "--witnesses", str(folder)]) == 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "acyclic.json",
        "multiple_group.json",
        "multiple_source.json",
    ]
    kept = json.loads((folder / "multiple_source.json").read_text())
    assert kept["property"] == "multiple_source" and len(kept["witness"]) == 4
    good = write(tmp_path / "good.parquet", told("a broadcast g:a/0 \n a deliver g:a/0"))
    assert main(["check", str(good), "--json", "--witnesses", str(folder)]) == 0
    assert list(folder.iterdir()) == []


def test_one_clock_is_read_from_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, one_clock in (("simulated", True), ("live", False)):
        with TraceWriter(tmp_path / name, "r", ["a", "b"], one_clock=one_clock) as sink:
            sink.append(0, 0, "broadcast", "all", "a", 0)
            sink.append(0, 1, "deliver", "all", "a", 0)
            sink.append(1, 2, "receive", None, "a", 0, "data", "a")
            sink.append(1, 3, "deliver", "all", "a", 0)
        assert main(["check", str(tmp_path / name), "--json"]) == 0
    simulated, live = map(json.loads, capsys.readouterr().out.splitlines())
    assert simulated["properties"]["safe"]["verdict"] == "fail"
    assert live["properties"]["safe"]["verdict"] == "pass"


def test_several_files_and_folders_are_one_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = told(INVERTED)
    (tmp_path / "b").mkdir()
    write(tmp_path / "a.parquet", [row for row in rows if row.site == "a"])
    write(tmp_path / "b" / "b.parquet", [row for row in rows if row.site == "b"])
    assert main(["check", str(tmp_path / "b"), str(tmp_path / "a.parquet"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == check(rows).to_json_object()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{folder}/nowhere"], "nowhere: cannot be read: no such file or folder"),
        (["{folder}/empty"], "empty: expected a folder with traces (*.parquet, *.arrow), found none in it"),
        (["{folder}/text.parquet"], "text.parquet: expected a Parquet file: "),
        (["{folder}/inverted.parquet", "{folder}/inverted.parquet"], "expected each file once, found it named twice"),
        (["{folder}/inverted.parquet", "{folder}/copy.parquet"], "found 0 after 2; sort the trace"),
        (["{folder}/inverted.parquet", "--expect", "agree"], "level: unknown level `agree` (did you mean `agreed`?)"),
        (["{folder}/inverted.parquet", "--groups", "{folder}/nowhere.toml"], "nowhere.toml: cannot be read"),
        (["{folder}/inverted.parquet", "--groups", "{folder}/empty.toml"], "empty.toml: "),
        (["{folder}/inverted.parquet", "--groups", "{folder}/text.parquet"], "text.parquet: "),
        (["{folder}/inverted.parquet", "--witnesses", "{folder}/text.parquet"], "text.parquet: cannot be written"),
    ],
)
def test_bad_calls(
    inverted: Path, tmp_path: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "copy.parquet").write_bytes(inverted.read_bytes())
    (tmp_path / "empty.toml").touch()
    (tmp_path / "text.parquet").write_text("this is no table, and no groups either")
    assert main(["check", *(word.format(folder=tmp_path) for word in words)]) == 2
    out, err = capsys.readouterr()
    assert expected in err and err.startswith("tocsin check: ") and err.count("\n") == 1 and out == ""
