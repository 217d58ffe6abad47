"""What is appended is what is read: through the buffer in memory, and through Parquet in parts of any size."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tocsin.traces import spool, writer
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.reader import has_one_clock, read_rows
from tocsin.traces.schema import SCHEMA, SIMULATED
from tocsin.traces.writer import TraceWriter, write_batches
from tocsin.traces.rows import Row

EVENTS_OF_TESTS: tuple[tuple[Any, ...], ...] = (
    ("deliver", "all", "a", 3, None, None, 100, 7, 1, None),
    ("broadcast", "other group", "b", 0, None, None, None, None, None, None),
    ("receive", None, "a", 3, "data", "b", 5, None, None, None),
    ("send", None, None, None, "token", None, 0, None, None, None),
    ("view", None, None, None, None, None, None, None, 2, ["a", "b"]),
    ("view", None, None, None, None, None, None, None, 3, []),
    ("crash", None, None, None, None, None, None, None, None, None),
)


def fill(sink: TraceBuffer | TraceWriter, sites: int, rows: int, seed: int) -> None:
    """Append random events of random sites, some of which stay silent."""
    rng = random.Random(seed)
    speaking = rng.sample(range(sites), max(1, sites * 2 // 3))
    for number in range(rows):
        sink.append(rng.choice(speaking), number * 3, *rng.choice(EVENTS_OF_TESTS))


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SPILL_ROWS", 50)
    monkeypatch.setattr(spool, "BLOCK_ROWS", 8)
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", 40)


@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("sites", [1, 3, 40])
@pytest.mark.parametrize("rows", [0, 1, 49, 50, 51, 700])
def test_written_is_read(tmp_path: Path, sites: int, rows: int) -> None:
    names = [f"site {number}" for number in range(sites)]
    buffer = TraceBuffer("run 1", names)
    path = tmp_path / "new" / "folder" / "trace.parquet"
    with TraceWriter(path, "run 1", names) as sink:
        fill(buffer, sites, rows, seed=rows)
        fill(sink, sites, rows, seed=rows)
    found = list(read_rows([path]))
    assert found == list(buffer.rows())
    assert len(found) == len(buffer) == rows == sink.close()
    assert [file.name for file in path.parent.iterdir()] == ["trace.parquet"]


@pytest.mark.usefixtures("in_small_parts")
def test_a_site_keeps_together_and_row_groups_are_bounded(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.parquet", "r", ["a", "b", "c"]) as sink:
        fill(sink, 3, 500, seed=1)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.schema_arrow.remove_metadata() == SIMULATED
    sizes = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
    assert max(sizes) <= 40 and len(sizes) <= 500 // 40 + 3
    rows = list(read_rows([tmp_path / "t.parquet"]))
    assert [row.site for row in rows] == sorted(row.site for row in rows)
    for site in "abc":
        orders = [row.order for row in rows if row.site == site]
        assert orders == list(range(len(orders)))


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with TraceWriter(tmp_path / name, "r", ["a", "b"]) as sink:
            fill(sink, 2, 1000, seed=5)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_file_says_whose_clock_it_has(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "simulated", "r", ["a"]) as sink:
        sink.append(0, 1, "crash")
    crash = {"run": "r", "site": "a", "order": 0, "time_us": 1, "event": "crash"}
    assert write_batches(tmp_path / "live", pa.Table.from_pylist([crash], SCHEMA).to_batches()) == 1
    assert list(read_rows([tmp_path / "live"])) == list(read_rows([tmp_path / "simulated"]))
    assert has_one_clock([tmp_path / "simulated"])
    assert not has_one_clock([tmp_path / "live"])
    assert not has_one_clock([tmp_path / "simulated", tmp_path / "live"])


def test_a_buffer_may_be_read_often_and_used_again() -> None:
    buffer = TraceBuffer("r", ["a", "b"])
    buffer.append(1, 5, "view", view=1, members=["a", "b"])
    expected = [Row("r", "b", 0, 5, "view", view=1, members=("a", "b"))]
    assert list(buffer.rows()) == list(buffer.rows()) == expected
    buffer.clear()
    buffer.append(0, 6, "crash")
    assert list(buffer.rows()) == [Row("r", "a", 0, 6, "crash")]
