"""Long test runs in parts, and resumed: `--part 3/8` runs a stable eighth, `--resume DIR` skips what passed before.

What passed is remembered by the state of the whole tree: when any file of it changes, everything runs again. Tests that
failed or were skipped are not remembered. Tests of one file and one `xdist_group` are in one part, because they share
something that is expensive to start; long tests are dealt out one by one, so that each part has as many of them.
"""

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

NOT_OURS = {".git", ".venv", "build", "dist", "out", "__pycache__"}  # where there is no git to ask
PASSED = "tocsin_passed"  # what workers are handed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", default="1/1", metavar="K/N", help="run the K-th of N parts of the tests")
    parser.addoption("--resume", metavar="DIR", help="skip what passed in an earlier run on the same tree, noted there")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Parts(config), "parts")


class Parts:
    """Which tests run here. With xdist, the controller reads and writes the notes; workers are handed what passed, so
    that all of them collect the same."""

    def __init__(self, config: pytest.Config) -> None:
        self.number, self.count = _part(config.getoption("--part"))
        self._notes: Path | None = None
        self._done: set[str] = set()
        self._good: set[str] = set()  # whose body passed, and whose end is still to come
        if hasattr(config, "workerinput"):
            self._done = set(config.workerinput[PASSED])
        elif config.getoption("--resume") is not None:
            folder = Path(config.getoption("--resume")) / tree_hash(config.rootpath)
            folder.mkdir(parents=True, exist_ok=True)
            self._notes = folder / "passed.txt"
            self._done = set(self._notes.read_text().splitlines()) if self._notes.exists() else set()

    def pytest_report_header(self) -> str | None:
        part = f"part {self.number} of {self.count}"
        return f"{part}; passed before: {len(self._done)} ({self._notes})" if self._notes else part

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[PASSED] = sorted(self._done)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        wanted = self._wanted(items)
        left_out = [item for item in items if plain_id(item.nodeid) not in wanted]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if plain_id(item.nodeid) in wanted]

    def _wanted(self, items: list[pytest.Item]) -> set[str]:
        here: set[str] = set()
        long = [plain_id(item.nodeid) for item in items if item.get_closest_marker("long") is not None]
        others = [item for item in items if item.get_closest_marker("long") is None]
        for place, name in enumerate(sorted(long, key=_hash)):
            if place % self.count == self.number - 1:
                here.add(name)
        for item in others:
            if _hash(_unit(item)) % self.count == self.number - 1:
                here.add(plain_id(item.nodeid))
        return here - self._done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._notes is None:
            return
        name = plain_id(report.nodeid)
        if report.when == "call" and report.passed:
            self._good.add(name)
        elif report.when == "teardown" and report.passed and name in self._good:
            with self._notes.open("a") as file:
                file.write(f"{name}\n")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._done:
            session.exitstatus = pytest.ExitCode.OK  # nothing is left to do


def plain_id(nodeid: str) -> str:
    """Without the `@GROUP` that xdist appends."""
    name, at, group = nodeid.rpartition("@")
    return name if at and "]" not in group and "::" not in group else nodeid


def tree_hash(root: Path) -> str:
    """Of all files that belong to the tree, with what is not committed yet; not of what is made from them."""
    digest = hashlib.sha256()
    for path in _files(root):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files(root: Path) -> Iterable[Path]:
    asked = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(asked, capture_output=True, check=True).stdout.decode().split("\0")
        paths = {root / name for name in listed if name}
    except (OSError, subprocess.CalledProcessError):
        paths = {path for path in root.rglob("*") if NOT_OURS.isdisjoint(path.relative_to(root).parts)}
    return sorted(path for path in paths if path.is_file())


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise pytest.UsageError(f"--part: expected K/N with 1 <= K <= N, found `{text}`")
    return int(number), int(count)


def _unit(item: pytest.Item) -> str:
    """What goes to one part as a whole."""
    name = plain_id(item.nodeid)
    return name if item.get_closest_marker("xdist_group") is None else name.partition("::")[0]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
