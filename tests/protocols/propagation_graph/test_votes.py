"""What a manager works out from reports: votes.py."""

from tocsin.protocols.propagation_graph.messages import Change, Decision, Report
from tocsin.protocols.propagation_graph.votes import OPEN, Revival, counted_groups, may_decide, next_decision, resolved

PRESENT = Decision(3, ((0, 1, 2, 3, 4), (2, 3, 4), (0, 1)), ((2, 1),), (4,))


def report(*ranks: int, voted_ballot: int = 0, voted: Decision | None = None) -> Report:
    return Report(4, 10, voted_ballot, () if voted is None else (voted,), ranks, ())


def test_a_majority_of_all_sites() -> None:
    assert may_decide(5, [0, 1, 3])
    assert not may_decide(5, [0, 3])


def test_a_group_of_which_nobody_is_there_is_dead_until_somebody_is_back() -> None:
    """4 was away, so nobody knows what was delivered in the second group; 4 cannot go on before somebody does."""
    reports = {0: report(3, 0, 2), 1: report(3, 9, 1), 4: report(7, 7, 7)}
    dying = next_decision(PRESENT, 5, reports, {}, {})
    assert (dying.away, dying.finals, dying.dead) == ((2, 3, 4), (3, OPEN, 2), ((1, 3),))
    known = resolved(dying, {(1, 3): 6})
    assert known.finals == (3, 6, 2)
    later = {0: report(), 1: report(), 4: Report(5, 10, 0, (), (), (), True)}
    still = next_decision(dying, 5, later, {(0, 0): Change(0, 1, (0, 2))}, {})
    assert (still.away, still.dead, still.groups[1]) == ((2, 3, 4), ((1, 3),), (0, 2))
    back = next_decision(still, 5, later, {}, {1: Revival(6, [(1, 0, 9)])})
    assert (back.dead, back.ends, back.places) == ((), ((1, 3, 6),), ((1, 0, 9),))


def test_how_far_sources_are_stays_known_while_nobody_of_the_group_is_there() -> None:
    """The third group moves to a site that is away, and from there to another."""
    reports = {site: Report(4, 10, 0, (), (0, 0, 0), ((2, 3, 8),)) for site in (0, 1, 2)}
    empty = next_decision(PRESENT, 5, reports, {(0, 0): Change(0, 2, (4,))}, {})
    assert empty.places == ((2, 3, 8),) and not empty.dead
    nobody = {site: Report(5, 10, 0, (), (0, 0, 0), ()) for site in (0, 1, 2)}
    moved = next_decision(empty, 5, nobody, {(0, 1): Change(1, 2, (2,))}, {})
    assert moved.groups[2] == (2,) and moved.places == ((2, 3, 8),)


def test_the_most_that_a_live_member_has_counts() -> None:
    """4 was left out of the present graph: what it says of it is nothing."""
    reports = {0: report(3, 0, 2), 1: report(3, 9, 1), 3: report(2, 1, 9), 4: report(7, 7, 7)}
    decision = next_decision(PRESENT, 5, reports, {}, {})
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
    assert next_decision(PRESENT, 5, reports, {}, {}) is second


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
    decision = next_decision(PRESENT, 5, reports, changes, {})
    assert decision.groups == ((0, 1, 2, 3, 4), (2, 3, 4), (0, 1, 3), (), (1, 2))
    assert decision.applied == ((0, 1), (2, 2))
    assert decision.places == ((0, 1, 1), (2, 0, 7), (2, 4, 3))  # 4, of the first group, is back; 3 joins the third
    assert counted_groups(PRESENT, changes) == [0, 1, 2]
    del reports[4]
    assert next_decision(PRESENT, 5, reports, changes, {}).places == ((2, 0, 7), (2, 4, 3))
