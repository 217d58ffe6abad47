"""Promises of reach: kept where losses are alike, found out where they are not; too little to judge is said."""

from typing import Any

from tests.sim.test_duties import judged
from tocsin.protocols import reliability_tree
from tocsin.sim.duties.duties import FAIL, NOT_CHECKABLE, PASS, REACH

BROADCASTS = 1_000


def reach_of(start_us: int, **more: Any) -> tuple[str, str]:
    """The verdict on a run of many broadcasts that begin at some time."""
    workload = {"messages": BROADCASTS, "every_us": 10_000, "senders": ["a"], "start_us": start_us}
    document = {"sites": 3, "duration_us": start_us + 20_000_000, "workload": workload, **more}
    duty = judged(reliability_tree.PROTOCOL, document)[REACH]
    return duty.verdict, duty.why or ""


def test_what_is_promised_of_equal_links_is_kept() -> None:
    assert reach_of(20_000_000, network={"delay_us": 1_000, "loss": 0.2}) == (PASS, "")


def test_nothing_is_said_of_what_there_was_no_time_to_learn() -> None:
    verdict, why = reach_of(0, network={"delay_us": 1_000})
    assert (verdict, why.partition(" in ")[0]) == (NOT_CHECKABLE, "no broadcast was made")


def test_who_can_hear_nobody_is_promised_to() -> None:
    """RT1 of tests/known_failures.toml: when it is mended, nothing may be promised here."""
    dead = [["a", "c"], ["c", "a"], ["b", "c"], ["c", "b"]]
    verdict, why = reach_of(20_000_000, network={"delay_us": 1_000}, faults=[{"at_us": 0, "dead": dead}])
    assert verdict == FAIL and why.startswith(f"{BROADCASTS} of {BROADCASTS} broadcasts did not reach everybody"), why
