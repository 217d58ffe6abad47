"""Journals: Arrow files with the columns of a trace, for any reader; the log behind them; retention."""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset
import pytest

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.core.errors import InputError
from tocsin.live.errors import Damaged
from tocsin.live.frame_format import pack
from tocsin.live.storage import journal, journal_rows, journal_writer
from tocsin.live.storage.data_folders import opened
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import log_path
from tocsin.live.storage.file_walk import log_files
from tocsin.live.storage.identity import is_running
from tocsin.live.storage.journal import journal_batches, write_trace
from tocsin.live.storage.journal_folder import JournalFolder, journal_files
from tocsin.live.storage.journal_rows import RowMaker
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_reader import LogReader
from tocsin.live.storage.site_folders import site_folders
from tocsin.live.stream import Stream
from tocsin.properties import Report, check
from tocsin.traces.reader import has_one_clock, read_rows

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


def _column(folder: Path, name: str) -> list[Any]:
    return [value for batch in journal_batches(folder) for value in batch.column(name).to_pylist()]


def _orders(folder: Path) -> list[int]:
    return _column(folder, "order")


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
    assert len(log_files(Disk(), folder / "wal")) > 3
    return folder, messages


def _archive(folder: Path, file: int) -> None:
    """As a running member does: the Arrow file first, then the file of the log is let go of, and written over."""
    JournalFolder(folder, 1 << 40, 0).add(file)
    path = log_path(folder / "wal", file)
    path.write_bytes(bytes(path.stat().st_size))
    path.rename(path.with_suffix(".spare"))


def test_a_file_that_leaves_the_log_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the chaos test, at round 101: a member's file seemed to be missing, and with it 4,000 deliveries."""
    folder, messages = _grown(tmp_path)
    files = log_files(Disk(), folder / "wal")
    for file in files[:-1]:  # while the one before is being read
        plain = journal_writer.file_batches

        def read(maker: RowMaker, log: LogReader, number: int, file: int = file, plain: Any = plain) -> Any:
            for batch in plain(maker, log, number):
                if number == file and log.has(number):
                    monkeypatch.undo()  # the journal is written as ever
                    _archive(folder, number)
                yield batch

        monkeypatch.setattr(journal, "file_batches", read)
        monkeypatch.setattr(journal_rows, "BATCH_ROWS", 5)
        assert _delivered(folder) == messages
        assert _orders(folder) == list(range(len(_orders(folder))))
        assert journal_files(folder / "journal")[-1] == file
        monkeypatch.undo()


def test_a_file_that_leaves_the_log_while_others_are_read_is_read_once(tmp_path: Path) -> None:
    folder, messages = _grown(tmp_path)
    files = log_files(Disk(), folder / "wal")
    _archive(folder, files[0])
    batches = journal_batches(folder)
    found = [next(batches)]
    for file in files[1:-1]:
        _archive(folder, file)
    found += list(batches)
    assert [payload for payload in pa.Table.from_batches(found)["payload"].to_pylist() if payload] == messages


@pytest.mark.parametrize("at", [13_000, 40_000])
def test_damage_in_the_log_is_named_and_no_arrow_file_is_made_of_it(tmp_path: Path, at: int) -> None:
    folder, _ = _grown(tmp_path)
    path = log_path(folder / "wal", 1)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    for read in (lambda: _delivered(folder), lambda: JournalFolder(folder, 1 << 40, 0).add(1)):
        with pytest.raises(Damaged, match=r"0000000001\.wal: offset \d+: .*damaged"):
            read()
    assert journal_files(folder / "journal") == [] and path.read_bytes() == data


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder, _ = _grown(tmp_path)

    def broken(maker: RowMaker, log: LogReader, number: int) -> Any:
        raise FileNotFoundError(2, "No such file", str(log_path(folder / "wal", 99)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "file_batches", broken)
        with pytest.raises(InputError, match=r"99\.wal: missing, and the log refers to it"):
            _delivered(folder)


def test_retention_drops_the_oldest_and_the_rest_says_so(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL + "keep_bytes = 150_000\n")
    _fill(path, [b"%d" % number + bytes(5000) for number in range(100)])
    folder = tmp_path / "data" / "a"
    files = journal_files(folder / "journal")
    assert files[0] > 0
    assert sum(file.stat().st_size for file in (folder / "journal").glob("*.arrow")) < 250_000
    assert _delivered(folder)[-1].rstrip(b"\0") == b"99"
    events, orders = _column(folder, "event"), _orders(folder)
    assert events[0] == "retained" and "retained" not in events[1:]
    assert orders == list(range(orders[0], orders[0] + len(orders))) and orders[0] > 0
    write_trace([tmp_path / "data"], tmp_path / "t.parquet")
    report = check(read_rows([tmp_path / "t.parquet"]), one_clock=False)
    open_ones = {name for name, verdict in report.properties.items() if verdict.verdict == "not checkable"}
    assert open_ones >= {"integrity", "agreement", "uniform_agreement", "causal", "safe"}  # the dropped rows may tell
    assert not any(verdict.verdict == "fail" for verdict in report.properties.values())


def test_lives_and_their_ends_become_crashes_and_recoveries(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL)
    _fill(path, [b"one"], leave=False)
    _fill(path, [b"two"], leave=True)
    assert write_trace([tmp_path / "data"], tmp_path / "t.parquet") == 7
    events = [row.event for row in read_rows([tmp_path / "t.parquet"])]
    assert events == ["broadcast", "deliver", "crash", "recover", "broadcast", "deliver", "leave"]
    report = check(read_rows([tmp_path / "t.parquet"]), one_clock=False)
    assert report.properties["integrity"].verdict == "pass"
    assert report.properties["validity"].verdict == "pass"


def test_orders_go_on_over_files_lives_and_the_log(tmp_path: Path) -> None:
    """The rows are the same however much of them has become Arrow files, and whoever asks when."""
    path = write_group(tmp_path, sites="a", tail=SMALL)
    folder = tmp_path / "data" / "a"
    seen: list[tuple[int, str]] = []

    def look() -> None:
        rows = list(zip(_orders(folder), _column(folder, "event"), strict=True))
        assert [order for order, _ in rows] == list(range(len(rows)))
        assert rows[: len(seen)] == seen
        seen[:] = rows

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(60):
            await (await member.broadcast(b"%d" % number + bytes(3000))).ordered()
            if number % 20 == 0:
                look()
        await member.close()

    for _ in range(3):
        run(body)
        look()
    assert len(journal_files(folder / "journal")) > 3
    assert [event for _, event in seen if event not in ("broadcast", "deliver")] == ["crash", "recover"] * 2 + ["crash"]


def test_a_life_without_an_end_is_a_crash_once_nobody_is_there(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=SMALL + "archive = false\n")
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        await (await member.broadcast(b"one")).ordered()
        shutil.copytree(folder, tmp_path / "killed", ignore=shutil.ignore_patterns("*.sock"))
        await member.leave()

    run(body)
    assert _column(folder, "event") == ["broadcast", "deliver", "leave"]
    shutil.rmtree(folder)
    (tmp_path / "killed").rename(folder)  # as if it was killed before it could say that it leaves
    assert _column(folder, "event") == ["broadcast", "deliver", "crash"]
    assert _orders(folder) == [0, 1, 2]
    _fill(path, [b"two"])
    assert _column(folder, "event") == ["broadcast", "deliver", "crash", "recover", "broadcast", "deliver", "leave"]
    assert _orders(folder) == list(range(7))


def test_rows_that_no_arrow_file_was_made_of_show_as_a_hole(tmp_path: Path) -> None:
    folder, _ = _grown(tmp_path)
    files = log_files(Disk(), folder / "wal")
    whole = _orders(folder)
    _archive(folder, files[0])
    log_path(folder / "wal", files[1]).unlink()  # let go of while no Arrow files were made
    _archive(folder, files[2])
    orders = _orders(folder)
    steps = [later - earlier for earlier, later in pairwise(orders)]
    assert len(orders) < len(whole) and steps.count(2) == 1 and set(steps) == {1, 2}
    for file in (folder / "journal").glob("*.arrow"):
        file.unlink()
    assert _column(folder, "event")[0] == "retained" and _orders(folder)[:2] == [0, 1]


def test_what_follows_an_arrow_file_is_in_another_one(tmp_path: Path) -> None:
    """Also where none are made for a while."""
    path = write_group(tmp_path, sites="a", tail=SMALL)
    folder = tmp_path / "data" / "a"
    plain = path.read_text()
    for number, tail in enumerate(("", "archive = false\n", "archive = false\n", "")):
        path.write_text(plain + tail)
        _fill(path, [b"%d" % number])
    assert _delivered(folder) == [b"0", b"1", b"2", b"3"]
    assert _orders(folder) == list(range(4 * 4 - 1))  # the first life does not recover


def test_a_data_folder_is_checked_as_it_is(tmp_path: Path) -> None:
    """A member's folder, its journal, or the folder of all: files and log alike, running or not, and the same verdicts
    as of a trace made of them."""
    path = write_group(tmp_path, sites="a", tail=SMALL)
    folder = tmp_path / "data" / "a"
    reports: list[Report] = []

    def look() -> None:
        for named in (folder, folder / "journal", tmp_path / "data"):
            with opened([str(named)]) as files:
                paths = [Path(file) for file in files]
                assert all(file.exists() for file in paths)
                reports.append(check(read_rows(paths), one_clock=has_one_clock(paths)))
            assert all(file.is_relative_to(tmp_path) == file.exists() for file in paths), "nothing is left behind"
        write_trace([tmp_path / "data"], tmp_path / "t.parquet")
        reports.append(check(read_rows([tmp_path / "t.parquet"]), one_clock=False))

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(120):
            await (await member.broadcast(b"%d" % number + bytes(3000))).ordered()
        await until(lambda: len(journal_files(folder / "journal")) > 1)
        look()
        await member.leave()

    run(body)
    look()
    for at in (0, 4):
        assert reports[at : at + 4] == [reports[at]] * 4
        passed = {name for name, verdict in reports[at].properties.items() if verdict.verdict == "pass"}
        assert passed >= {"integrity", "validity", "agreement", "fifo", "causal", "multiple_source", "acyclic"}
    assert (reports[0].rows, reports[4].rows) == (240, 241)  # at the end it left


def test_a_folder_that_is_not_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a member's data folder"):
        site_folders(tmp_path)
    path = write_group(tmp_path, sites="a", tail=SMALL)
    _fill(path, [b"x"])
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace('name = "test"', 'name = "another"'))
    with pytest.raises(InputError, match="use another data_dir"):
        _fill(other, [b"y"])
    assert log_files(Disk(), tmp_path / "data" / "a" / "wal") == [0]
