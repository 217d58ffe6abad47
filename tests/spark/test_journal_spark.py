"""Spark reads a member's Arrow files as they are: the table at once, or file by file where the files lie; and audits a
data folder, the log behind the files included, of a member that runs or has left."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset
import pytest

import tocsin
from tests.live.live_groups import until, write_group
from tocsin.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

MESSAGES = [b"%d" % number + bytes(700) for number in range(300)] + [b""]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of a member that is alone in its group."""
    path = write_group(tmp_path, sites="a", tail='[journal]\ndurability = "process"\nsegment_bytes = 65_536\n')

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for message in MESSAGES:
            await (await member.broadcast(message)).ordered()
        await member.leave()

    asyncio.run(body())
    folder = tmp_path / "data" / "a" / "journal"
    assert len(list(folder.glob("*.arrow"))) > 2
    return folder


def test_a_data_folder_is_audited_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While the member runs, its newest rows are in its log only."""
    path = write_group(tmp_path, sites="a", tail='[journal]\ndurability = "process"\nsegment_bytes = 65_536\n')
    folder = tmp_path / "data"
    answers: dict[str, Any] = {}

    def ask(*words: str) -> None:
        expected = ("--expect", "agreed", "--allow-unchecked", "view_synchrony")  # this protocol has no views
        assert main([*words, str(folder), "--json", *expected]) == 0
        answers[words[0]] = json.loads(capsys.readouterr().out)

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for message in MESSAGES:
            await (await member.broadcast(message)).ordered()
        await until(lambda: len(list((folder / "a" / "journal").glob("*.arrow"))) > 1)
        for verb in ("check", "audit"):
            await asyncio.to_thread(ask, verb)
        assert answers["check"]["rows"] == 2 * len(MESSAGES)
        await member.leave()

    asyncio.run(body())
    assert answers["audit"] == answers["check"]
    for verb in ("check", "audit"):
        ask(verb)
    assert answers["audit"] == answers["check"]
    assert answers["check"]["rows"] == 2 * len(MESSAGES) + 1
    assert answers["check"]["properties"]["multiple_source"]["verdict"] == "pass"


def delivered(frame: "DataFrame") -> list[tuple[int, bytes]]:
    rows = frame.where("event = 'deliver'").select("position", "payload").orderBy("position").collect()
    return [(row.position, bytes(row.payload)) for row in rows]


def test_a_journal_is_a_dataframe(spark: "SparkSession", journal: Path) -> None:
    frame = spark.createDataFrame(pa.dataset.dataset(journal, format="ipc").to_table())
    assert delivered(frame) == list(enumerate(MESSAGES))


def test_files_are_read_where_they_lie(spark: "SparkSession", journal: Path) -> None:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name in batch.column("file").to_pylist():
                yield from pa.dataset.dataset(name, format="ipc").to_batches(columns=["event", "position", "payload"])

    names = spark.createDataFrame([(str(path),) for path in sorted(journal.glob("*.arrow"))], "file string")
    frame = names.repartition(2).mapInArrow(read, "event string, position long, payload binary")
    assert delivered(frame) == list(enumerate(MESSAGES))
