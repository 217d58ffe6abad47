"""The order properties broken in small stories, and the very rows that show it."""

from tests.properties.stories import shown, verdict
from tocsin.properties import FAIL, PASS


def test_fifo_broken() -> None:
    story = "a broadcast all:a/0 \n a broadcast all:a/1 \n b deliver all:a/1 \n b deliver all:a/0"
    found = verdict("fifo", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 2, 1)
    assert shown(found) == ["b deliver all:a/1", "b deliver all:a/0"]
    assert found.why == "site b delivered all:a/0 after all:a/1"


def test_fifo_is_per_group_and_gaps_are_not_its_business() -> None:
    assert verdict("fifo", "b deliver g:a/1 \n b deliver h:a/0 \n b deliver g:a/7").verdict == PASS


def test_fifo_after_a_rollback() -> None:
    story = "b deliver all:a/1 \n b rollback all:a/1 \n b deliver all:a/0 \n b deliver all:a/1"
    assert verdict("fifo", story).verdict == PASS


def test_causal_broken_by_what_the_origin_had_delivered() -> None:
    story = """
        a broadcast all:a/0
        b deliver all:a/0
        b broadcast all:b/0
        c deliver all:b/0
        c deliver all:a/0
    """
    found = verdict("causal", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 3, 1)
    assert shown(found) == ["b deliver all:a/0", "b broadcast all:b/0", "c deliver all:b/0", "c deliver all:a/0"]
    expected = "site c delivered all:b/0 before all:a/0, but site b broadcast all:b/0 when it had seen all:a/0"
    assert found.why == expected


def test_causal_broken_at_the_very_site_that_made_the_link() -> None:
    """Its delivery of the cause is both a link of the chain and what came too late: three rows, not four."""
    found = verdict("causal", "b broadcast g:b/0 \n a deliver g:a/0 \n a deliver g:b/0 \n a broadcast g:a/0")
    assert shown(found) == ["a deliver g:b/0", "a broadcast g:a/0", "a deliver g:a/0"]


def test_causal_broken_by_two_broadcasts_of_one_site_to_two_groups() -> None:
    found = verdict("causal", "a broadcast g:a/0 \n a broadcast h:a/1 \n b deliver h:a/1 \n b deliver g:a/0")
    assert shown(found) == ["a broadcast g:a/0", "a broadcast h:a/1", "b deliver h:a/1", "b deliver g:a/0"]


def test_causal_broken_over_a_message_that_the_site_never_gets() -> None:
    story = """
        a broadcast g:a/0
        b deliver g:a/0
        b broadcast h:b/0
        c deliver h:b/0
        c broadcast g:c/0
        d deliver g:c/0
        d deliver g:a/0
    """
    found = verdict("causal", story)
    assert shown(found) == [
        "b deliver g:a/0",
        "b broadcast h:b/0",
        "c deliver h:b/0",
        "c broadcast g:c/0",
        "d deliver g:c/0",
        "d deliver g:a/0",
    ]


def test_a_cause_that_is_never_delivered_is_not_late() -> None:
    story = "a broadcast all:a/0 \n b deliver all:a/0 \n b broadcast all:b/0 \n c deliver all:b/0"
    assert verdict("causal", story).verdict == PASS


def test_causal_needs_broadcasts() -> None:
    assert verdict("causal", "a deliver all:a/0").why == "run story: no broadcast events"


def test_single_source_broken() -> None:
    story = "a deliver g:x/1 \n a deliver g:x/2 \n b deliver g:x/2 \n b deliver g:x/1"
    found = verdict("single_source", story)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert shown(found) == ["a deliver g:x/1", "a deliver g:x/2", "b deliver g:x/2", "b deliver g:x/1"]
    assert found.why == "site a delivered g:x/1 before g:x/2, site b the other way round"


def test_single_source_holds_where_both_sites_break_fifo_alike() -> None:
    story = "a deliver g:x/2 \n a deliver g:x/1 \n b deliver g:x/2 \n b deliver g:x/1"
    assert verdict("single_source", story).verdict == PASS
    assert verdict("fifo", story).violations == 2


def test_multiple_source_broken() -> None:
    story = "a deliver g:x/0 \n a deliver g:y/0 \n b deliver g:y/0 \n b deliver g:x/0"
    assert verdict("single_source", story).verdict == PASS
    found = verdict("multiple_source", story)
    assert (found.violations, shown(found)) == (
        1,
        ["a deliver g:x/0", "a deliver g:y/0", "b deliver g:y/0", "b deliver g:x/0"],
    )


def test_multiple_group_broken() -> None:
    story = "a deliver g:x/0 \n a deliver h:y/0 \n b deliver h:y/0 \n b deliver g:x/0"
    assert verdict("multiple_source", story).verdict == PASS
    found = verdict("multiple_group", story)
    assert (found.violations, shown(found)) == (
        1,
        ["a deliver g:x/0", "a deliver h:y/0", "b deliver h:y/0", "b deliver g:x/0"],
    )


def test_a_cycle_over_three_sites_that_no_two_sites_show() -> None:
    story = """
        a deliver g:x/0
        a deliver h:y/0
        b deliver h:y/0
        b deliver k:z/0
        c deliver k:z/0
        c deliver g:x/0
    """
    assert verdict("multiple_group", story).verdict == PASS
    found = verdict("acyclic", story)
    assert (found.verdict, found.checked, found.violations) == (FAIL, 6, 3)
    assert shown(found) == [
        "a deliver g:x/0",
        "a deliver h:y/0",
        "b deliver h:y/0",
        "b deliver k:z/0",
        "c deliver k:z/0",
        "c deliver g:x/0",
    ]


def test_the_deliveries_of_a_crashed_site_count() -> None:
    story = "a deliver g:x/0 \n a deliver g:y/0 \n a crash \n b deliver g:y/0 \n b deliver g:x/0"
    assert verdict("multiple_source", story).verdict == FAIL


def test_a_rollback_takes_back_the_latest_delivery() -> None:
    again = "a deliver g:x/0 \n a deliver g:y/0 \n a deliver g:x/0 \n a rollback g:x/0"
    found = verdict("multiple_source", again + "\n b deliver g:x/0 \n b deliver g:y/0")
    assert (found.verdict, found.checked) == (PASS, 4)


def test_a_repeated_delivery_is_not_examined_again() -> None:
    again = "a deliver g:x/0 \n a deliver g:y/0 \n a deliver g:x/0"
    assert verdict("acyclic", again).checked == 2
    assert verdict("acyclic", again + "\n a deliver g:z/0 \n a rollback g:z/0").checked == 2


def test_messages_that_cause_each_other_cannot_both_come_first() -> None:
    """No real run has such a circle; a trace that says so is told that it breaks causal order."""
    story = """
        a deliver g:b/0
        a broadcast g:a/0
        b deliver g:a/0
        b broadcast g:b/0
        c deliver g:a/0
        c deliver g:b/0
    """
    found = verdict("causal", story)
    assert (found.verdict, found.violations) == (FAIL, 1)
    assert shown(found) == ["a deliver g:b/0", "a broadcast g:a/0", "c deliver g:a/0", "c deliver g:b/0"]


def test_a_message_that_nobody_broadcast_may_still_be_a_cause() -> None:
    found = verdict("causal", "b deliver g:x/0 \n b broadcast g:b/0 \n c deliver g:b/0 \n c deliver g:x/0")
    assert shown(found) == ["b deliver g:x/0", "b broadcast g:b/0", "c deliver g:b/0", "c deliver g:x/0"]
