"""Safe delivery and view synchrony broken in small stories, and the very rows that show it."""

import pytest

from tests.properties.stories import shown, table_of, told, verdict
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS
from tocsin.properties.audit.tables import audit_table
from tocsin.properties.plain.check import check_rows


def test_delivered_before_a_member_has_it() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n b receive a/0 kind=data \n b deliver all:a/0"
    assert verdict("safe", story).verdict == PASS  # two clocks: who knows
    found = verdict("safe", story, one_clock=True)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    assert shown(found) == ["a deliver all:a/0", "b receive a/0"]
    assert found.why == "site a delivered all:a/0 at 1 us, member b had it only at 2 us"


def test_delivered_and_a_member_never_had_it() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n b receive a/0 kind=data \n b crash \n c receive a/0 kind=ack"
    found = verdict("safe", story)
    assert (found.verdict, shown(found)) == (FAIL, ["a deliver all:a/0"])
    assert found.why == "site a delivered all:a/0, which member c never received"


def test_a_site_may_have_an_empty_name() -> None:
    rows = told("n receive g:a/0 kind=data time_us=50 \n n deliver g:a/0 time_us=60 \n a broadcast g:a/0 time_us=1")
    rows += [rows[-1]._replace(order=1, time_us=2, event="deliver")]
    for name in ("n", ""):
        renamed = [row._replace(site=name) if row.site == "n" else row for row in rows]
        for report in (check_rows(renamed, one_clock=True), audit_table(table_of(renamed), {}, True, ["safe"])):
            assert report["safe"][:3] == (FAIL, 2, 1)


def test_safe_asks_the_members_of_the_view() -> None:
    story = """
        a view view=1 members=a,b
        a broadcast all:a/0
        b receive a/0 kind=data
        c send kind=token
        a deliver all:a/0
    """
    assert verdict("safe", story, one_clock=True).verdict == PASS
    assert verdict("safe", story.replace("a,b", "a,b,c"), one_clock=True).verdict == FAIL


def test_safe_needs_receive_events() -> None:
    found = verdict("safe", "a broadcast all:a/0 \n a deliver all:a/0 \n b receive kind=data")
    assert found.verdict == NOT_CHECKABLE
    assert found.why == "run story: no receive events of kind data that name their message"


PASSAGE = """
    a view view=1 members=a,b
    b view view=1 members=a,b
    a deliver all:x/0
    a view view=2 members=a
    b {between}
    b view view=2 members=a
"""


def test_view_synchrony_broken() -> None:
    found = verdict("view_synchrony", PASSAGE.format(between="send kind=token"))
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    assert shown(found) == ["a view view=1", "a deliver all:x/0", "a view view=2", "b view view=1", "b view view=2"]
    assert found.why == "between views 1 and 2 site a delivered all:x/0, site b did not"


@pytest.mark.parametrize(("between", "expected"), [("deliver all:x/0", PASS), ("crash", NOT_CHECKABLE)])
def test_view_synchrony_kept(between: str, expected: str) -> None:
    assert verdict("view_synchrony", PASSAGE.format(between=between)).verdict == expected


def test_view_synchrony_needs_views() -> None:
    assert verdict("view_synchrony", "a deliver all:x/0").why == "run story: no view events"


def test_the_same_view_installed_again_is_no_passage() -> None:
    story = """
        a view view=1 members=a,b
        b view view=1 members=a,b
        a deliver all:x/0
        a view view=1 members=a,b
        b view view=1 members=b,a
    """
    assert verdict("view_synchrony", story).verdict == NOT_CHECKABLE


def test_who_has_left_a_group_and_comes_back_owes_nothing_of_the_time_between() -> None:
    """c hears that it is no longer in the group, and that it is again; b, which stayed, owes what a delivered."""
    story = """
        a view group=g view=1 members=a,b
        b view group=g view=1 members=a,b
        c view group=g view=1 members=a,b
        a deliver g:a/0
        b {between}
        a view group=g view=2 members=a,b,c
        b view group=g view=2 members=a,b,c
        c view group=g view=2 members=a,b,c
    """
    found = verdict("view_synchrony", story.format(between="deliver g:a/0"))
    assert (found.verdict, found.checked) == (PASS, 2)
    found = verdict("view_synchrony", story.format(between="send kind=token"))
    assert (found.verdict, found.violations) == (FAIL, 1)


def test_what_the_views_of_a_leaver_owe() -> None:
    """b goes on into view 2 without a message of view 1, and all stop in order: agreement asks nobody, this does."""
    story = """
        a view view=1 members=a,b
        b view view=1 members=a,b
        a broadcast all:a/0
        a deliver all:a/0
        a view view=2 members=a,b,c
        b view view=2 members=a,b,c
        a leave
        b leave
    """
    assert verdict("agreement", story).verdict == NOT_CHECKABLE
    found = verdict("view_synchrony", story)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert (
        verdict("view_synchrony", story.replace("b view view=2", "b deliver all:a/0 \n b view view=2")).verdict == PASS
    )
