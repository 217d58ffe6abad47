"""Files that are not traces: each is refused in one line that says where, what was expected and what was found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tocsin.core.errors import InputError
from tocsin.traces.reader import count_rows, has_one_clock, read_rows
from tocsin.traces.rows import Row
from tocsin.traces.schema import SCHEMA
from tocsin.traces.writer import TraceWriter

ROWS = [
    Row("r", "a", 0, 5, "broadcast", "all", "a", 0, size=3),
    Row("r", "a", 1, 6, "deliver", "all", "a", 0, size=3, position=0, view=1),
    Row("r", "b", 0, 7, "view", view=1, members=("a", "b")),
]


def table(rows: list[Row] = ROWS) -> Any:
    return pa.Table.from_pylist([row._asdict() for row in rows], SCHEMA)


def cast(name: str, kind: Any) -> Any:
    index = SCHEMA.get_field_index(name)
    return table().set_column(index, name, table().column(name).cast(kind))


def with_values(name: str, values: list[Any], kind: Any) -> Any:
    return table().set_column(SCHEMA.get_field_index(name), name, pa.array(values, kind))


def no_text(rows: int) -> Any:
    """A column of text that is not UTF-8."""
    return pa.Array.from_buffers(pa.string(), rows, pa.array([b"s\xf3"] * rows, pa.binary()).buffers())


FILES: dict[str, tuple[Callable[[], Any], str]] = {
    "no column order": (lambda: table().drop_columns(["order"]), "found no column `order`"),
    "no column group": (lambda: table().drop_columns(["group"]), "found no column `group`"),
    "order is a float": (lambda: cast("order", pa.float64()), "column `order`: expected int64, found double"),
    "seqno is text": (lambda: cast("seqno", pa.string()), "column `seqno`: expected int64, found string"),
    "site is a number": (
        lambda: with_values("site", [1, 2, 3], pa.int64()),
        "column `site`: expected string, found int64",
    ),
    "site is bytes": (lambda: cast("site", pa.binary()), "column `site`: expected string, found binary"),
    "members is text": (
        lambda: with_values("members", ["a", "b", None], pa.string()),
        "column `members`: expected list<item: string>, found string",
    ),
    "members holds a null": (
        lambda: with_values("members", [None, None, ["a", None]], pa.list_(pa.string())),
        "column `members`: expected names of sites, found a null among them",
    ),
    "run is null": (
        lambda: with_values("run", ["r", None, "r"], pa.string()),
        "row 1, column `run`: expected a value, found null",
    ),
    "time is null": (
        lambda: with_values("time_us", [1, 2, None], pa.int64()),
        "row 2, column `time_us`: expected a value",
    ),
    "all sites are null": (
        lambda: with_values("site", [None] * 3, pa.null()),
        "row 0, column `site`: expected a value",
    ),
    "an event that nobody knows": (
        lambda: with_values("event", ["broadcast", "delivr", "view"], pa.string()),
        "row 1, column `event`: unknown event `delivr` (did you mean `deliver`?)",
    ),
    "bytes that are no text": (
        lambda: table().set_column(SCHEMA.get_field_index("group"), "group", no_text(3)),
        "Invalid UTF8 sequence",
    ),
    "a number above the highest": (
        lambda: with_values("seqno", [0, 0, 1 << 63], pa.uint64()),
        "column `seqno`: expected numbers of at most 64 bits with a sign, found a larger one",
    ),
    "a column twice": (
        lambda: table().append_column("order", table().column("order")),
        "column `order`: expected once, found twice",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_table_that_is_no_trace(tmp_path: Path, name: str) -> None:
    make, expected = FILES[name]
    path = tmp_path / "t.parquet"
    pq.write_table(make(), path)
    with pytest.raises(InputError) as error:
        list(read_rows([path]))
    assert str(error.value).startswith(f"{path}: ") and expected in str(error.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "expected a Parquet file: Parquet file size is 0 bytes"),
        (b"PAR1", "expected a Parquet file: "),
        (b"run,site,order\nr,a,0\n" * 10, "expected a Parquet file: Parquet magic bytes not found"),
        (b"PAR1" + bytes(range(200)) + b"PAR1", "expected a Parquet file: "),
    ],
)
def test_bytes_that_are_no_table(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        list(read_rows([path]))
    text = str(error.value)
    assert text.startswith(f"{path}: ") and expected in text and "\n" not in text


def test_a_file_with_damaged_pages_is_a_trace_or_an_error(tmp_path: Path) -> None:
    """A byte changed anywhere: rows, or one line; never anything else."""
    path = tmp_path / "t.parquet"
    pq.write_table(table(ROWS * 40), path, compression="none")
    data = path.read_bytes()
    refused = 0
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :])
        try:
            list(read_rows([path]))
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20


def test_a_cut_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path)
    data = path.read_bytes()
    for length in range(0, len(data), 100):
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match="expected a Parquet file"):
            list(read_rows([path]))


def write_arrow(path: Path, content: Any, batch_rows: int = 2) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, content.schema) as writer:
        writer.write_table(content, batch_rows)


def test_arrow_files_are_traces_too(tmp_path: Path) -> None:
    write_arrow(tmp_path / "b.arrow", table().replace_schema_metadata({"tocsin.clock": "one"}))
    assert list(read_rows([tmp_path / "b.arrow"])) == ROWS
    assert count_rows([tmp_path]) == 3 and has_one_clock([tmp_path])
    pq.write_table(table(ROWS[:1]), tmp_path / "a.parquet")
    assert list(read_rows([tmp_path])) == [ROWS[0], *ROWS]
    assert not has_one_clock([tmp_path])


@pytest.mark.parametrize("name", FILES)
def test_an_arrow_file_that_is_no_trace(tmp_path: Path, name: str) -> None:
    make, expected = FILES[name]
    write_arrow(tmp_path / "t.arrow", make())
    with pytest.raises(InputError) as error:
        list(read_rows([tmp_path / "t.arrow"]))
    assert str(error.value).startswith(f"{tmp_path / 't.arrow'}: ") and expected in str(error.value)


def test_an_arrow_file_cut_or_damaged_is_a_trace_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    write_arrow(path, table(ROWS * 10))
    data = path.read_bytes()
    for length in range(0, len(data), 100):
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match="expected an Arrow file"):
            list(read_rows([path]))
    refused = 0
    for place in range(0, len(data), 11):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :])
        try:
            list(read_rows([path]))
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20


def test_missing_and_empty_places(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_rows([tmp_path / "nowhere"]))
    with pytest.raises(InputError, match=r"expected a folder with traces \(\*.parquet, \*.arrow\), found none in it"):
        list(read_rows([tmp_path]))


def test_columns_of_other_kinds_will_do(tmp_path: Path) -> None:
    """Other writers: large strings, dictionaries, narrow integers, no optional columns, a column of their own."""
    other = table()
    for name, kind in (("run", pa.large_string()), ("seqno", pa.uint8()), ("order", pa.int32())):
        other = other.set_column(other.schema.get_field_index(name), name, other.column(name).cast(kind))
    encoded = other.column("event").dictionary_encode()
    other = other.set_column(other.schema.get_field_index("event"), "event", encoded)
    pq.write_table(other.append_column("rack", pa.array([1, 2, 3])), tmp_path / "t.parquet")
    assert list(read_rows([tmp_path / "t.parquet"])) == ROWS
    pq.write_table(other.drop_columns(["kind", "peer", "size", "position", "members"]), tmp_path / "t.parquet")
    bare = [row._replace(size=None, position=None, members=None) for row in ROWS]
    assert list(read_rows([tmp_path / "t.parquet"])) == bare


def test_strings_of_the_view_kind_will_do(tmp_path: Path) -> None:
    other = table()
    for name, kind in (("site", pa.string_view()), ("members", pa.list_(pa.string_view()))):
        other = other.set_column(other.schema.get_field_index(name), name, other.column(name).cast(kind))
    write_arrow(tmp_path / "t.arrow", other)
    assert list(read_rows([tmp_path / "t.arrow"])) == ROWS


def test_a_folder_is_all_its_visible_files(tmp_path: Path) -> None:
    for name in ("b.parquet", "a/z.parquet", ".hidden.parquet", "_temporary/0.parquet", "a/.part.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with TraceWriter(tmp_path / name, name, ["a"]) as sink:
            sink.append(0, 1, "crash")
    (tmp_path / "readme.txt").touch()
    assert [row.run for row in read_rows([tmp_path])] == ["a/z.parquet", "b.parquet"]
    assert [row.run for row in read_rows([tmp_path / ".hidden.parquet"])] == [".hidden.parquet"]
