"""Settled, as docs/guarantees.md section 7 has it: stories that keep it and stories that break it."""

import pytest

from tests.properties.stories import shown, verdict
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, Verdict
from tocsin.properties.terms import Patience
from tocsin.traces.calm import Calm

CALM = Calm(since_us=100, bound_us=50)

TOGETHER = """
    a view view=1 members=a,b,c
    b view view=1 members=a,b,c
    c view view=1 members=a,b,c
    a broadcast all:a/0
    a deliver all:a/0
    b deliver all:a/0
    c deliver all:a/0
"""


def settled(
    story: str, groups: dict[str, list[str]] | None = None, calm: Calm | None = CALM, patience: Patience | None = None
) -> Verdict:
    return verdict("settled", story, groups, calm=calm, patience=patience)


def test_everyone_takes_part_and_has_everything() -> None:
    found = settled(TOGETHER)
    assert (found.verdict, found.checked) == (PASS, 4)  # three who take part, one message


def test_not_checkable_unless_it_is_known_when_faults_were_over() -> None:
    found = settled(TOGETHER, calm=None)
    assert found.verdict == NOT_CHECKABLE and "since when faults were over" in (found.why or "")


# What obligations of the last view's members alone do not see


def test_a_frozen_group() -> None:
    """Everybody is up and in the last view, and nothing is ordered any more."""
    found = settled(TOGETHER + "\n b broadcast all:b/0 time_us=90")
    assert (found.verdict, found.violations, shown(found)) == (FAIL, 1, ["b broadcast all:b/0"])
    assert found.why == "neither site a, up and connected, nor anybody else has delivered all:b/0"


def test_an_excluded_member() -> None:
    """It is up and connected, and never let in again: agreement asks nothing of it."""
    story = f"""
        {TOGETHER}
        a view view=2 members=a,b
        b view view=2 members=a,b
        a broadcast all:a/1
        a deliver all:a/1
        b deliver all:a/1
    """
    assert verdict("agreement", story).verdict == PASS
    found = settled(story)
    assert (found.verdict, found.violations) == (FAIL, 2)  # the view, and the message
    assert found.why == "site c, up and connected, is still in view 1, not in 2"
    assert settled(story, calm=CALM._replace(down=frozenset("c"))).verdict == PASS
    assert settled(story + "\n c crash").verdict == PASS
    assert settled(story + "\n c leave").verdict == PASS


def test_a_member_that_knows_the_view_without_itself() -> None:
    story = TOGETHER + "\n".join(f"{site} view view=2 members=a,b \n" for site in "abc")
    found = settled(story)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert found.why == "site c, up and connected, does not take part in the last view, 2"


def test_a_newcomer_that_is_never_let_in() -> None:
    story = TOGETHER + "\n d send kind=join"
    assert verdict("agreement", story).verdict == PASS  # of a view it was in none
    found = settled(story)
    assert (found.verdict, found.violations) == (FAIL, 2)
    assert settled(story + "\n d missed size=1 position=0", {"all": ["a", "b", "c"]}).verdict == PASS  # no member


def test_a_dead_group() -> None:
    """All its members were away; those who came instead never deliver."""
    story = """
        b broadcast x:b/0
        b deliver x:b/0
        b view view=2 members=b group=g
        b broadcast g:b/0
        a broadcast g:a/0
        a broadcast x:a/0
        a deliver x:b/0
        a deliver x:a/0
        b deliver x:a/0
    """
    found = settled(story, {"x": ["a", "b"], "g": ["a"]})
    assert (found.verdict, found.violations) == (FAIL, 3)  # nobody told a; two messages
    assert settled(story, {"x": ["a", "b"], "g": ["a"]}, CALM._replace(down=frozenset("b"))).violations == 2


def test_endless_views() -> None:
    late = "\n".join(
        f"{site} view view={number} members=a,b,c time_us={100 * number}" for number in (2, 3) for site in "abc"
    )
    found = settled(TOGETHER + late)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 10, 6)
    assert found.why == "site a installed view 2 at 200 us, faults were over at 100 us"
    assert settled(TOGETHER + late, calm=CALM._replace(bound_us=200)).verdict == PASS
    assert settled(TOGETHER + late, calm=CALM._replace(since_us=300)).verdict == PASS


def test_nobody_is_in_a_view() -> None:
    story = "a view view=1 members=a,b \n a crash \n b send kind=join"
    found = settled(story)
    assert (found.verdict, shown(found)) == (FAIL, ["a view view=1"])
    assert found.why == "site b, up and connected, is in no view; nor is anybody else"


def test_two_halves_that_never_meet_again() -> None:
    story = "\n".join(
        [f"{site} view view=1 members=a,b,c,d" for site in "abcd"]
        + [f"{site} view view=2 members=a,b" for site in "ab"]
        + [f"{site} view view=3 members=c,d" for site in "cd"]
    )
    found = settled(story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 4, 2)


# Without views


def test_without_views_taking_part_is_delivering() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n b deliver all:a/0 \n c send kind=probe"
    found = settled(story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 1, 1)
    assert found.why == "site c, up and connected, has not delivered all:a/0"
    assert settled(story, {"all": ["a", "b"]}).verdict == PASS


def test_a_member_without_a_row_is_up() -> None:
    story = "a broadcast g:a/0 \n a deliver g:a/0"
    groups = {"g": ["a", "z"]}
    assert settled(story, groups).violations == 1
    assert settled(story, groups, CALM._replace(down=frozenset("z"))).verdict == PASS


def test_a_source_outside_the_group() -> None:
    story = "a broadcast g:a/0 \n b send kind=probe"
    assert settled(story, {"g": ["b"]}).violations == 1
    assert settled(story + "\n b deliver g:a/0", {"g": ["b"]}).verdict == PASS
    assert settled(story + "\n b crash", {"g": ["b"]}).verdict == NOT_CHECKABLE  # there is nobody to deliver it


def test_what_only_somebody_delivered_who_is_gone_is_not_owed() -> None:
    story = "a broadcast all:a/0 \n a deliver all:a/0 \n a crash \n b send kind=probe"
    assert settled(story).verdict == NOT_CHECKABLE
    assert settled(story + "\n a recover").violations == 1


# Missed, lost, repeated


@pytest.mark.parametrize(
    ("row", "violations"),
    [
        ("b missed group=all position=1 size=2", 0),
        ("b missed group=all position=0 size=3", 0),
        ("b missed group=all position=1 size=1", 1),  # exactly that range
        ("b missed group=all position=2 size=1", 1),
        ("b missed group=g position=1 size=2", 2),
        ("b missed all:a/1 size=2", 0),
        ("b missed all:a/1 size=1", 1),
        ("b missed all:b/1 size=2", 2),
        ("b missed group=all origin=a position=1 size=2", 0),
        ("b missed group=all origin=b position=1 size=2", 2),
        ("b missed group=all position=1", 2),
        ("b send kind=probe", 2),
    ],
)
def test_a_missed_range_excuses_exactly_that_range(row: str, violations: int) -> None:
    told = "\n".join(f"a broadcast all:a/{n} \n a deliver all:a/{n} position={n}" for n in range(4))
    story = f"{told} \n b deliver all:a/0 position=0 \n {row} \n b deliver all:a/3 position=3"
    assert settled(story).violations == violations


def test_a_lost_broadcast_was_told() -> None:
    story = TOGETHER + "\n b broadcast all:b/0 \n b lost all:b/0"
    assert settled(story).verdict == PASS
    assert settled(story.replace("b lost", "c lost")).violations == 1  # told to whom it does not concern
    assert settled(story + "\n a deliver all:b/0").violations == 1  # and yet somebody delivered it


def test_a_repeat_is_not_owed() -> None:
    story = TOGETHER + "\n".join(f"{site} duplicate all:b/0 \n" for site in "abc")
    assert settled(story + "\n b broadcast all:b/0 time_us=1").verdict == PASS


# Members that change


def test_a_removed_member_is_owed_nothing_more() -> None:
    story = """
        a deliver g:a/0
        b deliver g:a/0
        a view view=2 members=a group=g
        b view view=2 members=a group=g
        a broadcast g:a/1
        a deliver g:a/1
    """
    assert settled(story, {"g": ["a", "b"]}).verdict == PASS
    found = settled(story.replace("b view view=2 members=a group=g", ""), {"g": ["a", "b"]})
    assert (found.verdict, found.violations) == (FAIL, 1)  # it still believes to be one


def test_a_site_that_stays_in_the_old_graph() -> None:
    story = """
        a view view=2 members=a,b group=g
        b view view=2 members=a,b group=g
        a view view=3 members=a,b group=g
    """
    found = settled(story)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert found.why == "site b, up and connected, is still in view 2, not in 3"


def test_parts_that_go_on_alone_owe_each_other_nothing() -> None:
    story = "\n".join(
        [f"{site} view view=1 members=a,b" for site in "ab"]
        + ["b view view=2 members=b", "b broadcast all:b/0", "b deliver all:b/0 view=2"]
        + [f"{site} view view=3 members=a,b" for site in "ab"]
    )
    assert settled(story).violations == 1
    assert settled(story, calm=CALM._replace(parts_alone=True)).verdict == PASS


# Incarnations


NEW_DISK = """
    a broadcast all:a/0
    a deliver all:a/0 position=0
    b deliver all:a/0 position=0 incarnation=first
    b crash incarnation=first
    a broadcast all:a/1
    a deliver all:a/1 position=1
    b deliver all:a/1 position=1 incarnation=second
"""


def test_a_new_incarnation_is_owed_what_it_is_not_told_to_have_missed() -> None:
    found = settled(NEW_DISK)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert found.why == "site b, up and connected, has not delivered all:a/0"
    told = "b missed group=all position=0 size=1 incarnation=second"
    assert settled(NEW_DISK.replace("b deliver all:a/1", f"{told} \n b deliver all:a/1")).verdict == PASS


# Logs of which something is missing


def test_truncated_and_shortened_logs() -> None:
    assert settled(TOGETHER + "\n c send kind=x order=9").verdict == NOT_CHECKABLE
    story = TOGETHER.replace("c view view=1 members=a,b,c", "c retained order=5").replace("c deliver all:a/0", "")
    found = settled(story)
    assert found.verdict == NOT_CHECKABLE and "dropped" in (found.why or "")
    assert settled(story + "\n b broadcast all:b/7").violations == 1  # those with whole logs owe it


# Time


def test_crashes_and_recoveries_move_the_moment_from_which_the_bound_counts() -> None:
    late = "\n".join(f"{site} view view=2 members=a,b,c time_us=230" for site in "abc")
    story = TOGETHER + "\n c crash time_us=150 \n c recover time_us=200 \n" + late
    assert settled(story).verdict == PASS
    assert settled(story.replace("230", "251")).violations == 3


def test_running_members_have_their_bound_and_their_patience() -> None:
    patience = Patience(us=10, end_us=200)
    story = TOGETHER + "\n b broadcast all:b/0 time_us=140"
    assert settled(story, patience=patience).violations == 1
    assert settled(story.replace("140", "160"), patience=patience).verdict == PASS
    found = settled(story, patience=Patience(us=10, end_us=149))
    assert found.verdict == NOT_CHECKABLE
    assert found.why == "run story: it ends before the group had its 50 us to settle in, from 100 us on"


def test_a_run_that_was_cut_off() -> None:
    story = TOGETHER + "\n b broadcast all:b/0 time_us=140"
    assert settled(story, calm=CALM._replace(due_us=140)).violations == 1
    assert settled(story, calm=CALM._replace(due_us=139)).verdict == PASS
    assert settled(story, calm=CALM._replace(due_us=99)).verdict == NOT_CHECKABLE
