"""A machine's named timers over one alarm: setting again replaces; cancelled ones are skipped when they come up."""

import heapq

from tocsin.live.clock import Alarm


class Timers:
    """Deadlines in a heap; a generation tells the timer that counts from those it has replaced."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._armed: dict[tuple[str, int], tuple[int, int]] = {}  # name, key -> generation, deadline
        self._heap: list[tuple[int, int, str, int]] = []  # deadline, generation, name, key
        self._generation = 0  # next; never reused
        self._alarm_at = 0  # deadline of the alarm; 0 when it is not set

    def __len__(self) -> int:
        return len(self._armed)

    def set(self, timer: str, key: int, deadline: int) -> None:
        generation = self._generation
        self._generation = generation + 1
        self._armed[(timer, key)] = (generation, deadline)
        heapq.heappush(self._heap, (deadline, generation, timer, key))
        if len(self._heap) > 64 + 4 * len(self._armed):
            self._sweep()

    def cancel(self, timer: str, key: int) -> None:
        self._armed.pop((timer, key), None)

    def clear(self) -> None:
        self._armed.clear()
        self._heap.clear()

    def next_due(self, now: int) -> tuple[str, int] | None:
        """A timer whose deadline has come; it is no longer set."""
        while self._heap and self._heap[0][0] <= now:
            _, generation, timer, key = heapq.heappop(self._heap)
            if self._armed.get((timer, key), (-1, 0))[0] == generation:
                del self._armed[(timer, key)]
                return timer, key
        return None

    def arm(self) -> None:
        """Set the alarm, unless it rings before the earliest deadline anyway: timers are put off far more often than
        they fire, and each setting is a system call."""
        while self._heap and self._armed.get(self._heap[0][2:], (-1, 0))[0] != self._heap[0][1]:
            heapq.heappop(self._heap)
        if self._heap and (self._alarm_at == 0 or self._heap[0][0] < self._alarm_at):
            self._alarm_at = self._heap[0][0]
            self._alarm.set(self._alarm_at)

    def on_alarm(self) -> None:
        self._alarm_at = 0

    def _sweep(self) -> None:
        """Drop replaced and cancelled entries, so that timers set again and again cost no memory."""
        self._heap = [
            (deadline, generation, timer, key) for (timer, key), (generation, deadline) in self._armed.items()
        ]
        heapq.heapify(self._heap)
