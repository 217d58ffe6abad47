"""One neighbour and its heartbeats: what is counted, what is corrected, whom we suspect."""

import pytest

from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree.direct import LOST_MAX, TIMEOUT_MAX, WINDOW, Direct


def neighbour(vanish_after: int = 30, memory: int = 0) -> Direct:
    return Direct(1, 0, memory, vanish_after)


def seen(direct: Direct) -> tuple[int, int]:
    return direct.evidence.successes, direct.failures()


def test_arrivals_are_successes_and_gaps_are_failures() -> None:
    direct = neighbour()
    for seqno in (1, 2, 3, 7, 8):
        assert direct.on_heartbeat(1, seqno)
    assert seen(direct) == (5, 3)


def test_what_was_before_we_listened_is_not_counted() -> None:
    direct = neighbour()
    assert direct.on_heartbeat(1, 1_000)
    assert seen(direct) == (1, 0)
    assert not direct.on_heartbeat(1, 999)  # late, from before
    assert seen(direct) == (1, 0)


def test_suspicions_are_taken_back_exactly() -> None:
    direct = neighbour()
    direct.on_heartbeat(1, 1)
    suspicions = sum(direct.on_tick() for _ in range(6))
    assert suspicions == 3 and seen(direct) == (1, 3)  # with a timeout of one heartbeat, at every second one
    direct.on_heartbeat(1, 3)  # in truth one was lost
    assert seen(direct) == (2, 1)


def test_false_suspicions_make_us_patient() -> None:
    direct = neighbour()
    direct.on_heartbeat(1, 1)
    timeouts = []
    for seqno in range(2, 300):
        for _ in range(20):
            direct.on_tick()
        direct.on_heartbeat(1, seqno)
        timeouts.append(direct.timeout)
    assert timeouts == sorted(timeouts) and timeouts[0] == 2
    assert timeouts[-1] < TIMEOUT_MAX  # patient enough: at most one false suspicion each time
    assert seen(direct) == (299, 0)


def test_losses_do_not_make_us_patient() -> None:
    direct = neighbour()
    direct.on_heartbeat(1, 1)
    for seqno in range(5, 400, 4):
        for _ in range(4):
            direct.on_tick()
        direct.on_heartbeat(1, seqno)
    assert direct.timeout == 1


@pytest.mark.parametrize("seed", range(5))
def test_reordered_and_repeated_heartbeats_count_once(seed: int) -> None:
    """Within the window every number that arrived is one success, every other below the greatest one failure."""
    rng = Rng(seed)
    direct = neighbour()
    direct.on_heartbeat(1, 1)
    arrived = {1}
    for base in range(2, 2_000, 10):
        batch = [seqno for seqno in range(base, base + 10) if rng.chance(0.7)]
        batch += [seqno for seqno in batch if rng.chance(0.2)]
        rng.shuffle(batch)
        for seqno in batch:
            direct.on_heartbeat(1, seqno)
            arrived.add(seqno)
    assert seen(direct) == (len(arrived), max(arrived) - len(arrived))


def test_a_new_life_begins_its_numbers_again() -> None:
    direct = neighbour()
    direct.on_heartbeat(1, 50)
    direct.have = 7
    direct.acknowledged = 9
    for _ in range(10):
        direct.on_tick()
    assert direct.on_heartbeat(2, 3)  # down for a while, then two lost
    assert seen(direct) == (2, 2)
    assert (direct.have, direct.acknowledged) == (0, 0)
    assert not direct.on_heartbeat(1, 51)  # a straggler of the earlier life
    assert seen(direct) == (2, 2)


@pytest.mark.parametrize(("life", "found"), [(1, (3, 12)), (2, (1, 0))])
def test_a_neighbour_that_is_silent_for_long_is_gone(life: int, found: tuple[int, int]) -> None:
    """If it went on all the time, what was not heard until it was taken for gone was lost: a link that loses nearly
    everything would else look new, and good, each time that something comes through. In another life, it is new."""
    direct = neighbour(vanish_after=5)
    direct.on_heartbeat(1, 1)
    direct.on_heartbeat(1, 4)
    direct.peer_successes = 3
    assert direct.works()
    gone = []
    for tick in range(20):
        direct.on_tick()
        if direct.maybe_vanish():
            gone.append(tick)
    assert gone == [9]
    assert not direct.works() and not direct.heard and seen(direct) == (0, 0)
    direct.on_heartbeat(life, 500)
    assert seen(direct) == found


def test_who_was_expected_and_never_came_is_gone_too() -> None:
    direct = neighbour(vanish_after=2)
    assert not any(direct.on_tick() for _ in range(10))  # never there: nothing to miss
    direct.expected = True
    for _ in range(10):
        direct.on_tick()
    assert direct.maybe_vanish() and not direct.expected


def test_numbers_that_no_process_sends() -> None:
    direct = neighbour()
    assert not direct.on_heartbeat(0, 5) and not direct.on_heartbeat(1, 0)
    direct.on_heartbeat(1, 1)
    assert direct.on_heartbeat(1, 1 << 61)
    assert seen(direct) == (2, LOST_MAX)
    assert not direct.on_heartbeat(1, (1 << 61) - WINDOW)


def test_a_link_works_when_both_hear_each_other() -> None:
    direct = neighbour()
    direct.on_heartbeat(1, 1)
    direct.on_heartbeat(1, 3)
    assert not direct.works()  # it does not hear us
    direct.peer_successes, direct.peer_failures = 10, 2
    assert direct.works() and seen(direct) == (2, 1)


def test_the_way_to_a_neighbour_counts_as_it_was_while_it_cannot_have_heard_us() -> None:
    direct = neighbour(vanish_after=4)
    direct.on_heartbeat(1, 1)
    assert direct.way_to() == (0, 0), "nothing is known before it says something"
    direct.on_answer(20, 3, has_heard_us=True)
    assert direct.way_to() == (20, 3)
    direct.on_heartbeat(2, 1)  # it begins a life, and has heard nobody in it
    direct.on_answer(0, 0, has_heard_us=False)
    assert not direct.works() and direct.way_to() == (20, 3)
    direct.on_tick()
    assert direct.way_to() == (20, 4), "a heartbeat of ours that it did not answer"
    direct.on_heartbeat(2, 2)
    direct.on_answer(1, 0, has_heard_us=True)
    assert direct.way_to() == (1, 0)
    direct.on_heartbeat(2, 3)
    direct.on_answer(0, 0, has_heard_us=True)
    assert direct.way_to() == (0, 0), "it heard us in this life, and hears us no more"


def test_after_our_crash_the_way_counts_as_the_way_back_until_the_neighbour_contradicts() -> None:
    direct = neighbour(vanish_after=4)
    direct.recall(50, 1)
    assert direct.expected and direct.way_to() == (50, 1)
    direct.on_heartbeat(1, 7)
    direct.on_answer(0, 0, has_heard_us=False)  # it took us for gone, and cannot have heard yet that we are back
    assert direct.way_to() == (50, 1)
    for beat in range(8, 12):
        assert direct.way_to()[0] == 50
        direct.on_tick()
        direct.on_heartbeat(1, beat)
        direct.on_answer(0, 0, has_heard_us=False)
    assert direct.way_to() == (0, 0), "it was told four times, and does not hear us"
