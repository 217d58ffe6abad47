"""What applications were told, and what happens to it with their disks."""

from typing import Any

from tests.sim.faithless import FAITHLESS
from tests.sim.test_duties import CALM, judged
from tocsin.core.machine import ANY_ORIGIN
from tocsin.protocols import tree_ack
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.sim.duties.duties import neglected
from tocsin.sim.duties.ending import Ending
from tocsin.sim.duties.notes import NOT_TOLD, Missing, Notes, name_of
from tocsin.sim.duties.told import first_untruth


def notes() -> Notes:
    return Notes(["a", "b", "c"], [[0, 1, 2], [0, 1]])


def with_faults(*faults: dict[str, Any]) -> list[str]:
    return neglected(judged(FAITHLESS, {**CALM, "faults": list(faults)}))


def test_an_emptied_disk_has_nothing_of_what_was_acknowledged() -> None:
    found = with_faults({"at_us": 60_000, "wipe": ["c"]}, {"at_us": 60_000, "recover": ["c"]})
    assert found == [
        "acknowledged: a:0 was acknowledged to its sender, and c neither has it nor was told that it missed it"
    ]


def test_a_disk_that_was_set_back_to_an_older_time_is_an_empty_one() -> None:
    """Messages 0 to 4 leave at 0, 10, … 40 ms, and are at c a millisecond later."""
    found = with_faults(
        {"at_us": 25_000, "save": ["c"]},
        {"at_us": 45_000, "restore": ["c"]},
        {"at_us": 45_000, "recover": ["c"]},
    )
    assert found == [
        "acknowledged: a:0 was acknowledged to its sender, and c neither has it nor was told that it missed it"
    ]


def test_an_emptied_disk_of_the_sender_takes_nothing_back() -> None:
    found = with_faults({"at_us": 200_000, "wipe": ["a"]}, {"at_us": 200_000, "recover": ["a"]})
    assert found == [
        "acknowledged: a:0 was acknowledged to its sender, and a neither has it nor was told that it missed it"
    ]


def test_positions_that_were_missed_are_told_and_real() -> None:
    kept = notes()
    for position in range(3):
        kept.on_deliver(0, 0, 0, position, position, True)
    kept.on_missed(1, 0, ANY_ORIGIN, 0, 2)
    kept.on_deliver(1, 0, 0, 2, 2, False)
    assert kept.logs[1].of_group(0) == [NOT_TOLD, NOT_TOLD, name_of(0, 2)]
    assert kept.order(0) == {position: name_of(0, position) for position in range(3)}
    assert not kept.untrue and not kept.contradiction()


def test_numbers_that_were_missed_are_the_next_ones_to_the_group() -> None:
    kept = notes()
    for seqno in range(6):
        kept.on_broadcast(0, seqno % 2, seqno)
    assert kept.named(Missing(0, 0, 1, 2)) == [name_of(0, 2), name_of(0, 4)]
    assert kept.named(Missing(0, 0, 4, 2)) == [name_of(0, 4)]  # there are no two


def test_how_much_came_after_what_was_missed_until_it_was_told() -> None:
    kept = notes()
    for seqno in range(6):
        kept.on_broadcast(0, seqno % 2, seqno)
    kept.on_missed(1, 0, 0, 1, 1)
    kept.on_broadcast(0, 0, 6)
    assert [missing.later for missing in kept.logs[1].missing] == [3]  # numbers 3, 4, 5


def test_nobody_misses_what_is_kept_while_all_disks_are() -> None:
    for came_after, reason in ((3, "only 3 came after them"), (4, "")):
        ending = Ending(tree_ack.PROTOCOL, TreeAckOptions(retain=4), ["a", "b", "c"], notes())
        for seqno in range(came_after + 1):
            ending.notes.on_broadcast(0, 0, seqno)
        ending.notes.on_missed(1, 0, 0, 0, 1)
        assert reason in first_untruth(ending) and bool(first_untruth(ending)) == bool(reason)
        ending.notes.exchange(2, restored=False)  # what a lost disk alone had can be missed
        assert not first_untruth(ending)


def test_a_rollback_takes_an_acknowledgement_back() -> None:
    kept = notes()
    kept.on_deliver(0, 1, 0, 5, 0, True)
    assert kept.acknowledged[name_of(0, 5)].members == [0, 1]
    kept.on_rollback(0, 1, 0, 5)
    assert not kept.acknowledged and kept.logs[0].of_group(1) == [] and not kept.untrue
    kept.on_rollback(0, 1, 0, 5)
    assert kept.untrue.startswith("a takes back a:5, which is not its newest")


def test_who_came_to_a_group_later_counts_by_itself() -> None:
    kept = notes()
    kept.on_deliver(0, 1, 0, 0, 0, True)
    kept.on_deliver(0, 1, 0, 1, 1, True)
    kept.on_group(7, 2, 1, [0, 1, 2])
    kept.on_deliver(2, 1, 0, 1, 0, False)
    assert kept.members_told(2, 1) == [0, 1, 2] and kept.members_told(1, 1) == [0, 1]
    assert not kept.contradiction()
    kept.on_deliver(1, 1, 0, 1, 0, False)
    assert kept.contradiction() == "position 0 of group 1 is a:0 at one site and a:1 at b"


def test_what_a_past_disk_had_still_counts() -> None:
    kept = notes()
    kept.on_deliver(0, 0, 0, 0, 0, True)
    kept.exchange(0, restored=False)
    kept.on_deliver(1, 0, 1, 0, 0, True)
    assert "position 0" in kept.contradiction()
