"""What audits read: the traces of other systems, unsorted and truncated ones, many runs in a file, and broken files."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.trace_files import MadeRun, trace_table, write_rows
from tocsin.core.errors import InputError
from tocsin.properties import NOT_CHECKABLE, PASS, PROPERTIES, Report, check
from tocsin.properties.audit.audit import Sort, audit, outline
from tocsin.properties.audit.columns import TraceMap, read_trace_map
from tocsin.properties.audit.executor import LocalExecutor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.terms import Terms
from tocsin.spark.audit.settings import limits_from_settings
from tocsin.spark.audit.sorting import sort_here
from tocsin.traces.rows import Row

GROUPS = {"g": ["a", "b", "c"], "h": ["b", "c"]}


def audited(path: Path, sort: Sort | None = None, **options: Any) -> Report:
    executor = LocalExecutor()
    outlines = outline([str(path)], executor, options.get("trace_map"))
    return audit(outlines, executor, sort=sort, **options).report


def made_rows(messages: int = 60, run: str = "made") -> list[Row]:
    return MadeRun(GROUPS, messages, seed=3, run=run).rows()


def same(one: Report, other: Report) -> bool:
    plain = [{name: verdict[:3] for name, verdict in each.properties.items()} for each in (one, other)]
    return plain[0] == plain[1] and sizes(one) == sizes(other)


def sizes(report: Report) -> tuple[int, int, int]:
    return report.rows, report.runs, report.sites


THEIRS = {
    "experiment": "run",
    "node": "site",
    "line": "order",
    "ts": "time_us",
    "what": "event",
    "sender": "origin",
    "number": "seqno",
}
MAP = """
time_unit = "ms"
[columns]
run = "experiment"
site = "node"
order = "line"
time_us = "ts"
event = "what"
origin = "sender"
seqno = "number"
[constants]
group = "all"
[events]
TX = "broadcast"
RX = "deliver"
RX2 = "deliver"
"""


def theirs(rows: list[Row]) -> Any:
    """The same log, as another system writes it: other names, other words, words it needs and we do not."""
    words = {"broadcast": "TX", "deliver": "RX"}
    columns: dict[str, list[Any]] = {name: [getattr(row, ours) for row in rows] for name, ours in THEIRS.items()}
    columns["ts"] = [row.time_us / 1000 for row in rows]
    columns["what"] = [words[row.event] if row.order % 2 else words[row.event].replace("RX", "RX2") for row in rows]
    columns["node"] = [ord(row.site) for row in rows]  # sites are numbers there
    columns["sender"] = [ord(row.origin or "") for row in rows]
    return pa.table(columns)


def test_the_log_of_another_system(tmp_path: Path) -> None:
    rows = MadeRun({"all": ["a", "b", "c"]}, 60, seed=4).rows()
    (tmp_path / "map.toml").write_text(MAP)
    table = theirs(rows)
    of_a = [row for row in rows if row.site == "a"]
    heartbeat = table.slice(0, 1).to_pylist()[0] | {"what": "HEARTBEAT", "line": len(of_a)}
    table = pa.concat_tables(
        [table.slice(0, len(of_a)), pa.Table.from_pylist([heartbeat], table.schema), table.slice(len(of_a))]
    )
    pq.write_table(table, tmp_path / "log.parquet")
    report = audited(tmp_path / "log.parquet", trace_map=read_trace_map(tmp_path / "map.toml"))
    expected = check(rows)
    assert {name: verdict[:3] for name, verdict in report.properties.items()} == {
        name: verdict[:3] for name, verdict in expected.properties.items()
    }
    assert report.properties["fifo"].verdict == PASS
    assert report.rows == len(rows) + 1


@pytest.mark.parametrize("missing", ["order", "group", "origin", "seqno"])
def test_without_a_column_that_all_need_nothing_is_checkable(tmp_path: Path, missing: str) -> None:
    table = trace_table(made_rows()).drop_columns([missing])
    pq.write_table(table, tmp_path / "t.parquet")
    report = audited(tmp_path / "t.parquet")
    assert {verdict.verdict for verdict in report.properties.values()} == {NOT_CHECKABLE}
    assert all(f"no column `{missing}`" in (verdict.why or "") for verdict in report.properties.values())
    assert sizes(report) == (table.num_rows, 1, 3)


def test_a_missing_column_takes_what_depends_on_it_and_no_more(tmp_path: Path) -> None:
    rows = made_rows()
    views = [Row("made", site, 0, 0, "view", view=1, members=("a", "b", "c")) for site in "abc"]
    rows = sorted([*views, *(row._replace(order=row.order + 1) for row in rows)], key=lambda row: (row.site, row.order))
    pq.write_table(trace_table(rows).drop_columns(["members"]), tmp_path / "t.parquet")
    report = audited(tmp_path / "t.parquet")
    unknown = {name for name, verdict in report.properties.items() if verdict.verdict == NOT_CHECKABLE}
    assert unknown == {"validity", "agreement", "uniform_agreement", "safe", "view_synchrony", "settled"}
    assert "no columns `view` and `members`" in (report.properties["agreement"].why or "")
    assert report.properties["multiple_group"].verdict == PASS


def test_one_clock_without_times_leaves_safe_open(tmp_path: Path) -> None:
    receipts = [
        Row("r", "a", 0, 5, "broadcast", "g", "a", 0),
        Row("r", "a", 1, 6, "deliver", "g", "a", 0),
        Row("r", "b", 0, 7, "receive", None, "a", 0, kind="data"),
        Row("r", "b", 1, 8, "deliver", "g", "a", 0),
    ]
    pq.write_table(trace_table(receipts, one_clock=True).drop_columns(["time_us"]), tmp_path / "t.parquet")
    assert audited(tmp_path / "t.parquet").properties["safe"].verdict == NOT_CHECKABLE
    pq.write_table(trace_table(receipts, one_clock=False), tmp_path / "t.parquet")
    assert audited(tmp_path / "t.parquet").properties["safe"].verdict == PASS


@pytest.mark.parametrize("limits", [Limits(), Limits(run_rows=1, task_rows=50)], ids=["whole", "by logs"])
def test_unsorted_rows_are_sorted_first(tmp_path: Path, limits: Limits) -> None:
    rows = made_rows(200)
    shuffled = Random(1).sample(rows, len(rows))
    path = write_rows(tmp_path / "t.parquet", shuffled, one_clock=True, row_group_size=50)
    with pytest.raises(InputError, match="expected rows in the order 0, 1, 2, …"):
        audited(path, limits=limits)
    report = audited(path, limits=limits, sort=lambda files, _, trace_map: sort_here(files, trace_map, tmp_path))
    assert same(report, check(rows, one_clock=True))
    assert report.properties["causal"].verdict == PASS


def test_a_log_stored_in_pieces_out_of_order_needs_no_sorting(tmp_path: Path) -> None:
    rows = made_rows(200)
    write_rows(tmp_path / "t" / "2.parquet", [row for row in rows if row.order < 40], row_group_size=30)
    write_rows(tmp_path / "t" / "1.parquet", [row for row in rows if row.order >= 40], row_group_size=30)
    for limits in (Limits(), Limits(run_rows=1)):
        assert same(audited(tmp_path / "t", limits=limits), check(rows))


def test_arrow_files_beside_parquet(tmp_path: Path) -> None:
    """As journals have them: each site's rows in Arrow files, in small record batches, with columns of their own."""
    rows = made_rows(200)
    for site in "ab":
        own = [row for row in rows if row.site == site]
        for number, start in enumerate(range(0, len(own), 50)):
            table = trace_table(own[start : start + 50])
            with (
                pa.OSFile(str(tmp_path / f"{site}{number}.arrow"), "wb") as sink,
                pa.ipc.new_file(sink, table.schema) as file,
            ):
                file.write_table(table, 20)
    write_rows(tmp_path / "c.parquet", [row for row in rows if row.site == "c"])
    for limits in (Limits(), Limits(run_rows=1, task_rows=60)):
        assert same(audited(tmp_path, limits=limits), check(rows))
    (tmp_path / "b1.arrow").write_bytes(b"ARROW1 and then nothing")
    with pytest.raises(InputError, match=r"b1\.arrow: expected an Arrow file"):
        audited(tmp_path)


def test_a_row_twice_is_refused_even_after_sorting(tmp_path: Path) -> None:
    rows = made_rows()
    write_rows(tmp_path / "t" / "1.parquet", rows)
    write_rows(tmp_path / "t" / "2.parquet", rows[10:12])
    with pytest.raises(InputError, match="name each file once"):
        audited(tmp_path / "t", sort=lambda files, _, trace_map: sort_here(files, trace_map, tmp_path))


def test_many_runs_in_one_file_and_one_run_in_many(tmp_path: Path) -> None:
    runs = [made_rows(20 + number, f"run{number}") for number in range(12)]
    runs[7] = MadeRun(GROUPS, 27, seed=3, run="run7").rows()
    runs[7] = [row for row in runs[7] if row.site != "b"]  # it has no rows: a member that delivered nothing
    write_rows(tmp_path / "t" / "many.parquet", [row for run in runs for row in run], row_group_size=97)
    for number, row_site in enumerate("abc"):
        one = [row for row in made_rows(33, "live") if row.site == row_site]
        write_rows(tmp_path / "t" / f"{number}.parquet", one, row_group_size=10)
    every = [row for run in runs for row in run] + made_rows(33, "live")
    for limits in (Limits(), Limits(run_rows=1, task_rows=60), Limits(task_rows=50)):
        report = audited(tmp_path / "t", terms=Terms(GROUPS), limits=limits)
        assert same(report, check(every, GROUPS))
        assert report.runs == 13
        witness = report.properties["agreement"].evidence
        assert witness is not None and witness[0].run == "run7"


def test_broken_files_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"bytes\.parquet: expected a Parquet file"):
        audited(tmp_path / "bytes.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="found no column `site`; a map may say which it is"):
        audited(tmp_path / "other.parquet")
    good = write_rows(tmp_path / "good.parquet", made_rows(), row_group_size=1 << 20)
    data = bytearray(good.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 400] = bytes(400)
    (tmp_path / "torn.parquet").write_bytes(data)
    with pytest.raises(InputError, match=r"torn\.parquet"):
        audited(tmp_path / "torn.parquet")
    null = trace_table(made_rows()).to_pylist()
    null[5]["seqno"] = None
    pq.write_table(pa.Table.from_pylist(null, trace_table([]).schema), tmp_path / "null.parquet")
    with pytest.raises(InputError, match=r"order 5: expected group, origin and seqno on a .* row, found a null"):
        audited(tmp_path / "null.parquet")
    strange = trace_table(made_rows()).to_pylist()
    strange[3]["event"] = "delivr"
    pq.write_table(pa.Table.from_pylist(strange, trace_table([]).schema), tmp_path / "strange.parquet")
    with pytest.raises(InputError, match=r"unknown event `delivr` \(did you mean `deliver`\?\)"):
        audited(tmp_path / "strange.parquet")


def test_an_empty_trace_has_nothing_to_check(tmp_path: Path) -> None:
    report = audited(write_rows(tmp_path / "t.parquet", []))
    assert sizes(report) == (0, 0, 0)
    assert {verdict.verdict for verdict in report.properties.values()} == {NOT_CHECKABLE}
    assert list(report.properties) == list(PROPERTIES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[columns]\nsequno = "x"', "unknown key `columns.sequno` (did you mean `seqno`?)"),
        ('[columnz]\nsite = "x"', "unknown key `columnz` (did you mean `columns`?)"),
        ('[events]\nTX = "broadcst"', "`events.TX`: expected an event, found `broadcst` (did you mean `broadcast`?)"),
        ('[columns]\ngroup = "x"\n[constants]\ngroup = "y"', "`group`: expected a column or a constant, found both"),
        ('time_unit = "weeks"', "time_unit"),
        ('[constants]\nseqno = "3"', "unknown key `constants.seqno`"),
    ],
)
def test_bad_maps_name_the_key(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_trace_map(path)
    assert expected in str(raised.value)
    assert str(raised.value).startswith(str(path))


def test_limits_are_read_from_settings() -> None:
    settings = {"spark.executor.memory": "8g", "spark.tocsin.open_rows": "123", "spark.tocsin.scratch": "/shared"}
    assert limits_from_settings(settings) == Limits(open_rows=123)
    with pytest.raises(InputError, match="did you mean `open_rows`"):
        limits_from_settings({"spark.tocsin.open_row": "1"})
    with pytest.raises(InputError, match="expected a number of at least 1, found `many`"):
        limits_from_settings({"spark.tocsin.open_rows": "many"})


def test_a_map_of_nothing_reads_our_own_traces() -> None:
    assert TraceMap().wanted(["run", "site", "x"], ("site", "run", "order")) == ["site", "run"]
