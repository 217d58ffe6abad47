"""Parts and resuming of long test runs, shown on a small tree of tests in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import plain_id, tree_hash

ROOT = Path(__file__).parent.parent
TESTS = """\
import pytest
from pathlib import Path

def run(name):
    with Path("ran.log").open("a") as log:
        log.write(name + "\\n")

@pytest.mark.parametrize("number", range(12))
def test_short(number):
    run(f"short {number}")

@pytest.mark.long
@pytest.mark.parametrize("number", range(8))
def test_long(number):
    run(f"long {number}")

@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("number", range(5))
def test_shared(number):
    run(f"shared {number}")

def test_that_may_fail():
    run("may fail")
    assert Path("good").exists()

def test_that_is_skipped():
    run("skipped")
    pytest.skip("not here")
"""
SETTINGS = (
    '[tool.pytest.ini_options]\nmarkers = ["long", "xdist_group"]\naddopts = "-q -p no:cacheprovider -p tests.parts"\n'
)
SURROUNDINGS = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
WORKERS = ["-p", "xdist", "-n", "2", "--dist", "loadgroup"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """With a repository of its own, which does not count what a run writes."""
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / ".gitignore").write_text("/out/\n/ran.log\n/good\n__pycache__/\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def run(tree: Path, *arguments: str) -> tuple[int, list[str]]:
    """How a run of the tree's tests ends, and which ran."""
    log = tree / "ran.log"
    log.unlink(missing_ok=True)
    ended = pytest_in(tree, *arguments)
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    return ended.returncode, sorted(log.read_text().splitlines()) if log.exists() else []


def pytest_in(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=tree, env=SURROUNDINGS, capture_output=True, text=True)


def test_parts_are_disjoint_whole_and_even(tree: Path) -> None:
    parts = [run(tree, "--part", f"{number}/3")[1] for number in (1, 2, 3)]
    _, everything = run(tree)
    assert sorted(name for part in parts for name in part) == everything
    assert sorted(sum(name.startswith("long") for name in part) for part in parts) == [2, 3, 3]
    assert sorted(sum(name.startswith("shared") for name in part) for part in parts) == [0, 0, 5]
    assert min(sum(name.startswith("short") for name in part) for part in parts) > 0


@pytest.mark.parametrize("workers", [[], WORKERS], ids=["alone", "workers"])
def test_what_passed_is_not_run_again_until_the_tree_changes(tree: Path, workers: list[str]) -> None:
    resumed = [*workers, "--resume", "out/test-all"]
    code, first = run(tree, *resumed)
    assert code == 1 and len(first) == 12 + 8 + 5 + 2
    assert run(tree, *resumed) == (1, ["may fail", "skipped"])
    (tree / "good").write_text("")
    assert run(tree, *resumed) == (0, ["may fail", "skipped"])
    assert run(tree, *resumed) == (0, ["skipped"])
    (tree / "test_some.py").write_text(TESTS + "\n# changed\n")
    assert run(tree, *resumed) == (0, first)


def test_a_part_goes_on_where_it_was_stopped(tree: Path) -> None:
    _, whole = run(tree, "--part", "2/3")
    code, begun = run(tree, "--part", "2/3", "--resume", "out", "--maxfail", "1", "-k", "long")
    assert code == 0 and begun and set(begun) < set(whole)
    _, rest = run(tree, "--part", "2/3", "--resume", "out")
    assert not set(begun) & set(rest) and {*begun, *rest} == set(whole)


def test_all_done_is_no_failure(tree: Path) -> None:
    assert run(tree, "--resume", "out", "-k", "short")[0] == 0
    assert run(tree, "--resume", "out", "-k", "short") == (0, [])


def test_a_part_that_is_none_is_refused(tree: Path) -> None:
    ended = pytest_in(tree, "--part", "9/8")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR and "expected K/N" in ended.stdout + ended.stderr


def test_ids_are_told_from_groups() -> None:
    assert plain_id("tests/a.py::test@spark") == "tests/a.py::test"
    assert plain_id("tests/a.py::test[a@b]") == "tests/a.py::test[a@b]"
    assert plain_id("tests/a.py::test[a@b]@spark") == "tests/a.py::test[a@b]"


def test_the_hash_of_a_tree_without_git(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("1")
    (tmp_path / "out").mkdir()
    before = tree_hash(tmp_path)
    (tmp_path / "out" / "made").write_text("")
    assert tree_hash(tmp_path) == before
    (tmp_path / "one.py").write_text("2")
    assert tree_hash(tmp_path) != before
