"""A step is durable as a whole or not at all; records, frames and positions come back. What is done about what is torn
or damaged: `test_recovery.py`."""

import errno
import os
from pathlib import Path

import pytest

from tocsin.live.errors import Damaged, StorageFailed
from tocsin.live.frame_format import pack
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import log_path
from tocsin.live.storage.file_walk import log_files
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Broadcast, Checkpoint, Missed, Snapshot, Start, Stop, View
from tocsin.live.stream import Stream

FILE_BYTES = 1 << 16


def _open(folder: Path) -> Log:
    return Log(folder, 1, FILE_BYTES)


def _commit(log: Log) -> None:
    laid = log.layout()
    log.write(laid)
    log.apply(laid)


def _deliver(log: Log, stream: Stream, origin: int, seqno: int, payload: bytes) -> None:
    op, _ = stream.deliver(origin, seqno, payload)
    log.stage_delivery(op, payload)


def _persist(log: Log, record: bytes) -> None:
    log.stage_record(record, b"")


def _step(log: Log, stream: Stream, number: int) -> None:
    """A step that says "delivered" and delivers, as protocols do."""
    _persist(log, b"record %d" % number)
    _deliver(log, stream, 0, number, pack(2 * number, [b"m%d" % number, b""]))
    _commit(log)
    stream.on_applied([])


def test_everything_comes_back(tmp_path: Path) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    log.stage(Start(0))
    log.stage(View(3, (0, 1), True))
    log.stage(Broadcast(0, 0, 0, 2))
    _step(log, stream, 0)
    _step(log, stream, 1)
    log.stage_checkpoint([b"summary", b""])
    _persist(log, b"later")
    _commit(log)
    log.close()
    again = _open(tmp_path)
    assert again.read_records() == [b"summary", b"", b"later"]
    assert (again.life, again.clean, again.next_number, again.in_doubt) == (0, False, 2, "")
    assert again.view == View(3, (0, 1), True)
    assert (again.frames.first(0), again.frames.end(0), again.frames.group(0).position) == (0, 2, 4)
    [entry] = again.frames.read(0, 1, 10)
    assert (entry.origin, entry.seqno, entry.payload) == (0, 1, pack(2, [b"m1", b""]))
    again.stage(Stop(True))
    _commit(again)
    again.close()
    last = _open(tmp_path)
    assert last.clean
    last.close()


def test_files_are_closed_and_let_go_when_nobody_needs_them(tmp_path: Path) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    for number in range(60):
        log.stage_checkpoint([b"summary %d" % number])
        _deliver(log, stream, 0, number, pack(number, [bytes(5000)]))
        _commit(log)
        stream.on_applied([])
    assert log.closed() == [0, 1, 2, 3]
    assert log.size_bytes() < 5 * 2 * FILE_BYTES
    assert log.release([0], archived=4) == []
    assert log.release([60], archived=2) == [0, 1]
    log.recycle([0, 1])
    assert log_files(Disk(), tmp_path) == [2, 3, 4]
    log.close()
    again = _open(tmp_path)
    assert again.read_records() == [b"summary 59"]
    assert again.frames.end(0) == 60 and again.frames.group(0).position == 60
    first = again.frames.first(0)
    assert 0 < first < 60
    assert [entry.seqno for entry in again.frames.read(0, first, 100)] == list(range(first, 60))
    assert again.frames.read(0, first - 1, 1) == []
    again.close()


def test_a_payload_that_a_record_holds_is_written_once(tmp_path: Path) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    payload = pack(0, [bytes(20_000)])
    log.stage_record(b"record: " + payload, payload)
    _commit(log)
    size = log.size_bytes()
    op, _ = stream.deliver(0, 0, payload, log.place_of(payload))
    assert op.file == 0
    log.stage_delivery(op, payload)
    assert [content for _, content in log.staged_of(0)] == [payload]
    _commit(log)
    assert log.size_bytes() < size + 200
    assert log.place_of(payload) == (-1, 0, 0)
    assert log.frames.read(0, 0, 1)[0].payload == payload
    log.close()
    again = _open(tmp_path)
    assert again.frames.read(0, 0, 1)[0].payload == payload
    again.close()


def test_a_file_is_kept_while_a_later_one_refers_to_it(tmp_path: Path) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    payloads = [pack(number, [bytes(1000) + b"%d" % number]) for number in range(3)]
    for payload in payloads:
        log.stage_record(payload, payload)
    _commit(log)
    log.close_file()
    for number, payload in enumerate(payloads):
        op, _ = stream.deliver(0, number, payload, log.place_of(payload))
        log.stage_delivery(op, payload)
        assert log.release([100], archived=2) == []  # pinned: the delivery is not yet written
        _commit(log)
        log.close_file()
    assert log.closed() == [0, 1, 2]
    assert log.release([2], archived=3) == []  # frame 2 is needed, and lies in the first file
    assert log.release([3], archived=3) == []  # the fourth file refers to it, and is not yet in the journal
    log.stage_checkpoint([])
    _commit(log)
    assert log.release([3], archived=4) == [0, 1, 2, 3]
    log.recycle([0, 1, 2, 3])
    log.close()
    again = _open(tmp_path)
    assert again.frames.first(0) == again.frames.end(0) == 3
    again.close()


def test_a_gap_moves_the_log_on(tmp_path: Path) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    _step(log, stream, 0)
    stream.skip(100)
    log.stage(Missed(0, -1, 1, 99))
    _deliver(log, stream, 1, 7, pack(0, [b"after"]))
    _commit(log)
    log.close()
    again = _open(tmp_path)
    assert (again.frames.first(0), again.frames.end(0)) == (100, 101)
    assert again.frames.read(0, 100, 1)[0].seqno == 7
    again.close()


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    _step(log, stream, 0)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(StorageFailed, match="no space left"):
        _step(log, stream, 1)
    monkeypatch.undo()
    log.close()
    again = _open(tmp_path)
    assert again.frames.end(0) == 1
    again.close()


def test_the_snapshot_is_the_first_operation_of_a_file(tmp_path: Path) -> None:
    log = _open(tmp_path)
    log.stage(Start(0))
    laid = log.layout()
    assert isinstance(laid.batch.ops[0], Snapshot) and not isinstance(laid.batch.ops[1], Checkpoint)
    log.close()


def test_what_is_read_back_is_checked(tmp_path: Path) -> None:
    """A disk may change what it holds at any time: a peer, the journal and a restart are never given such bytes."""
    log = _open(tmp_path)
    stream = Stream(0, log.frames)
    for number in range(5):
        _step(log, stream, number)
    path = log_path(tmp_path, 0)
    data = bytearray(path.read_bytes())
    for text in (b"m3", b"record 1"):
        data[data.index(text) + 1] ^= 1
    path.write_bytes(data)
    assert log.frames.read(0, 2, 1)[0].payload == pack(4, [b"m2", b""])
    with pytest.raises(Damaged, match="frame 3 of group 0 is damaged"):
        log.frames.read(0, 2, 2)
    with pytest.raises(Damaged, match="a protocol's record is damaged"):
        log.read_records()
    log.close()
