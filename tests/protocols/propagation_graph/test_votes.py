"""What a manager works out from reports: votes.py."""

from tocsin.protocols.propagation_graph.messages import Change, Decision, Report
from tocsin.protocols.propagation_graph.votes import counted_groups, may_decide, next_decision

PRESENT = Decision(3, ((0, 1, 2, 3, 4), (2, 3, 4), (0, 1)), ((2, 1),), (4,))


def report(*ranks: int, voted_ballot: int = 0, voted: Decision | None = None) -> Report:
    return Report(4, 10, voted_ballot, () if voted is None else (voted,), ranks, ())


def test_a_majority_of_all_sites_and_one_of_every_group() -> None:
    assert may_decide(PRESENT, 5, [0, 1, 3])
    assert not may_decide(PRESENT, 5, [0, 3])  # no majority
    assert not may_decide(PRESENT, 5, [0, 1, 4])  # 4 is away: nobody knows what was delivered in the second group
    assert not may_decide(PRESENT, 5, [2, 3, 4])  # nobody of the third


def test_the_most_that_a_live_member_has_counts() -> None:
    """4 was left out of the present graph: what it says of it is nothing."""
    reports = {0: report(3, 0, 2), 1: report(3, 9, 1), 3: report(2, 1, 9), 4: report(7, 7, 7)}
    decision = next_decision(PRESENT, 5, reports, {})
    assert (decision.number, decision.finals, decision.away) == (4, (3, 1, 2), (2,))
    assert decision.groups == PRESENT.groups and decision.applied == PRESENT.applied


def test_what_was_voted_for_in_the_largest_ballot_is_kept() -> None:
    first = Decision(4, PRESENT.groups, (), (0,), (1, 1, 1))
    second = Decision(4, PRESENT.groups, (), (1,), (2, 2, 2))
    reports = {
        0: report(5, 5, 5),
        1: report(5, 5, 5, voted_ballot=12, voted=second),
        3: report(5, 5, 5, voted_ballot=7, voted=first),
    }
    assert next_decision(PRESENT, 5, reports, {}) is second


def test_changes_in_the_order_of_their_askers_and_each_once() -> None:
    changes = {
        (0, 0): Change(0, 2, (0, 1, 3)),
        (2, 0): Change(0, 1, (0,)),  # in the present graph already
        (2, 1): Change(1, 4, (1, 2)),
        (3, 5): Change(5, 1, (1,)),  # the ones before it have not come
    }
    reports = {site: report(0, 0, 0) for site in range(5)}
    reports[1] = Report(4, 10, 0, (), (0, 0, 0), ((2, 0, 7), (2, 4, 3), (0, 1, 1)))
    reports[3] = Report(4, 10, 0, (), (0, 0, 0), ((2, 0, 99),))  # not a member of the group so far
    decision = next_decision(PRESENT, 5, reports, changes)
    assert decision.groups == ((0, 1, 2, 3, 4), (2, 3, 4), (0, 1, 3), (), (1, 2))
    assert decision.applied == ((0, 1), (2, 2))
    assert decision.places == ((0, 1, 1), (2, 0, 7), (2, 4, 3))  # 4, of the first group, is back; 3 joins the third
    assert counted_groups(PRESENT, changes) == [0, 1, 2]
    del reports[4]
    assert next_decision(PRESENT, 5, reports, changes).places == ((2, 0, 7), (2, 4, 3))
