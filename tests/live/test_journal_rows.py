"""What the log notes, as rows of a trace: each kind of operation, and the state that goes on from file to file."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.live.frame_format import Piece, pack, pack_piece
from tocsin.live.storage.identity import Identity
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.log_format import (
    Broadcast,
    Deliver,
    GroupState,
    Missed,
    Op,
    Persist,
    Receive,
    Rollback,
    Snapshot,
    Start,
    Stop,
    View,
)
from tocsin.live.storage.log_reader import LogReader, Noted
from tocsin.traces.schema import JOURNAL

IDENTITY = Identity(
    group="orders", protocol="counter_token", site="b", sites=("a", "b", "c"), groups={"all": ["a", "b", "c"]}
)


def _maker() -> RowMaker:
    return RowMaker(IDENTITY, LogReader(Path("no older files")))


def deliver(origin: int, number: int, messages: list[bytes], position: int, group: int = 0) -> tuple[Op, bytes]:
    frame = pack(number, messages)
    return Deliver(group, origin, 0, len(frame), position, len(messages), number, False), frame


def rows(maker: RowMaker, *noted: Op | tuple[Op, bytes]) -> list[dict[str, Any]]:
    """The rows of some operations, one a microsecond; without columns that say nothing, and those that never change."""
    for at, each in enumerate(noted):
        op, frame = each if isinstance(each, tuple) else (each, b"")
        maker.feed(Noted(100 + at, op, frame, 0, 0))
    batches = maker.take()
    assert all(batch.schema == JOURNAL for batch in batches)
    found = pa.Table.from_batches(batches, JOURNAL).to_pylist()
    assert all((row.pop("run"), row.pop("site")) == ("orders", "b") for row in found)
    return [{name: value for name, value in row.items() if value is not None} for row in found]


def test_messages_one_by_one() -> None:
    maker = _maker()
    found = rows(maker, Start(0), Broadcast(0, 5, 40, 2), Persist(3), deliver(2, 7, [b"x", b""], 10))
    assert found == [
        {"order": 0, "time_us": 101, "event": "broadcast", "group": "all", "origin": "b", "seqno": 40},
        {"order": 1, "time_us": 101, "event": "broadcast", "group": "all", "origin": "b", "seqno": 41},
        {
            "order": 2,
            "time_us": 103,
            "event": "deliver",
            "group": "all",
            "origin": "c",
            "seqno": 7,
            "size": 1,
            "position": 10,
            "payload": b"x",
        },
        {
            "order": 3,
            "time_us": 103,
            "event": "deliver",
            "group": "all",
            "origin": "c",
            "seqno": 8,
            "size": 0,
            "position": 11,
            "payload": b"",
        },
    ]
    assert maker.take() == []
    assert maker.standing() == Standing(4, 103)


def test_views_are_named_and_deliveries_say_theirs() -> None:
    found = rows(_maker(), View(3, (0, 1), True), deliver(0, 0, [b"x"], 0), View(4, (1,), False))
    assert [row.get("view") for row in found] == [3, 3, 4]
    assert [row.get("members") for row in found] == [["a", "b"], None, ["b"]]
    assert [row.get("primary") for row in found] == [True, None, False]


def test_a_frame_that_is_taken_back_is_taken_back_message_by_message_from_its_end() -> None:
    maker = _maker()
    found = rows(maker, deliver(0, 5, [b"x", b"y"], 3), Rollback(0, 0, 0, 3, 2, 5, -1), deliver(0, 5, [b"x"], 3))
    assert [(row["event"], row["seqno"], row["position"]) for row in found] == [
        ("deliver", 5, 3),
        ("deliver", 6, 4),
        ("rollback", 6, 4),
        ("rollback", 5, 3),
        ("deliver", 5, 3),
    ]


def test_receptions_name_messages_and_no_group() -> None:
    found = rows(_maker(), Receive(2, 8, 2))
    assert found == [
        {"order": 0, "time_us": 100, "event": "receive", "origin": "c", "seqno": 8, "kind": "data"},
        {"order": 1, "time_us": 100, "event": "receive", "origin": "c", "seqno": 9, "kind": "data"},
    ]


def test_what_was_missed_has_its_place() -> None:
    maker = _maker()
    state = GroupState(30, 70, ())
    found = rows(
        maker,
        Snapshot(0, 0, None, (state,), (), ()),
        Missed(0, 2, 4, 6),
        deliver(0, 0, [b"x", b"y"], 70),
        Missed(0, 2, 12, 1),
        Missed(0, -1, 31, 9),
    )
    missed = [{name: row.get(name) for name in ("origin", "seqno", "position", "size")} for row in found]
    assert missed[0] == {"origin": "c", "seqno": 4, "position": 70, "size": 6}
    assert missed[3] == {"origin": "c", "seqno": 12, "position": 72, "size": 1}
    assert missed[4] == {"origin": None, "seqno": None, "position": 31, "size": 9}


def test_how_lives_end() -> None:
    maker = _maker()
    left = rows(maker, Start(0), Stop(True), Start(1), Stop(False), Start(2), Start(3))
    assert [(row["event"], row["time_us"]) for row in left] == [
        ("leave", 101),
        ("recover", 102),
        ("crash", 103),
        ("recover", 104),
        ("crash", 104),
        ("recover", 105),
    ]


def test_another_maker_goes_on_where_one_stood() -> None:
    first = _maker()
    before = rows(first, Start(0), deliver(0, 0, [b"x"], 0))
    again = _maker()
    again.go_on_from(first.standing())
    assert [row["order"] for row in before + rows(again, Start(1), deliver(0, 1, [b"y"], 1))] == [0, 1, 2, 3]


def test_a_large_message_is_one_row_where_it_ends() -> None:
    maker = _maker()
    pieces = [pack_piece(Piece(5, 6, offset, b"abc")) for offset in (0, 3)]
    ops = [Deliver(0, 0, frame, len(pieces[frame]), 2, frame, 5, frame == 0) for frame in (0, 1)]
    found = rows(maker, (ops[0], pieces[0]), (ops[1], pieces[1]))
    assert [(row["seqno"], row["position"], row["payload"]) for row in found] == [(5, 2, b"abcabc")]


def test_groups_made_while_running_have_names_too() -> None:
    found = rows(_maker(), deliver(0, 0, [b"x"], 0, group=2))
    assert found[0]["group"] == "group-2"
