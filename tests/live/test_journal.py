"""Journals: Arrow files that other readers take as they are, the log behind them, retention, and traces."""

import os
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset
import pytest
import xxhash

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.core.errors import InputError
from tocsin.live.frame_format import pack
from tocsin.live.storage import arrow_files, journal, journal_format
from tocsin.live.storage.archive import Archive, journal_files
from tocsin.live.storage.identity import is_running, site_folders
from tocsin.live.storage.journal import journal_batches, journal_is_whole
from tocsin.live.storage.journal_format import RowMaker
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import HEAD, MAGIC, log_files_in, log_path
from tocsin.live.storage.trace import write_trace
from tocsin.live.stream import Stream
from tocsin.properties import check
from tocsin.traces.parquet import read_rows

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

SMALL = '[journal]\ndurability = "process"\nsegment_bytes = 65_536\n'


def _fill(path: Path, messages: list[bytes], leave: bool = True) -> None:
    """One member, alone in its group, that delivers these."""

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for message in messages:
            await (await member.broadcast(message)).ordered()
        if leave:
            await member.leave()
        else:
            await member.close()

    run(body)


def _delivered(folder: Path) -> list[bytes]:
    return [
        payload
        for batch in journal_batches(folder)
        for event, payload in zip(batch.column("event").to_pylist(), batch.column("payload").to_pylist(), strict=True)
        if event == "deliver"
    ]


def test_other_readers_take_the_files_as_they_are(tmp_path: Path) -> None:
    messages = [b"%d" % number + bytes(700) for number in range(300)] + [b""]
    _fill(write_group(tmp_path, sites="a", tail=SMALL), messages)
    folder = tmp_path / "data" / "a" / "journal"
    assert len(journal_files(folder)) > 2
    frame = polars.read_ipc(str(folder / "*.arrow")).filter(polars.col("event") == "deliver")
    assert frame["payload"].to_list() == messages
    assert frame["position"].to_list() == list(range(301))
    arrow = pa.dataset.dataset(folder, format="ipc")  # noqa: F841  (DuckDB finds it by its name)
    answer = duckdb.sql("select count(*), sum(octet_length(payload)) from arrow where event = 'deliver'").fetchall()
    assert answer == [(301, sum(map(len, messages)))]


def test_a_large_message_over_several_files_is_one_row(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL)
    large = bytes(range(256)) * 2000
    _fill(path, [b"before", large, b"after"])
    assert len(journal_files(tmp_path / "data" / "a" / "journal")) > 1
    assert _delivered(tmp_path / "data" / "a") == [b"before", large, b"after"]


def test_the_log_behind_the_files_is_part_of_the_journal(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL)
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(100):
            await (await member.broadcast(b"%d" % number + bytes(2000))).ordered()
        await until(lambda: len(journal_files(folder / "journal")) > 1)
        assert is_running(folder)
        assert [payload.rstrip(b"\0") for payload in _delivered(folder)] == [b"%d" % number for number in range(100)]
        await member.close()

    run(body)
    assert not is_running(folder)
    assert len(_delivered(folder)) == 100


def _grown(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """The folder of a member whose log lies in several files, none of them in the journal yet; and its deliveries."""
    messages = [b"%d" % number + bytes(2000) for number in range(100)]
    _fill(write_group(tmp_path, sites="a", tail=SMALL + "archive = false\n"), messages[:1])
    folder = tmp_path / "data" / "a"
    log = Log(folder / "wal", 1, 65_536)
    stream = Stream(0, log.frames)
    for number, message in enumerate(messages[1:], 1):
        payload = pack(number, [message])
        op, _ = stream.deliver(0, number, payload)
        log.stage_checkpoint([])
        log.stage_delivery(op, payload)
        laid = log.layout()
        log.write(laid)
        log.apply(laid)
        stream.on_applied([])
    log.close()
    assert len(log_files_in(folder / "wal")) > 3
    return folder, messages


def _archive(folder: Path, file: int) -> None:
    """As a running member does: the Arrow file first, then the file of the log is let go of, and written over."""
    Archive(folder, ("a",), ("all",), 0, (1 << 40, 0)).add(file)
    path = log_path(folder / "wal", file)
    path.write_bytes(bytes(path.stat().st_size))
    path.rename(path.with_suffix(".spare"))


def test_a_file_that_leaves_the_log_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the chaos test, at round 101: a member's file seemed to be missing, and with it 4,000 deliveries."""
    folder, messages = _grown(tmp_path)
    files = log_files_in(folder / "wal")
    for file in files[:-1]:  # while the one before is being read
        plain = arrow_files.feed_file

        def feed(maker: RowMaker, wal: Path, number: int, kind: Any, file: int = file, plain: Any = plain) -> Any:
            for batch in plain(maker, wal, number, kind):
                if number == file and log_path(wal, number).exists():
                    _archive(folder, number)
                yield batch

        monkeypatch.setattr(journal, "feed_file", feed)
        monkeypatch.setattr(journal_format, "BATCH_ROWS", 5)
        assert _delivered(folder) == messages
        assert journal_files(folder / "journal")[-1] == file
        monkeypatch.undo()


def test_a_file_that_leaves_the_log_while_others_are_read_is_read_once(tmp_path: Path) -> None:
    folder, messages = _grown(tmp_path)
    files = log_files_in(folder / "wal")
    _archive(folder, files[0])
    batches = journal_batches(folder)
    found = [next(batches)]
    for file in files[1:-1]:
        _archive(folder, file)
    found += list(batches)
    assert [payload for payload in pa.Table.from_batches(found)["payload"].to_pylist() if payload] == messages


def test_a_file_that_is_cut_while_it_is_read_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written over is cut behind its last batch when it is closed. Mapped, what was there could not be
    touched any more: the system would end the reader."""
    folder, messages = _grown(tmp_path)
    path = log_path(folder / "wal", log_files_in(folder / "wal")[-1])
    whole = path.read_bytes()
    old = HEAD.pack(MAGIC, 1000, 500_000, 0)  # of the file that it was before
    path.write_bytes(whole + old + bytes(1 << 20))
    plain = xxhash.xxh3_64

    def checksum(lengths: bytes, file: int) -> Any:
        if lengths == old[len(MAGIC) : len(MAGIC) + len(lengths)]:
            os.truncate(path, len(whole))
        return plain(lengths, file)

    monkeypatch.setattr(xxhash, "xxh3_64", checksum)
    assert _delivered(folder) == messages
    assert path.stat().st_size == len(whole)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder, _ = _grown(tmp_path)

    def broken(maker: RowMaker, wal: Path, number: int, kind: Any) -> Any:
        raise FileNotFoundError(2, "No such file", str(log_path(wal, 99)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "feed_file", broken)
        with pytest.raises(InputError, match=r"99\.wal: missing, and the log refers to it"):
            _delivered(folder)


def test_retention_drops_the_oldest_and_a_trace_of_the_rest_is_refused(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL + "keep_bytes = 150_000\n")
    _fill(path, [b"%d" % number + bytes(5000) for number in range(100)])
    folder = tmp_path / "data" / "a"
    files = journal_files(folder / "journal")
    assert files[0] > 0 and not journal_is_whole(folder)
    assert sum(file.stat().st_size for file in (folder / "journal").glob("*.arrow")) < 250_000
    assert _delivered(folder)[-1].rstrip(b"\0") == b"99"
    with pytest.raises(InputError, match="retention dropped its oldest part"):
        write_trace([tmp_path / "data"], tmp_path / "t.parquet")


def test_lives_and_their_ends_become_crashes_and_recoveries(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL)
    _fill(path, [b"one"], leave=False)
    _fill(path, [b"two"], leave=True)
    assert write_trace([tmp_path / "data"], tmp_path / "t.parquet") == 6
    events = [row.event for row in read_rows([tmp_path / "t.parquet"])]
    assert events == ["broadcast", "deliver", "crash", "recover", "broadcast", "deliver"]
    report = check(read_rows([tmp_path / "t.parquet"]), one_clock=False)
    assert report.properties["integrity"].verdict == "pass"
    assert report.properties["validity"].verdict == "pass"


def test_a_folder_that_is_not_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a member's data folder"):
        site_folders(tmp_path)
    path = write_group(tmp_path, sites="a", tail=SMALL)
    _fill(path, [b"x"])
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace('name = "test"', 'name = "another"'))
    with pytest.raises(InputError, match="use another data_dir"):
        _fill(other, [b"y"])
    assert log_files_in(tmp_path / "data" / "a" / "wal") == [0]
