"""Who says since when faults were over: files of one run, of several, tables, and the caller."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tocsin
from tests.properties.stories import table_of, told
from tocsin.cli.main import main
from tocsin.core.errors import InputError
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, PROPERTIES, check
from tocsin.properties.audit.audit import audit, outline
from tocsin.properties.audit.executor import LocalExecutor
from tocsin.properties.checking import PLAIN_ROWS_MAX
from tocsin.properties.terms import Terms
from tocsin.traces.calm import BOUND_US, Calm, calm_of, joined
from tocsin.traces.rows import Row

STALLED = "a broadcast all:a/0 \n a deliver all:a/0 \n b send kind=probe"
GOOD = "a broadcast all:a/0 \n a deliver all:a/0 \n b deliver all:a/0"


def write(path: Path, rows: list[Row], calm: Calm | None = None, **more: str) -> Path:
    said = ({} if calm is None else calm.metadata()) | {key.encode(): value.encode() for key, value in more.items()}
    pq.write_table(table_of(rows).replace_schema_metadata(said), path)
    return path


def settled(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    assert main(["check", "--json", *map(str, words)]) == 0
    return str(json.loads(capsys.readouterr().out)["properties"]["settled"]["verdict"])


@pytest.mark.parametrize(
    "calm", [Calm(5), Calm(-3, 7, frozenset(["a", "b c", "d,e"])), Calm(1, 2, frozenset(), 3, True), Calm(0, 0)]
)
def test_what_is_written_is_read(calm: Calm) -> None:
    assert calm_of(calm.metadata(), "x") == calm


def test_other_producers_say_less() -> None:
    assert calm_of({b"tocsin.calm_us": b"7"}, "x") == Calm(7, BOUND_US)
    assert calm_of({b"tocsin.calm_us": b"7", b"tocsin.down": b"c, d"}, "x") == Calm(7, BOUND_US, frozenset("cd"))
    assert calm_of({b"tocsin.down": b"c"}, "x") is None and calm_of(None, "x") is None


@pytest.mark.parametrize(
    ("said", "told_of"),
    [
        ({"tocsin.calm_us": "soon"}, "metadata `tocsin.calm_us`: expected a whole number, found b'soon'"),
        (
            {"tocsin.calm_us": "1", "tocsin.bound_us": ""},
            "metadata `tocsin.bound_us`: expected a whole number, found b''",
        ),
        (
            {"tocsin.calm_us": "1", "tocsin.down": "[1]"},
            "metadata `tocsin.down`: expected names of sites, found b'[1]'",
        ),
        ({"tocsin.calm_us": "1", "tocsin.down": "[c"}, "metadata `tocsin.down`: expected names of sites, found b'[c'"),
    ],
)
def test_bad_metadata_is_one_line(tmp_path: Path, said: dict[str, str], told_of: str) -> None:
    path = write(tmp_path / "t.parquet", told(GOOD), None, **said)
    with pytest.raises(InputError) as error:
        check(str(path))
    assert str(error.value) == f"{path}: {told_of}"


def test_files_of_one_run_have_to_agree() -> None:
    one, other = Calm(5, 3, frozenset("a")), Calm(9, 2, frozenset("b"), 8)
    assert joined([one, other]) == Calm(9, 3, frozenset("ab"), 8)
    assert joined([one, None]) is None and joined([]) is None


@pytest.mark.parametrize("many", [False, True], ids=["few rows", "many rows"])
def test_a_file_says_it_or_the_caller_does(tmp_path: Path, many: bool, capsys: pytest.CaptureFixture[str]) -> None:
    more = "\n".join(["a send kind=probe"] * (PLAIN_ROWS_MAX if many else 0))
    silent = write(tmp_path / "silent.parquet", told(f"{STALLED} \n {more}"))
    saying = write(tmp_path / "saying.parquet", told(f"{STALLED} \n {more}"), Calm(0))
    assert settled(capsys, silent) == NOT_CHECKABLE
    assert settled(capsys, saying) == settled(capsys, silent, "--calm-since", "0") == FAIL
    assert settled(capsys, saying, "--down", "b") == PASS
    assert settled(capsys, silent, "--calm-since", "0", "--down", "b,c") == PASS
    assert tocsin.check(silent, calm_since=0, down=["b"])["settled"].verdict == PASS
    assert tocsin.check(table_of(told(STALLED)), calm_since=0)["settled"].verdict == FAIL
    assert tocsin.check(pq.read_table(saying))["settled"].verdict == FAIL


def test_each_run_has_its_own_calm(tmp_path: Path) -> None:
    """Two runs with endless views; one of them became calm only after the last."""
    views = "\n".join(f"a view view={number} members=a time_us={number * 100}" for number in range(1, 5))
    write(tmp_path / "early.parquet", told(views, "early"), Calm(100, 50))
    write(tmp_path / "late.parquet", told(views, "late"), Calm(400, 50))
    executor = LocalExecutor()
    found = audit(outline([str(tmp_path)], executor), executor, Terms()).report["settled"]
    assert (found.verdict, found.violations) == (FAIL, 3)
    assert found.evidence is not None and found.evidence[0].run == "early"
    assert check(str(tmp_path))["settled"] == found
    assert check(str(tmp_path / "late.parquet"))["settled"].verdict == PASS


def test_patience_on_traces_is_given_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each log ends with its last row: b, whose log ends early, has had no time; c has."""
    story = """
        a broadcast all:a/0 time_us=1000000
        a deliver all:a/0 time_us=1000000
        b send kind=probe time_us=1500000
        c send kind=probe time_us=3500000
    """
    path = write(tmp_path / "t.parquet", told(story))
    for words, violations in (((), 1), (("--patience", "1"), 1), (("--patience", "3"), 0)):
        capsys.readouterr()
        assert main(["check", str(path), "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)["properties"]["agreement"]
        assert (found["violations"], found["checked"]) == (violations, violations)
    assert "site c" in (tocsin.check(path, patience=1)["agreement"].why or "")


def test_an_expected_level_and_an_empty_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "t.parquet", [])
    assert main(["check", str(path), "--expect", "basic"]) == 1
    assert "integrity is not checkable (the trace has no rows)" in capsys.readouterr().err
    assert not check([]).holds("basic")


def test_nothing_to_check_with_the_evidence_there_fails_no_level(tmp_path: Path) -> None:
    """One view, no passage from one to another."""
    story = "a view view=1 members=a,b \n b view view=1 members=a,b \n" + GOOD
    path = write(tmp_path / "t.parquet", told(story))
    assert check(str(path))["view_synchrony"].verdict == NOT_CHECKABLE
    assert main(["check", str(path), "--expect", "agreed"]) == 0
    bare = write(tmp_path / "bare.parquet", told(GOOD))
    assert main(["check", str(bare), "--expect", "causal"]) == 0
    assert main(["check", str(bare), "--expect", "agreed"]) == 1
    assert main(["check", str(bare), "--expect", "agreed", "--allow-unchecked", "view_synchrony"]) == 0
    assert set(check(str(bare)).unchecked("safe")) == {"view_synchrony", "safe"} < set(PROPERTIES)
