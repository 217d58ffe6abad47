"""Ctrl-C leaves a valid, shorter trace; an error or kill -9 leaves none, and nothing that looks like one."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tocsin.core.errors import EnvironmentMissing, InputError
from tocsin.traces import spool, writer
from tocsin.traces.reader import read_rows
from tocsin.traces.writer import TraceWriter


@pytest.fixture(autouse=True)
def ctrl_c_works() -> Iterator[None]:
    """Whatever earlier tests of this process have done to the signal (Spark takes it for itself)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_leaves_a_shorter_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(KeyboardInterrupt), TraceWriter(path, "r", ["a"]) as sink:
        for time_us in range(10):
            if time_us == 7:
                signal.raise_signal(signal.SIGINT)
            sink.append(0, time_us, "crash")
    assert [row.time_us for row in read_rows([path])] == list(range(7))


def test_ctrl_c_while_rows_are_put_aside_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second block of the second chunk is interrupted; all rows that were appended are in the trace, once."""
    monkeypatch.setattr(writer, "SPILL_ROWS", 20)
    monkeypatch.setattr(spool, "BLOCK_ROWS", 8)
    written = 0
    write = spool.Spool._write

    def interrupted(self: spool.Spool, batch: Any, offset: int) -> Any:
        nonlocal written
        written += 1
        block = write(self, batch, offset)
        if written == 5:
            signal.raise_signal(signal.SIGINT)
        return block

    monkeypatch.setattr(spool.Spool, "_write", interrupted)
    path = tmp_path / "t.parquet"
    with pytest.raises(KeyboardInterrupt), TraceWriter(path, "r", ["a", "b"]) as sink:
        for time_us in range(100):
            sink.append(time_us % 2, time_us, "crash")
    assert sorted(row.time_us for row in read_rows([path])) == list(range(40))


def test_an_error_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), TraceWriter(tmp_path / "t.parquet", "r", ["a"]) as sink:
        sink.append(0, 1, "crash")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_writing_leaves_the_old_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    with TraceWriter(path, "old", ["a"]) as sink:
        sink.append(0, 1, "crash")
    sink = TraceWriter(path, "new", ["a"])
    sink.append(0, "not a number", "crash")  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        sink.close()
    assert [row.run for row in read_rows([path])] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


STUCK_WRITER = """
import sys
from pathlib import Path
from tocsin.traces import writer

class Stuck(writer.TraceWriter):
    def _table(self, spooled, first_order):
        if first_order:
            print("in the middle", flush=True)
            sys.stdin.read()
        return super()._table(spooled, first_order)

writer.ROW_GROUP_ROWS = 10
sink = Stuck(Path(sys.argv[1]), "r", ["a"])
for time_us in range(25):
    sink.append(0, time_us, "crash")
sink.close()
"""


def test_kill_9_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    command = [sys.executable, "-c", STUCK_WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in the middle\n"
        living = [file.name for file in tmp_path.iterdir()]
        with TraceWriter(path, "second", ["a"]) as sink:  # another writer lets a living one be
            sink.append(0, 1, "crash")
        assert [file.name for file in tmp_path.iterdir() if file != path] == living
        path.unlink()
        process.send_signal(signal.SIGKILL)
        process.wait()
    left = list(tmp_path.iterdir())
    assert len(left) == 1 and left[0].name.startswith(".t.parquet.")
    with pytest.raises(InputError, match="found none in it"):
        list(read_rows([tmp_path]))
    with TraceWriter(path, "third", ["a"]) as sink:
        sink.append(0, 1, "crash")
    assert list(tmp_path.iterdir()) == [path]


def test_only_parts_without_an_owner_are_removed(tmp_path: Path) -> None:
    owned = tmp_path / ".t.parquet.x.part"
    with open(owned, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (tmp_path / ".t.parquet.y.part").touch()
        (tmp_path / ".other.parquet.y.part").touch()
        TraceWriter(tmp_path / "t.parquet", "r", ["a"]).discard()
        assert sorted(os.listdir(tmp_path)) == [".other.parquet.y.part", owned.name]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        TraceWriter(tmp_path / "file" / "t.parquet", "r", ["a"])


@pytest.mark.parametrize("spill_rows", [100, 100_000])
def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spill_rows: int) -> None:
    """Found while rows are put aside, or in the end: one line, and no trace."""
    monkeypatch.setattr(writer, "SPILL_ROWS", spill_rows)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(EnvironmentMissing) as error, TraceWriter(tmp_path / "t.parquet", "r", ["a"]) as sink:
            for time_us in range(1000):
                sink.append(0, time_us, "crash")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    assert "t.parquet: cannot be written: file too large; " in str(error.value)
