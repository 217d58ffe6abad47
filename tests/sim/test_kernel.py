"""The kernel: time order, ties by scheduling, slices."""

import pytest

from tocsin.sim.kernel import Event, Kernel


class Note(Event):
    def __init__(self, told: list[tuple[int, str]], word: str) -> None:
        self.told = told
        self.word = word

    def fire(self, now: int) -> None:
        self.told.append((now, self.word))


def test_events_fire_by_time_then_by_scheduling() -> None:
    kernel = Kernel()
    told: list[tuple[int, str]] = []
    for at, word in ((5, "late"), (1, "first"), (5, "later"), (1, "second")):
        kernel.schedule(at, Note(told, word))
    assert not kernel.run(10, 100)
    assert told == [(1, "first"), (1, "second"), (5, "late"), (5, "later")]
    assert kernel.now == 5 and kernel.fired == 4


def test_a_run_in_slices_is_the_same_run() -> None:
    kernel = Kernel()
    told: list[tuple[int, str]] = []
    for at in range(10):
        kernel.schedule(at, Note(told, str(at)))
    assert kernel.run(7, 3) and kernel.run(7, 3) and kernel.now == 5
    assert not kernel.run(7, 3), "nothing more before the limit"
    assert [now for now, _ in told] == list(range(8))
    assert kernel.pending() == 2


def test_nothing_happens_in_the_past() -> None:
    kernel = Kernel()
    kernel.schedule(5, Note([], ""))
    kernel.run(5, 1)
    with pytest.raises(AssertionError, match="past"):
        kernel.schedule(4, Note([], ""))
