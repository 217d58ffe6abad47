"""What only live members note: leaving, repeats of a producer's number, minority views, and what retention dropped."""

import pytest

from tests.properties.stories import told, verdict
from tocsin.core.errors import InputError
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS
from tocsin.properties.plain.check import check_rows
from tocsin.properties.report import NOBODY_ASKED
from tocsin.properties.terms import Patience

# Leaving


def test_a_site_that_left_owes_nothing_of_what_the_others_delivered() -> None:
    story = (
        "a broadcast g:a/0 \n a deliver g:a/0 \n b deliver g:a/0 \n b {last} \n a broadcast g:a/1 \n a deliver g:a/1"
    )
    assert verdict("agreement", story.format(last="leave")).verdict == PASS
    assert verdict("agreement", story.format(last="send kind=token")).verdict == FAIL
    assert verdict("agreement", story.format(last="leave \n b recover")).verdict == FAIL  # it is back


STOPPED = """
    a broadcast g:a/0
    a broadcast g:a/1
    a broadcast g:a/2
    a deliver g:a/0
    a deliver g:a/1
    a deliver g:a/2
    a {end}
    b deliver g:a/0
    {second}
    b deliver g:a/2
    b {end}
"""


@pytest.mark.parametrize("name", ["agreement", "uniform_agreement"])
def test_when_everybody_has_left_all_but_the_last_message_of_a_stream_is_asked_for(name: str) -> None:
    found = verdict(name, STOPPED.format(end="leave", second="b deliver g:a/1"))
    assert (found.verdict, found.checked) == (PASS, 2)
    found = verdict(name, STOPPED.format(end="leave", second=""))
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    assert found.why == "site b, a member of g until it left, never delivered g:a/1, but later ones of its stream"
    assert verdict(name, STOPPED.format(end="send kind=token", second="b deliver g:a/1")).checked == 3


def test_what_a_site_that_left_took_back_does_not_show_a_gap() -> None:
    story = STOPPED.format(end="leave", second="").replace("b leave", "b rollback g:a/2 \n b leave")
    found = verdict("agreement", story)
    assert (found.verdict, found.checked) == (PASS, 2)  # of a, who has both
    assert verdict("agreement", story.replace("b leave", "b deliver g:a/2 \n b leave")).verdict == FAIL


def test_who_left_before_the_others_installed_a_view_without_it_is_asked_all_the_same() -> None:
    story = """
        a view view=1 members=a,b,c
        b view view=1 members=a,b,c
        c view view=1 members=a,b,c
        a deliver g:x/0
        {second}
        a deliver g:x/2
        a leave
        b deliver g:x/0
        b deliver g:x/1
        b deliver g:x/2
        b view view=2 members=b,c
        b leave
        c deliver g:x/0
        c deliver g:x/1
        c view view=2 members=b,c
        c leave
    """
    assert verdict("agreement", story.format(second="a deliver g:x/1")).verdict == PASS
    found = verdict("agreement", story.format(second=""))
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    removed = story.format(second="").replace("a leave", "a view view=2 members=b,c \n a leave")
    assert verdict("agreement", removed).verdict == PASS  # it was no member when it left


@pytest.mark.parametrize("end", ["leave", "crash"])
def test_where_nobody_can_be_asked_nothing_is_checked(end: str) -> None:
    story = f"a broadcast g:a/0 \n a deliver g:a/0 \n a {end} \n b receive a/0 kind=data \n b deliver g:a/0 \n b {end}"
    found = verdict("uniform_agreement", story)
    assert (found.verdict, found.checked, found.why) == (NOT_CHECKABLE, 0, NOBODY_ASKED)
    report = check_rows(told(story))
    assert "uniform_agreement" in report.unasked("safe") and "uniform_agreement" not in report.unchecked("safe")
    found = verdict("safe", story)
    expected = (NOT_CHECKABLE, 0, NOBODY_ASKED) if end == "leave" else (PASS, 2, None)  # who crashed had to have it
    assert (found.verdict, found.checked, found.why) == expected


def test_safe_asks_a_site_that_left_for_what_it_had_passed() -> None:
    story = """
        a receive x/0 kind=data
        a deliver g:x/0
        b deliver g:x/0
        b deliver g:x/1
        a deliver g:x/1
        {later}
        b leave
        a leave
    """
    found = verdict("safe", story.format(later="a deliver g:x/2"))
    assert (found.verdict, found.checked) == (PASS, 4)
    lacking = story.format(later="a deliver g:x/2 \n b deliver g:x/3").replace("b deliver g:x/1", "")
    found = verdict("safe", lacking)
    assert (found.verdict, found.violations) == (FAIL, 2)
    assert found.why == "site a delivered g:x/1, which member b never received"


def test_what_a_site_that_left_had_delivered_counts() -> None:
    """It did not fail: it is a correct site, and the others owe what it delivered."""
    found = verdict("agreement", "b broadcast g:b/0 \n b deliver g:b/0 \n b leave", groups={"g": ["a", "b"]})
    assert (found.verdict, found.checked, found.violations) == (FAIL, 1, 1)
    assert found.why == "site a (it has no rows in run story), up at the end and a member of g, never delivered g:b/0"
    assert verdict("validity", "b broadcast g:b/0 \n b leave").verdict == FAIL


def test_safe_does_not_ask_a_site_that_left() -> None:
    story = "b receive a/0 kind=data \n b deliver g:a/0 \n b {last} \n a deliver g:a/0 \n a deliver g:a/1"
    assert verdict("safe", story.format(last="leave")).verdict == PASS
    assert verdict("safe", story.format(last="recover")).verdict == FAIL


def test_a_passage_with_a_leave_in_it_is_none() -> None:
    story = """
        a view view=1 members=a,b
        b view view=1 members=a,b
        a deliver g:a/0
        b {between}
        a view view=2 members=a,b
        b view view=2 members=a,b
    """
    assert verdict("view_synchrony", story.format(between="send kind=token")).verdict == FAIL
    assert verdict("view_synchrony", story.format(between="leave")).verdict == NOT_CHECKABLE


# Repeats


def test_a_repeat_counts_as_delivered_for_validity_only() -> None:
    story = "a broadcast g:a/0 \n a deliver g:a/0 \n a broadcast g:a/1 \n a duplicate g:a/1 \n b deliver g:a/0"
    found = verdict("validity", story)
    assert (found.verdict, found.checked) == (PASS, 2)
    assert verdict("agreement", story).checked == 1
    assert verdict("integrity", story).checked == 4
    assert verdict("validity", story.replace("duplicate", "lost")).verdict == FAIL


# Minority views


def test_a_view_of_a_minority_is_no_view() -> None:
    story = (
        "a view view=1 members=a,b \n a broadcast g:a/0 \n a view view=2 members=a primary={primary} \n a deliver g:a/0"
    )
    assert verdict("agreement", story.format(primary="yes")).verdict == PASS
    assert verdict("agreement", story.format(primary="no")).verdict == FAIL  # b is a member still


# Retention


RETAINED = """
    a retained order=7
    a rollback g:x/1
    a deliver g:x/2
    a deliver g:x/3
    b broadcast g:b/0
    b deliver g:b/0
    b deliver g:x/2
    b deliver g:x/3
"""


def test_a_log_is_whole_from_its_retained_row_on() -> None:
    for name in ("fifo", "single_source", "multiple_source", "multiple_group", "acyclic"):
        found = verdict(name, RETAINED)
        assert (found.verdict, found.checked) == (PASS, 5), name
    jump = RETAINED.replace("a rollback g:x/1", "a rollback g:x/1 order=90")  # rows may begin anywhere behind it
    assert verdict("fifo", jump).verdict == PASS
    hole = RETAINED.replace("a deliver g:x/2", "a deliver g:x/2 order=90")
    assert "truncated" in (verdict("fifo", hole).why or "")


def test_what_needs_the_dropped_rows_is_not_checkable() -> None:
    for name in ("integrity", "agreement", "uniform_agreement", "causal"):
        found = verdict(name, RETAINED)
        assert found.verdict == NOT_CHECKABLE, name
        assert found.why == "run story: retention has dropped the older rows of site a"


def test_what_the_other_rows_show_by_themselves_stands() -> None:
    assert verdict("fifo", RETAINED + "a deliver g:x/1").verdict == FAIL
    twice = verdict("integrity", RETAINED + "a deliver g:x/3")
    assert (twice.verdict, twice.violations) == (FAIL, 1)


def test_members_that_a_dropped_view_would_name_are_not_asked() -> None:
    """c joined in view 2; that a's older message was for a and b only stood in a row that is gone."""
    story = """
        a retained order=5
        a deliver all:a/0 view=1
        a view view=2 members=a,b,c
        b view view=2 members=a,b,c
        c view view=2 members=a,b,c
    """
    assert verdict("agreement", story).verdict == NOT_CHECKABLE
    assert verdict("agreement", story.replace("a retained order=5", "a send kind=token")).verdict == FAIL


def test_a_retained_row_comes_first() -> None:
    with pytest.raises(InputError, match="expected a retained row only as the first of its log"):
        check_rows(told("a deliver g:a/0 \n a retained"))


def test_rows_that_no_property_looks_at() -> None:
    story = "a broadcast g:a/0 \n a missed g:b/0 size=3 \n a lost g:a/1 \n a deliver g:a/0"
    assert verdict("integrity", story).checked == 2


RUNNING = """
a broadcast all:a/0
a deliver all:a/0
b deliver all:a/0
b deliver all:a/1 time_us=100   # a's log was taken before b's
"""


def test_what_is_younger_than_its_origins_log_may_be_broadcast_in_what_comes_next() -> None:
    assert verdict("integrity", RUNNING, patience=Patience(50)).verdict == PASS
    assert verdict("integrity", RUNNING).verdict == FAIL
    later = RUNNING + "a broadcast all:a/2 time_us=200\n"  # the log goes on, and has no a/1
    assert verdict("integrity", later, patience=Patience(50)).verdict == FAIL


@pytest.mark.parametrize("size", [0, -1, -2])
def test_a_missed_row_of_nothing_excuses_nothing(size: int) -> None:
    story = f"""
        a broadcast all:a/0
        a deliver all:a/0
        b missed all:a/0 size={size}
        """
    assert verdict("agreement", story, {"all": ["a", "b"]}).verdict == FAIL
