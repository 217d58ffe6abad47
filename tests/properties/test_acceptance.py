"""A trace is taken or refused alike, whether it has few rows or many, and comes as a file or as a table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tocsin.core.errors import InputError
from tocsin.properties import check
from tocsin.properties.audit.audit import audit, outline
from tocsin.properties.audit.executor import LocalExecutor
from tocsin.properties.checking import NOTED_ROWS_MAX, PLAIN_ROWS_MAX
from tocsin.properties.plain.check import check_rows
from tocsin.properties.report import Report
from tocsin.traces.rows import TOO_LARGE, Row
from tocsin.traces.schema import ROWS

LOWEST = -(1 << 63)
FEW = 10
MANY = PLAIN_ROWS_MAX + 10


def made(rows: int, changed: dict[str, Any], kinds: dict[str, Any]) -> Any:
    """A site that broadcasts and delivers; its fifth row is changed, and some columns have other kinds."""
    told = [
        Row("run", "a", at, at, "deliver" if at % 2 else "broadcast", "g", "a", at // 2)._asdict() for at in range(rows)
    ]
    told[4] |= changed
    schema = pa.schema([pa.field(field.name, kinds.get(field.name, field.type)) for field in ROWS])
    return pa.Table.from_pylist(told, schema)


def answers(tmp_path: Path, changed: dict[str, Any], kinds: dict[str, Any] | None = None) -> list[Report | str]:
    """What few rows and many, in a file and in a table, are answered with: a report or an error without its source."""
    found: list[Report | str] = []
    for rows in (FEW, MANY):
        table = made(rows, changed, kinds or {})
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(table, path)
        for source, name in ((str(path), f"{path}: "), (table, "table: ")):
            try:
                found.append(check(source))
            except InputError as error:
                found.append(str(error).removeprefix(name))
    return found


@pytest.mark.parametrize(
    ("changed", "kinds", "expected"),
    [
        ({"event": "view", "view": LOWEST, "members": [], "primary": False}, {}, "expected a view number above"),
        ({"event": ""}, {}, "order 4: unknown event ``"),
        ({"seqno": 1 << 63}, {"seqno": pa.uint64()}, f"column `seqno`: {TOO_LARGE}"),
        ({"order": 1 << 63}, {"order": pa.uint64()}, f"column `order`: {TOO_LARGE}"),
        ({"event": "view", "view": 1 << 63, "members": []}, {"view": pa.uint64()}, f"column `view`: {TOO_LARGE}"),
    ],
)
def test_refused_alike(tmp_path: Path, changed: dict[str, Any], kinds: dict[str, Any], expected: str) -> None:
    found = answers(tmp_path, changed, kinds)
    assert len(set(map(str, found))) == 1 and expected in str(found[0])


def test_the_file_with_a_number_that_is_too_large_is_named(tmp_path: Path) -> None:
    for rows in (FEW, MANY):
        path = tmp_path / "t.parquet"
        pq.write_table(made(rows, {"seqno": 1 << 63}, {"seqno": pa.uint64()}), path)
        with pytest.raises(InputError) as error:
            check(str(path))
        assert str(error.value) == f"{path}: column `seqno`: {TOO_LARGE}"


def test_a_view_that_no_property_needs_may_have_any_number(tmp_path: Path) -> None:
    few_file, few_table, many_file, many_table = answers(tmp_path, {"event": "send", "view": LOWEST})
    assert isinstance(few_file, Report) and isinstance(many_file, Report)
    assert few_file == few_table and many_file == many_table


@pytest.mark.parametrize("column", ["run", "site", "event", "group", "members"])
def test_text_that_is_not_utf8_is_one_line(tmp_path: Path, column: str) -> None:
    for rows in (FEW, MANY):
        table = made(rows, {}, {})
        bad = pa.Array.from_buffers(pa.string(), rows, pa.array([b"s\xf3"] * rows, pa.binary()).buffers())
        if column == "members":
            bad = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), bad)
        table = table.set_column(table.schema.get_field_index(column), column, bad)
        path = tmp_path / "t.parquet"
        pq.write_table(table, path)
        for source, name in ((str(path), str(path)), (table, "table")):
            with pytest.raises(InputError) as error:
                check(source)
            text = str(error.value)
            assert text.startswith(f"{name}: column `{column}`: expected text: ") and "\n" not in text


@pytest.mark.parametrize(
    ("column", "kind"),
    [("site", pa.string_view()), ("event", pa.string_view()), ("members", pa.list_(pa.string_view()))],
)
def test_strings_of_the_view_kind_will_do(tmp_path: Path, column: str, kind: Any) -> None:
    plain = answers(tmp_path, {"event": "view", "view": 1, "members": ["a"]})
    assert isinstance(plain[0], Report)
    table = made(MANY, {"event": "view", "view": 1, "members": ["a"]}, {})
    index = table.schema.get_field_index(column)
    assert check(table.set_column(index, column, table.column(column).cast(kind))) == plain[-1]


def test_more_files_than_few_rows_are_all_read(tmp_path: Path) -> None:
    """A message that the last file delivers twice is found, whether the files or their folder are named."""
    paths = [tmp_path / f"{number:04}.parquet" for number in range(PLAIN_ROWS_MAX + 2)]
    rows = [Row("run 0", "a", 0, 0, "broadcast", "g", "a", 0), Row("run 0", "a", 1, 1, "deliver", "g", "a", 0)]
    for number, path in enumerate(paths):
        if path == paths[-1]:
            rows.append(rows[-1]._replace(order=2))
        table = pa.Table.from_pylist([row._replace(run=f"run {number}")._asdict() for row in rows], ROWS)
        pq.write_table(table, path)
    for source in (paths, tmp_path, iter(paths)):
        report = check(source)
        assert (report.rows, report.runs) == (2 * len(paths) + 1, len(paths))
        assert report["integrity"][:3] == ("fail", 2 * len(paths) + 1, 1)


def test_no_rows_at_all() -> None:
    """An idle group has no files yet."""
    executor = LocalExecutor()
    for report in (check([]), audit(outline([], executor), executor).report):
        assert (report.rows, report.runs, report.sites) == (0, 0, 0)
        assert {verdict.verdict for verdict in report.properties.values()} == {"not checkable"}


@pytest.mark.parametrize(("noted", "packets"), [(FEW, MANY), (NOTED_ROWS_MAX, 0), (NOTED_ROWS_MAX - 1, MANY)])
def test_rows_in_memory_are_decided_alike_few_or_many(noted: int, packets: int) -> None:
    rows = [
        Row("run", "a", at, at, "deliver" if at % 2 else "broadcast", "g", "a", at // 2, view=None)
        for at in range(noted)
    ]
    rows += [Row("run", "a", noted + at, noted, "send", kind="ack", peer="b") for at in range(packets)]
    rows.append(Row("run", "a", noted + packets, noted, "deliver", "g", "a", 0))  # once more
    assert check(iter(rows)) == check_rows(rows)
