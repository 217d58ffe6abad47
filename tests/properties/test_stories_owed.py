"""Integrity, validity and agreement broken in small stories, and the very rows that show it."""

from tests.properties.stories import shown, verdict
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS


def test_delivered_and_never_broadcast() -> None:
    found = verdict("integrity", "a broadcast all:a/0 \n a deliver all:a/0 \n b deliver all:x/9")
    assert (found.verdict, found.checked, found.violations) == (FAIL, 3, 1)
    assert shown(found) == ["b deliver all:x/9"]
    assert found.why == "site b delivered all:x/9, which nobody broadcast"


def test_delivered_twice() -> None:
    found = verdict("integrity", "a broadcast all:a/0 \n b deliver all:a/0 \n b deliver all:a/0")
    assert shown(found) == ["b deliver all:a/0", "b deliver all:a/0"]
    assert found.why == "site b delivered all:a/0 twice"


def test_delivered_twice_over_a_crash() -> None:
    story = "a broadcast all:a/0 \n b deliver all:a/0 \n b crash \n b recover \n b deliver all:a/0"
    assert verdict("integrity", story).violations == 1


def test_delivered_again_after_a_rollback_is_fine() -> None:
    story = "a broadcast all:a/0 \n b deliver all:a/0 \n b rollback all:a/0 \n b deliver all:a/0"
    found = verdict("integrity", story)
    assert (found.verdict, found.checked) == (PASS, 4)


def test_one_rollback_takes_back_one_delivery() -> None:
    story = """
        a broadcast all:a/0
        b deliver all:a/0
        b deliver all:a/0
        b rollback all:a/0
        b rollback all:a/0
        b rollback all:a/0
    """
    found = verdict("integrity", story)
    assert found.violations == 2  # the second delivery, the third rollback
    assert shown(found) == ["b rollback all:a/0"]
    assert found.why == "site b rolled back all:a/0, of which no delivery stood"


def test_a_number_used_twice() -> None:
    found = verdict("integrity", "a broadcast all:a/0 \n a crash \n a recover \n a broadcast all:a/0")
    assert shown(found) == ["a broadcast all:a/0", "a broadcast all:a/0"]
    assert found.evidence is not None and [row.order for row in found.evidence] == [0, 3]


def test_delivered_by_its_origin_before_it_was_broadcast() -> None:
    found = verdict("integrity", "a deliver all:a/0 \n a broadcast all:a/0")
    assert shown(found) == ["a deliver all:a/0", "a broadcast all:a/0"]


def test_delivered_in_another_group() -> None:
    found = verdict("integrity", "a broadcast g:a/0 \n b deliver h:a/0")
    assert shown(found) == ["b deliver h:a/0"]


def test_the_smaller_witness_is_shown() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n a deliver all:a/0 \n b deliver all:z/1"
    found = verdict("integrity", story)
    assert (found.violations, shown(found)) == (2, ["b deliver all:z/1"])


def test_integrity_needs_broadcasts() -> None:
    found = verdict("integrity", "a deliver all:a/0")
    assert (found.verdict, found.why) == (NOT_CHECKABLE, "run story: no broadcast events")
    assert verdict("integrity", "a deliver all:a/0 \n a deliver all:a/0").verdict == FAIL  # this much can be seen


def test_own_broadcast_never_delivered() -> None:
    found = verdict("validity", "a broadcast all:a/0 \n a broadcast all:a/1 \n a deliver all:a/0")
    assert (found.verdict, found.checked, found.violations, shown(found)) == (FAIL, 2, 1, ["a broadcast all:a/1"])
    assert found.why == "site a, up at the end, never delivered its own all:a/1"


def test_a_crashed_site_owes_itself_nothing_until_it_is_back() -> None:
    story = "a broadcast all:a/0 \n a crash"
    assert verdict("validity", story).verdict == NOT_CHECKABLE
    assert verdict("validity", story + "\n a recover").verdict == FAIL


def test_a_source_outside_the_group_owes_itself_nothing() -> None:
    story = "a broadcast g:a/0 \n b deliver g:a/0"
    assert verdict("validity", story).verdict == FAIL  # taken for a member, because it broadcast to the group
    found = verdict("validity", story, groups={"g": ["b"]})
    assert (found.verdict, found.checked) == (PASS, 1)


def test_members_owe_what_a_correct_outside_source_broadcasts() -> None:
    story = "a broadcast g:a/0 \n b send kind=probe \n c send kind=probe"
    groups = {"g": ["b", "c"]}
    found = verdict("validity", story, groups)
    assert (found.verdict, found.violations, shown(found)) == (FAIL, 1, ["a broadcast g:a/0"])
    assert found.why == "no member of g that is up delivered g:a/0, of site a, which is up too"
    assert verdict("validity", story + "\n a crash", groups).verdict == NOT_CHECKABLE
    assert verdict("validity", story + "\n b crash \n c crash", groups).verdict == NOT_CHECKABLE
    assert verdict("validity", story + "\n b deliver g:a/0", groups).verdict == PASS
    assert verdict("validity", story + "\n b deliver g:a/0 \n b crash", groups).verdict == FAIL
    assert verdict("validity", story + "\n b duplicate g:a/0", groups).verdict == PASS


def test_agreement_takes_an_outside_source_to_every_member() -> None:
    story = "a broadcast g:a/0 \n b deliver g:a/0 \n c send kind=probe"
    groups = {"g": ["b", "c"]}
    assert verdict("validity", story, groups).verdict == PASS
    assert verdict("agreement", story, groups).verdict == FAIL


def test_an_outside_source_of_a_group_that_changes() -> None:
    """Only a member that was one all along is relied on."""
    story = "a broadcast g:a/0 \n b view view=1 members=b group=g"
    assert verdict("validity", story, {"g": ["b"]}).verdict == FAIL
    assert verdict("validity", story, {"g": ["c"]}).verdict == NOT_CHECKABLE
    assert verdict("validity", story + "\n b view view=2 members=a,b group=g", {"g": ["b"]}).verdict == NOT_CHECKABLE


def test_a_member_lacks_what_another_delivered() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n b deliver all:a/0 \n c send kind=token"
    found = verdict("agreement", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 1, 1)
    assert shown(found) == ["a deliver all:a/0"]
    assert found.why == "site c, up at the end and a member of all, never delivered all:a/0"


def test_delivered_by_a_crashed_site_only() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n a crash \n b send kind=token"
    assert verdict("agreement", story).verdict == NOT_CHECKABLE  # no correct site delivered anything
    found = verdict("uniform_agreement", story)
    assert (found.verdict, shown(found)) == (FAIL, ["a deliver all:a/0"])


def test_a_delivery_that_was_rolled_back_obliges_nobody() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n a rollback all:a/0 \n b send kind=token"
    assert verdict("uniform_agreement", story).checked == 0


def test_a_member_without_rows_is_missed() -> None:
    story = "a broadcast g:a/0 \n a deliver g:a/0"
    assert verdict("agreement", story).verdict == PASS
    found = verdict("agreement", story, groups={"g": ["a", "d"]})
    assert found.verdict == FAIL
    assert found.why is not None and found.why.startswith("site d (it has no rows in run story), up at the end")


def test_a_newcomer_is_not_obliged_to_what_came_before_it() -> None:
    story = """
        a view view=1 members=a,b
        b view view=1 members=a,b
        a broadcast all:a/0
        a deliver all:a/0
        b deliver all:a/0
        a view view=2 members=a,b,c
        b view view=2 members=a,b,c
        c view view=2 members=a,b,c
    """
    assert verdict("agreement", story).verdict == PASS
    late = story + "\n a broadcast all:a/1 \n a deliver all:a/1 \n b deliver all:a/1"
    found = verdict("agreement", late)
    assert (found.violations, shown(found)) == (1, ["a deliver all:a/1"])


def test_a_site_that_left_the_group_owes_nothing() -> None:
    story = """
        a view view=1 members=a,b,c
        b view view=1 members=a,b,c
        c view view=1 members=a,b,c
        a broadcast all:a/0
        a deliver all:a/0
        b deliver all:a/0
        a view view=2 members=a,b
        b view view=2 members=a,b
    """
    assert verdict("uniform_agreement", story).verdict == PASS
    back = story + "".join(f"\n {site} view view=3 members=a,b,c" for site in "abc")
    assert verdict("uniform_agreement", back).verdict == FAIL  # in the last view again: it should have caught up


def test_views_of_all_groups_do_not_make_everybody_a_member() -> None:
    story = """
        a view view=1 members=a,b,c
        b view view=1 members=a,b,c
        c view view=1 members=a,b,c
        a broadcast g:a/0
        a deliver g:a/0
        b deliver g:a/0
        c broadcast h:c/0
        c deliver h:c/0
    """
    assert verdict("agreement", story, groups={"g": ["a", "b"], "h": ["c"]}).verdict == PASS
    assert verdict("agreement", story).verdict == PASS  # by who was active in which group
    assert verdict("agreement", story, groups={"g": ["a", "b", "c"], "h": ["c"]}).verdict == FAIL


def test_a_group_may_have_its_own_views() -> None:
    story = """
        a view group=g view=1 members=a,b
        b view group=g view=1 members=a,b
        a broadcast g:a/0
        a deliver g:a/0
        c broadcast h:c/0
        c deliver h:c/0
    """
    found = verdict("agreement", story)
    assert (found.checked, found.violations) == (2, 1)
    assert found.why == "site b, up at the end and a member of g, never delivered g:a/0"


def test_a_rollback_makes_nobody_a_member() -> None:
    story = "a broadcast g:a/0 \n a deliver g:a/0 \n b rollback g:a/0"
    assert verdict("agreement", story).verdict == PASS
