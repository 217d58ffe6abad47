"""What is kept for a site that is away: the newest, and whatever somebody present may lack."""

from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.records import Passed


def passed(graph: int, group: int, rank: int, key: int) -> Passed:
    return Passed(graph, True, group, 0, key, rank, rank, (key,), b"")


def test_the_oldest_go_and_who_asks_is_told() -> None:
    history = History(4)
    records = [passed(3, number % 2, number // 2, number) for number in range(10)]
    for record in records:
        history.add(record)
    history.shrink(None)
    assert history.count() == 4 and history.records() == records[6:]
    assert (history.oldest, history.floors) == (3, {0: 3, 1: 3})
    assert history.is_gone(2, 0, 99) and history.is_gone(3, 1, 2) and not history.is_gone(3, 1, 3)
    assert history.find(3, 0, 2) is None and history.find(3, 0, 3) is records[6]


def test_what_somebody_present_lacks_stays() -> None:
    history = History(2)
    records = [passed(1, 0, number, number) for number in range(6)]
    for record in records:
        history.add(record)
    history.shrink(records[1])
    assert history.records() == records[1:]


def test_what_was_read_back_twice_is_kept_once_and_in_order() -> None:
    """A checkpoint has messages of the present graph in the log, and all that is kept after it."""
    history = History(2)
    history.add(passed(5, 0, 0, 9))
    kept = [passed(4, 0, 0, 1), passed(4, 0, 1, 2), passed(5, 0, 0, 9)]
    for record in kept:
        history.add(record)
    assert history.count() == 3 and history.records() == kept
    history.shrink(kept[2])
    assert history.records() == kept[1:]


def test_what_is_dropped_or_forgotten_leaves_nothing_behind() -> None:
    history = History(9)
    records = [passed(number // 3, 0, number % 3, number) for number in range(9)]
    for record in records:
        history.add(record)
    history.drop(records[0])
    history.drop(records[0])
    assert history.count() == 8
    history.forget_before(2)
    assert history.records() == records[6:] and history.count() == 3 and not history.is_gone(0, 0, 0)
    history.let_go_before(3)
    assert history.count() == 0 and history.is_gone(2, 0, 0) and not history.is_gone(3, 0, 0)
