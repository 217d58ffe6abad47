"""What was received, and what another says that it has."""

from tocsin.core.codec import Codec
from tocsin.core.data import Account
from tocsin.core.received import ADOPTED_MAX, ReceivedNumbers


def received(*numbers: tuple[int, int]) -> ReceivedNumbers:
    found = ReceivedNumbers()
    for origin, seqno in numbers:
        found.add(origin, seqno)
    return found


def test_what_another_has_is_taken_over() -> None:
    mine = received((0, 3), (1, 5))
    mine.adopt(received((0, 0), (0, 1), (2, 7)).marks())
    assert [mine.ranges(origin) for origin in range(3)] == [(0, 2, 1, 1), (5, 1), (7, 1)]


def test_whatever_a_peer_says_can_be_said_again() -> None:
    codec = Codec((Account,))
    for marks in (
        (0, 2, (1 << 60) - 1, (1 << 60) - 1),  # beyond all numbers, in one step or in several
        (0, 4, (1 << 60) - 1, 1, (1 << 60) - 1, 1),
        (0, 2, 0, (1 << 60) - 1, 0, 2, (1 << 60) - 1, 2),  # one range with what came before
        (0, 2, 0, ADOPTED_MAX + 1),
        (0, 2, 0, ADOPTED_MAX, 1, 2, ADOPTED_MAX - 1, 1),
        (0, 3, 0, 1, 2),  # no list of ranges
        (0, 9),
        (0,),
    ):
        mine = received((0, 3), (0, (1 << 60) - 1))
        mine.adopt(marks)
        account = Account(1, True, (), mine.marks())
        assert codec.decode(codec.encode(account)) == account, marks
