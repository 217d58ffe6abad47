"""The discrete-event kernel: a clock, a heap of events, ties broken by a counter. It knows nothing of protocols."""

import heapq
from abc import ABC, abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from tocsin.core.machine import Micros
from tocsin.core.signals import look_for_signals

LOOK_WORK: Final = 10_000  # events fired and scheduled between two looks for Ctrl-C: 0.05 s with thousands of sites


@mypyc_attr(allow_interpreted_subclasses=True)
class Event(ABC):
    """Something that will happen."""

    @abstractmethod
    def fire(self, now: Micros) -> None:
        """It happens now."""


class Kernel:
    """Runs events in the order of their time, and of their scheduling where times are equal."""

    def __init__(self) -> None:
        self.now: Micros = 0
        self.fired = 0  # events so far
        self.interrupted = False  # set by an event to end the present slice
        self._heap: list[tuple[Micros, int, Event]] = []
        self._counter = 0  # next tie-breaker; never reused
        self._look_at = LOOK_WORK  # look for Ctrl-C when the counter is there; each event that fired counts as one more

    def schedule(self, at: Micros, event: Event) -> None:
        """Let an event happen at a time, which is not in the past."""
        assert at >= self.now, "an event in the past"
        heapq.heappush(self._heap, (at, self._counter, event))
        self._counter += 1

    def run(self, until: Micros, events_max: int) -> bool:
        """Fire events up to `until` (included), at most `events_max` of them; whether more are left to fire."""
        heap = self._heap
        budget = events_max
        self.interrupted = False
        while heap and budget > 0 and not self.interrupted:
            if heap[0][0] > until:
                break
            at, _, event = heapq.heappop(heap)
            self.now = at
            budget -= 1
            event.fire(at)
            if self._counter >= self._look_at:
                self._look_at = self._counter + LOOK_WORK
                look_for_signals()
        self._look_at -= events_max - budget
        self.fired += events_max - budget
        return bool(heap) and heap[0][0] <= until

    def pending(self) -> int:
        """How many events are scheduled (cancelled timers among them)."""
        return len(self._heap)
