"""A group through its doors: read as a table and as a stream, and published to, each row once."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tocsin
from tests.door.door_groups import READER, WRITER, door_tables, payloads, wait_open
from tests.live.harness import LiveGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

MESSAGES = [b"%05d" % number for number in range(2_000)]


class Doors:
    """A running group."""

    def __init__(self, group: LiveGroup, urls: list[str]) -> None:
        self.group = group
        self.urls = ",".join(urls)

    def client(self) -> tocsin.Client:
        return tocsin.connect(self.urls, token=WRITER)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("group")
    tables, urls = door_tables(folder)
    with LiveGroup(folder, "counter_token", tail=tables + '\n[journal]\ndurability = "process"\n') as group:
        group.start_all()
        group.wait_together()
        wait_open(urls)
        found = Doors(group, urls)
        with found.client() as client:
            client.publish(MESSAGES)
        yield found


def load(spark: "SparkSession", doors: Doors, **options: Any) -> "DataFrame":
    found = spark.read.format("tocsin").option("door", doors.urls).option("token", READER)
    return found.options(**options).load()


def test_a_table(spark: "SparkSession", doors: Doors) -> None:
    rows = load(spark, doors, endingPosition=len(MESSAGES)).orderBy("position").collect()
    assert [bytes(row.payload) for row in rows] == MESSAGES
    folders = spark.read.format("tocsin").option("endingPosition", len(MESSAGES)).load(str(doors.group.data))
    assert folders.orderBy("position").collect() == rows  # the same rows, byte for byte


def test_a_stream_goes_on_at_another_door(spark: "SparkSession", doors: Doors, tmp_path: Path) -> None:
    found: list[int] = []
    first, *others = doors.urls.split(",")

    def take(batch: "DataFrame", number: int) -> None:
        found.extend(row.position for row in batch.collect())
        if number == 1:
            doors.group.kill("a")

    stream = spark.readStream.format("tocsin").option("door", ",".join([first, *others])).option("token", READER)
    stream = stream.option("maxRecordsPerBatch", "600").option("startingPosition", "0").option("consumer", "spark-1")
    query = stream.load().writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "c"))
    query.trigger(availableNow=True).start().awaitTermination()
    assert found[: len(MESSAGES)] == list(range(len(MESSAGES)))
    doors.group.start("a")
    doors.group.wait_answering("abc")
    wait_open(doors.urls.split(","))
    with doors.client() as client:
        assert client.consumers()["spark-1"] >= 599


def written(doors: Doors, prefix: bytes) -> list[bytes]:
    with doors.client() as client:
        return [payload for payload in payloads(client) if payload.startswith(prefix)]


def test_a_table_is_published(spark: "SparkSession", doors: Doors) -> None:
    frame = spark.range(0, 3_000, 1, 2).selectExpr("concat('table-', lpad(id, 5, '0')) AS payload")
    frame.write.format("tocsin").mode("append").options(door=doors.urls, token=WRITER, producer="etl").save()
    found = written(doors, b"table-")
    assert sorted(found) == [b"table-%05d" % number for number in range(3_000)]
    first = [payload for payload in found if payload < b"table-01500"]
    assert first == sorted(first)  # a partition keeps its order


def publish_stream(spark: "SparkSession", doors: Doors, source: Path, checkpoint: Path, **options: str) -> None:
    stream = spark.readStream.schema("payload string, n bigint").option("maxFilesPerTrigger", 1).json(str(source))
    chosen = stream if "numberColumn" in options else stream.select("payload")
    query = chosen.coalesce(1).writeStream.format("tocsin").option("checkpointLocation", str(checkpoint))
    query = query.options(door=doors.urls, token=WRITER, **options)
    query.trigger(availableNow=True).start().awaitTermination()


def uncommit(checkpoint: Path) -> None:
    """As if the driver had died before it noted that its last epoch was done."""
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)


def test_an_epoch_that_comes_again_is_published_once(spark: "SparkSession", doors: Doors, tmp_path: Path) -> None:
    """Also one of more rows than the group remembers numbers of a producer."""
    source = tmp_path / "source"
    for number in range(2):
        lines = [f'{{"payload": "s-{number}-{row:05d}", "n": {number * 2500 + row}}}' for row in range(2_500)]
        source.mkdir(exist_ok=True)
        (source / f"{number}.json").write_text("\n".join(lines))
    expected = [b"s-%d-%05d" % (number, row) for number in range(2) for row in range(2_500)]
    publish_stream(spark, doors, source, tmp_path / "c", producer="etl-7")
    assert written(doors, b"s-") == expected
    uncommit(tmp_path / "c")
    publish_stream(spark, doors, source, tmp_path / "c", producer="etl-7")
    assert written(doors, b"s-") == expected
    with doors.client() as client:
        names = {name for batch in client.read() for name in batch.column("producer").to_pylist() if name}
    assert any(name.startswith("etl-7/") and name.endswith("/0") and len(name) == 44 for name in names), names


def test_rows_with_numbers_are_published_once_by_any_query(spark: "SparkSession", doors: Doors, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    lines = [f'{{"payload": "n-{row:05d}", "n": {row}}}' for row in range(2_500)]
    (source / "0.json").write_text("\n".join(lines))
    for checkpoint in ("c", "d"):  # a fresh checkpoint sends everything again
        publish_stream(spark, doors, source, tmp_path / checkpoint, producer="numbered", numberColumn="n")
        assert written(doors, b"n-") == [b"n-%05d" % row for row in range(2_500)]


REFUSED = {
    "producer": ({"producer": ""}, "payload string", "option `producer`: expected a name"),
    "column": ({}, "other string", "columns: expected `payload` (binary or string), found other"),
    "kind": ({}, "payload bigint", "column `payload`: expected binary or string, found bigint"),
    "more": ({}, "payload string, key string", "column `key`: expected `payload`, `group` and the column of numbers"),
    "token": ({"token": "wrong"}, "payload string", "token"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_wrong_writes_are_one_line(spark: "SparkSession", doors: Doors, case: str) -> None:
    options, schema, told = REFUSED[case]
    frame = spark.createDataFrame([], schema) if case != "token" else spark.createDataFrame([("x",)], schema)
    with pytest.raises(Exception, match=r"(?s).*") as caught:
        given = {"door": doors.urls, "token": WRITER, "producer": "p", **options}
        frame.write.format("tocsin").mode("append").options(**given).save()
    assert any(told in line for line in str(caught.value).splitlines()), str(caught.value)[-400:]
