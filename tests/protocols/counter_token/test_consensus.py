"""What the reports of a view's members say about the next view."""

from tocsin.protocols.counter_token.consensus import decide_limits, has_quorum, may_leave, propose
from tocsin.protocols.counter_token.messages import Item, Proposal, Report

A, B, C, D = range(4)
ALL = [[A, B, C]]
PLACES = (200, 201, 202)
START = (0,)
NOBODY = ((0, 0, 0, 0),)


def report(full: int, counted: str, leaving: bool = False, lagging: bool = False) -> Report:
    """Entries at PLACES, each of two messages of a: `+` counted, `-` known and not counted, `.` unknown."""
    items = []
    for place, mark, index in zip(PLACES, counted, range(3), strict=True):
        if mark != "." and place >= full:
            items.append(Item(place, 0, A, 2, 2 * index + 2, mark == "+"))
    committed = len([place for place in PLACES if place < full])
    return Report(0, full, (2 * committed,), ((2 * committed, 0, 0, 0),), tuple(items), leaving, lagging)


def limits(reports: dict[int, Report]) -> tuple[int, int]:
    decision = decide_limits([A, B, C], ALL, reports)
    return decision.full_limit, decision.keep_limit


def test_what_everybody_has_counted_is_full() -> None:
    assert limits({A: report(0, "+++"), B: report(0, "+++"), C: report(0, "++-")}) == (202, 202)


def test_what_all_who_report_have_counted_may_have_been_delivered_by_the_one_that_does_not() -> None:
    assert limits({A: report(0, "+++"), B: report(0, "++-")}) == (0, 202)


def test_what_a_member_has_committed_was_counted_by_all() -> None:
    assert limits({A: report(201, "+++"), B: report(0, "+-.")}) == (201, 201)


def test_an_entry_that_a_reporting_destination_does_not_know_stops_it() -> None:
    assert limits({A: report(0, "+++"), B: report(0, "+..")}) == (0, 201)


def test_a_later_entry_is_not_kept_without_the_earlier_one() -> None:
    assert limits({A: report(0, "+-+"), B: report(0, "+-+")}) == (0, 201)


def test_only_destinations_are_asked() -> None:
    groups = [[A, B], [B, C]]
    reports = {
        A: Report(0, 0, (0, 0), NOBODY * 2, (), False, False),
        B: Report(0, 0, (0, 0), NOBODY * 2, (Item(200, 1, C, 1, 1, True),), False, False),
        C: Report(0, 0, (0, 0), NOBODY * 2, (Item(200, 1, C, 1, 1, True),), False, False),
    }
    decision = decide_limits([A, B, C], groups, reports)
    assert (decision.full_limit, decision.keep_limit) == (201, 201)


BASE = Proposal(4, (A, B, C), (), 0, 0, START, NOBODY)


def test_the_next_view_starts_after_what_is_kept() -> None:
    proposal = propose(BASE, ALL, {A: report(201, "+++"), B: report(0, "++-")}, [])
    assert proposal.view == 5
    assert proposal.members == (A, B)
    assert proposal.absent == (C,)
    assert (proposal.full_limit, proposal.keep_limit) == (201, 202)
    assert proposal.positions == (4,)
    assert proposal.frontier[0][A] == 4


def test_newcomers_are_let_in_and_leavers_let_go_only_when_all_members_take_part() -> None:
    nothing = report(0, "...")
    leaver = report(0, "...", leaving=True)
    everybody = {A: nothing, B: leaver, C: nothing, D: nothing}
    assert propose(BASE, ALL, everybody, [D]).members == (A, C, D)
    assert propose(BASE, ALL, {A: nothing, B: leaver, D: nothing}, [D]).members == (A, B)


def test_a_leaver_stays_while_only_it_can_help_an_absent_member() -> None:
    nothing = report(0, "...")
    reports = {A: report(0, "...", leaving=True), B: report(0, "...", lagging=True)}
    assert not may_leave(A, [A, B], [], ALL, reports)
    assert not may_leave(A, [A], [C], ALL, {A: nothing})
    assert may_leave(A, [A, B], [C], ALL, {A: nothing, B: nothing})
    assert may_leave(A, [A], [D], ALL, {A: nothing})


def test_a_quorum_is_more_than_half_and_one_up_to_date_member_of_each_group() -> None:
    members = [A, B, C, D]
    groups = [[A, B, C, D], [C, D]]
    assert not has_quorum(members, groups, [A, C], [A, C], True)
    assert has_quorum(members, groups, [A, C], [A, C], False)
    assert has_quorum(members, groups, [A, B, C], [A, B, C], True)
    assert not has_quorum(members, groups, [A, B, C], [A, B], True)  # c is present, but lags
    assert not has_quorum([A, B, D], [[C], [A, B, D]], [A], [A], True)
    assert has_quorum([A, B, D], [[C], [A, B, D]], [A, B], [A, B], True)
