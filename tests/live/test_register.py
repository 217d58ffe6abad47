"""Who is behind whom: what follows from what members know of one another."""

import pytest

from tocsin.live.known import Known
from tocsin.live.register import Register, behind, merged

KNOWN = Known(0, 2, 77, 5, 1234, frames=100, numbers=200, writes=400)


@pytest.mark.parametrize(
    ("mine", "why"),
    [
        (KNOWN, ""),
        (Known(0, 2, 77, 6, 9, 101, 200, 500), ""),
        (Known(0, 1, 76, 9, 9, 900, 900, 900), "incarnation 1, known is 2"),
        (Known(0), "incarnation 0, known is 2"),
        (Known(0, 2, 78, 9, 9, 900, 900, 900), "another folder of incarnation 2"),
        (Known(0, 2, 77, 4, 9, 900, 900, 900), "start 5, known is start 6"),
        (Known(0, 2, 77, 5, 9, 900, 900, 900), "another start 6"),
        (Known(0, 2, 77, 5, 1234, 99, 200, 400), "99 frames, known are 100"),
        (Known(0, 2, 77, 5, 1234, 100, 199, 400), "199 messages, known are 200"),
        (Known(0, 2, 77, 6, 1234, 100, 200, 399), "399 entries of its log, known are 400"),
    ],
)
def test_a_folder_that_has_less_than_is_known_is_behind(mine: Known, why: str) -> None:
    assert behind(mine, 0, 0, KNOWN) == why


def test_a_later_incarnation_is_behind_only_if_its_numbers_may_be_anothers() -> None:
    third = Known(0, 3, 99, 0, 1)
    assert behind(third, 100, 200, KNOWN) == ""
    assert "of an earlier incarnation 100 are known" in behind(third, 99, 200, KNOWN)


def test_what_is_known_only_grows() -> None:
    older, other = Known(0, 1, 70, 9, 9, 300, 10, 999), Known(0, 2, 78, 6, 6, 1, 1, 1)
    assert merged(KNOWN, older) == Known(0, 2, 77, 5, 1234, 300, 200, 400)
    assert merged(older, KNOWN) == Known(0, 2, 77, 5, 1234, 300, 200, 400)
    assert merged(KNOWN, other) == KNOWN, "the first that was heard of stays"
    assert merged(KNOWN, Known(0, 2, 77, 6, 7, 100, 200, 410)) == Known(0, 2, 77, 6, 7, 100, 200, 410)


def test_sessions_of_the_past_are_objected_to_and_the_present_one_is_not() -> None:
    register = Register(1, 3)
    assert register.objection(KNOWN) == ""
    assert register.learn(KNOWN) and not register.learn(KNOWN)
    assert register.objection(Known(0, 2, 77, 5, 1234)) == "", "the same life, told before it had come so far"
    assert register.objection(Known(0, 3, 80, 0, 5)) == "", "it has begun anew"
    assert "start 5, known is start 6" in register.objection(Known(0, 2, 77, 4, 9, 100, 200, 400))
    assert not register.learn(Known(1, 5)) and not register.learn(Known(7, 5)), "itself, and nobody"
