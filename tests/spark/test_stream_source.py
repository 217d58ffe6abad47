"""`format("tocsin")` over data folders: tables and streams of deliveries, and rows of a trace."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.live_data import make_group

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

MESSAGES = 3_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_group(tmp_path_factory.mktemp("group"), MESSAGES, size=150)


def load(spark: "SparkSession", **options: Any) -> "DataFrame":
    return spark.read.format("tocsin").options(**options).load()


def run_stream(spark: "SparkSession", folder: Path, frame: "DataFrame", batches: list[list[int]]) -> None:
    """Everything that is there now; the positions of each batch are added to `batches`."""

    def take(batch: "DataFrame", _: int) -> None:
        batches.append([row.position for row in batch.collect()])

    query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(folder))
    query.trigger(availableNow=True).start().awaitTermination()


def test_a_table_of_deliveries(spark: "SparkSession", data: Path) -> None:
    frame = load(spark, path=str(data))
    assert frame.columns == ["group", "position", "origin", "seqno", "producer", "number", "sent_us", "payload"]
    rows = frame.collect()
    assert sorted(row.position for row in rows) == list(range(MESSAGES))
    assert {bytes(row.payload)[:6] for row in rows} == {b"%06d" % number for number in range(MESSAGES)}
    assert {row.origin for row in rows} == {"a", "b", "c"}


@pytest.mark.parametrize("site", ["a", "b", "c"])
def test_every_member_has_the_same_rows(spark: "SparkSession", data: Path, site: str) -> None:
    one, every = load(spark, path=str(data), site=site), load(spark, path=str(data))
    assert one.orderBy("position").collect() == every.orderBy("position").collect()


def test_positions_bound_what_is_read(spark: "SparkSession", data: Path) -> None:
    frame = load(spark, path=str(data), startingPosition="10", endingPosition="2990")
    assert [row.position for row in frame.orderBy("position").collect()] == list(range(10, 2990))


def test_a_schema_chooses_columns(spark: "SparkSession", data: Path) -> None:
    frame = spark.read.format("tocsin").schema("position bigint, origin string").load(str(data))
    assert frame.columns == ["position", "origin"] and frame.count() == MESSAGES


def test_filters_are_pushed_down(spark: "SparkSession", data: Path) -> None:
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"
    every = load(spark, path=str(data)).collect()
    origin = next(row.origin for row in every if row.position == 150)  # messages of one origin come many at a time
    frame = load(spark, path=str(data)).where(f"position >= 100 and position < 200 and origin = '{origin}'")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan  # Spark has nothing left to do
    positions = sorted(row.position for row in frame.collect())
    assert 150 in positions
    assert positions == sorted(row.position for row in every if 100 <= row.position < 200 and row.origin == origin)


def test_all_rows_of_all_sites(spark: "SparkSession", data: Path) -> None:
    frame = load(spark, path=str(data), rows="trace")
    counts = {(row.site, row.event): row["count"] for row in frame.groupBy("site", "event").count().collect()}
    assert all(counts[site, "deliver"] == MESSAGES for site in "abc")
    assert sum(counts[site, "broadcast"] for site in "abc") == MESSAGES


def test_a_stream_in_batches(spark: "SparkSession", data: Path, tmp_path: Path) -> None:
    stream = spark.readStream.format("tocsin").option("path", str(data)).option("maxRecordsPerBatch", "700")
    batches: list[list[int]] = []
    run_stream(spark, tmp_path / "c", stream.load(), batches)
    assert [position for batch in batches for position in batch] == list(range(MESSAGES))
    assert [len(batch) for batch in batches] == [700, 700, 700, 700, 200]
    run_stream(spark, tmp_path / "c", stream.load(), batches)
    assert len(batches) == 5


def test_a_batch_read_again_is_the_same(spark: "SparkSession", data: Path, tmp_path: Path) -> None:
    """The driver was killed before it noted that a batch was done: it is read again, from another member."""
    checkpoint = tmp_path / "c"
    batches: list[list[int]] = []
    stream = spark.readStream.format("tocsin").option("maxRecordsPerBatch", "1000")
    run_stream(spark, checkpoint, stream.option("path", str(data / "a")).load(), batches)
    before = batches.copy()
    for name in ("2", "1"):
        (checkpoint / "commits" / name).unlink()
        (checkpoint / "commits" / f".{name}.crc").unlink(missing_ok=True)
    (checkpoint / "offsets" / "2").unlink()
    (checkpoint / "offsets" / ".2.crc").unlink(missing_ok=True)
    run_stream(spark, checkpoint, stream.option("path", str(data / "b")).load(), batches)
    assert batches[3:] == before[1:]


def test_a_stream_begins_where_it_is_told(spark: "SparkSession", data: Path, tmp_path: Path) -> None:
    for number, (said, expected) in enumerate(
        [("latest", []), ("2995", [2995, 2996, 2997, 2998, 2999]), (json.dumps({"all": 2999}), [2999])]
    ):
        batches: list[list[int]] = []
        stream = spark.readStream.format("tocsin").option("path", str(data)).option("startingPosition", said)
        run_stream(spark, tmp_path / str(number), stream.load(), batches)
        assert [position for batch in batches for position in batch] == expected


REFUSED = {
    "path or door": ({}, "expected option `path` (data folders) or option `door` (addresses), found neither"),
    "unknown": ({"path": "x", "startingPositon": "1"}, "unknown (did you mean `startingPosition`?)"),
    "position": ({"path": "x", "startingPosition": "first"}, "option `startingPosition`: expected earliest, latest"),
    "no folder": ({"path": "nowhere"}, "nowhere: expected a member's data folder or a folder of them"),
    "rows": ({"path": "x", "rows": "all"}, "option `rows`: expected streamed or trace or parts, found `all`"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_wrong_options_are_one_line(spark: "SparkSession", case: str) -> None:
    options, told = REFUSED[case]
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        load(spark, **options).collect()
    lines = str(caught.value).splitlines()
    assert any(told in line for line in lines), lines[-3:]


def test_a_wrong_schema_is_one_line(spark: "SparkSession", data: Path) -> None:
    with pytest.raises(Exception, match="column `position`: expected bigint, found string"):
        spark.read.format("tocsin").schema("position string").load(str(data)).collect()


def test_positions_that_are_gone(spark: "SparkSession", data: Path, tmp_path: Path) -> None:
    """Retention has dropped the oldest files of the only member that is read."""
    import shutil

    shutil.copytree(data / "a", tmp_path / "a")
    files = sorted((tmp_path / "a" / "journal").glob("*.arrow"))
    assert len(files) > 1
    files[0].unlink()
    frame = load(spark, path=str(tmp_path / "a"))
    first = min(row.position for row in frame.collect())
    assert first > 0 and frame.count() == MESSAGES - first
    with pytest.raises(Exception, match=f"positions 0 to {first - 1} are gone"):
        load(spark, path=str(tmp_path / "a"), startingPosition="0").collect()
    assert (
        load(spark, path=str(tmp_path / "a"), startingPosition="0", failOnDataLoss="false").count() == MESSAGES - first
    )
    assert load(spark, path=str(tmp_path / "a"), rows="trace").where("event = 'retained'").count() == 1
    both = spark.read.format("tocsin").option("startingPosition", "0").load([str(tmp_path / "a"), str(data / "b")])
    assert both.count() == MESSAGES
