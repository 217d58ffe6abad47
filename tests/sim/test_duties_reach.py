"""Promises of reach: kept where losses are alike, found out where they are not; too little to judge is said."""

from typing import Any

from tests.mutation import mutated
from tests.sim.test_duties import judged
from tocsin.protocols import reliability_tree
from tocsin.protocols.protocol import Protocol
from tocsin.sim.duties.duties import FAIL, NOT_CHECKABLE, PASS, REACH

BROADCASTS = 1_000
CUT_OFF: dict[str, Any] = {"at_us": 0, "dead": [["a", "c"], ["c", "a"], ["b", "c"], ["c", "b"]]}


def reach_of(start_us: int, protocol: Protocol = reliability_tree.PROTOCOL, **more: Any) -> tuple[str, str]:
    """The verdict on a run of many broadcasts that begin at some time."""
    workload = {"messages": BROADCASTS, "every_us": 10_000, "senders": ["a"], "start_us": start_us}
    document = {"sites": 3, "duration_us": start_us + 20_000_000, "workload": workload, **more}
    duty = judged(protocol, document)[REACH]
    return duty.verdict, duty.why or ""


def test_what_is_promised_of_equal_links_is_kept() -> None:
    assert reach_of(20_000_000, network={"delay_us": 1_000, "loss": 0.2}) == (PASS, "")


def test_nothing_is_said_of_what_there_was_no_time_to_learn() -> None:
    verdict, why = reach_of(0, network={"delay_us": 1_000})
    assert (verdict, why.partition(" in ")[0]) == (NOT_CHECKABLE, "no broadcast was made")


def test_nothing_is_promised_of_who_cannot_be_reached() -> None:
    """RT1: c is cut off from the start, and broadcasts promised a reach of 1 without it."""
    verdict, why = reach_of(20_000_000, network={"delay_us": 1_000}, faults=[CUT_OFF])
    assert (verdict, why.partition(" in ")[0]) == (NOT_CHECKABLE, "no broadcast was made")


def test_a_promise_without_somebody_is_seen() -> None:
    """The same, planted again."""
    mutant = mutated(
        reliability_tree.PROTOCOL,
        "tocsin.protocols.reliability_tree.machine",
        "if left_out and not self._leaves_out:",
        "if left_out and self._leaves_out:",
    )
    verdict, why = reach_of(20_000_000, mutant, network={"delay_us": 1_000}, faults=[CUT_OFF])
    assert verdict == FAIL and why.startswith(f"{BROADCASTS} of {BROADCASTS} broadcasts did not reach everybody"), why
