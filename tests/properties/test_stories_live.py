"""What only live members note: leaving, repeats of a producer's number, minority views, and what retention dropped."""

import pytest

from tests.properties.stories import told, verdict
from tocsin.core.errors import InputError
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS
from tocsin.properties.plain.check import check_rows

# Leaving


def test_a_site_that_left_owes_nothing_of_what_the_others_delivered() -> None:
    story = (
        "a broadcast g:a/0 \n a deliver g:a/0 \n b deliver g:a/0 \n b {last} \n a broadcast g:a/1 \n a deliver g:a/1"
    )
    assert verdict("agreement", story.format(last="leave")).verdict == PASS
    assert verdict("agreement", story.format(last="send kind=token")).verdict == FAIL
    assert verdict("agreement", story.format(last="leave \n b recover")).verdict == FAIL  # it is back


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
