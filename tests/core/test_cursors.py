"""The table of the consumers at doors: a function of the order, bounded, and the same bytes everywhere."""

import pytest

from tocsin.core.cursors import FORGET, MARK, Cursors, cursors_from_bytes, is_consumer, is_sender
from tocsin.core.errors import DecodeError
from tocsin.core.producers import Producers, is_producer
from tocsin.live.deciding import decide


def test_a_cursor_moves_on_and_never_back() -> None:
    table = Cursors()
    assert table.take(MARK + "billing", 0) == 0  # a question makes it known
    assert table.take(MARK + "billing", 7) == 7
    assert table.take(MARK + "billing", 3) == 7
    assert table.take(MARK + "billing", 0) == 7
    assert table.find("billing") == 7 and table.find("other") == -1
    assert table.take(MARK + "billing", FORGET) == 0
    assert table.find("billing") == -1
    assert table.take(MARK, 5) == 0 and len(table) == 0


def test_who_moved_longest_ago_is_forgotten_first() -> None:
    table = Cursors(2)
    for name, number in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        table.take(MARK + name, number)
    assert table.rows() == {"a": 2, "c": 1}


def test_bytes() -> None:
    table = Cursors()
    for name, number in (("a", 1), ("b", 9), ("a", 2)):
        table.take(MARK + name, number)
    again = cursors_from_bytes(table.to_bytes())
    assert again.rows() == table.rows() and again.to_bytes() == table.to_bytes()
    for wrong in (b"", b"\xc1", table.to_bytes()[:-1], b"\x92\x02\x90", b"\x92\x01\x91\x92\xa1a\xff"):
        with pytest.raises(DecodeError):
            cursors_from_bytes(wrong)


def test_no_producer_can_move_a_cursor() -> None:
    assert not is_producer(MARK + "billing") and is_sender(MARK + "billing") and is_sender(MARK) and is_sender("p")
    assert is_consumer("x" * 63) and not is_consumer("x" * 64) and not is_consumer("") and not is_sender(MARK + MARK)


def test_nobody_acknowledges_what_was_not_ordered_yet() -> None:
    """Decided at the entry's own place in the order: at every member alike, however far it has come otherwise."""
    table = Cursors()
    sent = [(MARK + "c", 6), None, (MARK + "c", 6), (MARK + "c", 9), (MARK + "c", FORGET)]
    decided = decide(Producers(), table, 5, [b""] * 5, list(sent))
    assert decided.answers == [0, 5, 6, 6, 0] and decided.messages == [b""]
    assert [(run.index, run.producer, run.number) for run in decided.runs] == [
        (0, MARK + "c", 0),
        (2, MARK + "c", 6),
        (3, MARK + "c", 0),
        (4, MARK + "c", FORGET),
    ]
