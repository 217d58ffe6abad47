"""What a consumer was handed and has not acknowledged: from an event to the cursor that says "up to here".

Acknowledging is cumulative, and an event may be any that was handed out: a delivery, a batch, a view. What lies between
is kept in short: deliveries of one group that follow one another are one run.
"""

from collections import deque
from typing import Final

from tocsin.core.errors import InputError
from tocsin.live.events import Batch, BatchEvent, Delivery, Event, Missed
from tocsin.live.storage.cursors import Cursor

RUNS_MAX: Final = 1_000_000  # handed out and not acknowledged; about 100 MB


class _Run:
    """Deliveries of one group, `first` up to `end`; or another event; or (`made`) what is said of positions that are
    no longer kept, and is in no log."""

    __slots__ = ("end", "event", "first", "group", "made")

    def __init__(self, group: str, first: int, end: int, event: BatchEvent | Event | None, made: bool) -> None:
        self.made = made
        self.group = group
        self.first = first
        self.end = end
        self.event = event


class Handed:
    """One consumer's."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor  # the newest that was asked for
        self._runs: deque[_Run] = deque()  # after the cursor, in the order in which they were handed out

    def hand(self, event: BatchEvent | Event, made: bool = False) -> None:
        """The next event, as the consumer gets it. `made`: a `Missed` that is in no log, over positions that retention
        has dropped."""
        if len(self._runs) >= RUNS_MAX:
            raise InputError(f"ack: expected one now and then, found none for {RUNS_MAX:,} changes of group or kind")
        if not isinstance(event, Delivery | Batch):
            group, end = (event.group, event.first + event.count) if made and isinstance(event, Missed) else ("", 0)
            self._runs.append(_Run(group, 0, end, event, made))
            return
        first = event.position
        end = first + (len(event.payloads) if isinstance(event, Batch) else 1)
        last = self._runs[-1] if self._runs else None
        if last is not None and last.event is None and (last.group, last.end) == (event.group, first):
            last.end = end
        else:
            self._runs.append(_Run(event.group, first, end, None, False))

    def ack(self, event: BatchEvent | Event) -> Cursor:
        """Everything up to this event is done with; an event that was acknowledged before changes nothing."""
        if isinstance(event, Delivery | Batch):
            count = len(event.payloads) if isinstance(event, Batch) else 1
            return self._ack_delivery(event.group, event.position + count - 1)
        if not any(run.event is event for run in self._runs):
            if any(run.event == event for run in self._runs):
                raise InputError("ack: expected the event itself as it was handed out, found a copy of it")
            return self.cursor  # it was acknowledged by a later one
        while self._pop().event is not event:
            pass
        return self.cursor

    def _ack_delivery(self, group: str, position: int) -> Cursor:
        if position < self.cursor.positions.get(group, 0):
            return self.cursor
        if not any(run.event is None and run.group == group and run.first <= position < run.end for run in self._runs):
            raise InputError(f"ack: expected an event that was handed out, found position {position} of `{group}`")
        while True:
            run = self._runs[0]
            if run.event is None and run.group == group and run.first <= position < run.end:
                break
            self._pop()
        self._to(group, position + 1)
        run.first = position + 1
        if run.first == run.end:
            self._runs.popleft()
        return self.cursor

    def _pop(self) -> _Run:
        run = self._runs.popleft()
        if run.event is None:
            self._to(run.group, run.end)
        else:
            cursor = self.cursor
            positions = {**cursor.positions, run.group: run.end} if run.made else cursor.positions
            self.cursor = Cursor(cursor.incarnation, positions, cursor.anchor, cursor.others + (not run.made))
        return run

    def _to(self, group: str, position: int) -> None:
        self.cursor = Cursor(self.cursor.incarnation, {**self.cursor.positions, group: position}, group, 0)
