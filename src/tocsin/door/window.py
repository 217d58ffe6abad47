"""The newest rows of every group, in memory, for those who follow; bounded: the oldest make room."""

import threading
from collections import deque
from typing import Any

from tocsin.door.rows import first_position, last_position


class Window:
    """Rows come in order of positions; whoever wants older ones than the oldest here reads files."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lock = threading.Lock()
        self._rows: dict[str, deque[Any]] = {}  # by group: record batches, oldest first, without a gap between them
        self._order: deque[str] = deque()  # the groups of all batches, oldest first

    def add(self, group: str, rows: Any) -> None:
        with self._lock:
            batches = self._rows.setdefault(group, deque())
            if batches and first_position(rows) != last_position(batches[-1]) + 1:
                self._drop(group)  # something was missed in between: what is before it is for files
            batches = self._rows.setdefault(group, deque())
            batches.append(rows)
            self._order.append(group)
            self._bytes += rows.nbytes
            while self._bytes > self._bytes_max and len(self._order) > 1:
                oldest = self._order.popleft()
                self._bytes -= self._rows[oldest].popleft().nbytes

    def _drop(self, group: str) -> None:
        self._bytes -= sum(batch.nbytes for batch in self._rows.pop(group))
        self._order = deque(each for each in self._order if each != group)

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()
            self._order.clear()
            self._bytes = 0

    def begin(self, group: str) -> int | None:
        """The oldest position here; None: there is none."""
        with self._lock:
            batches = self._rows.get(group)
            return first_position(batches[0]) if batches else None

    def rows(self, group: str, position: int) -> list[Any] | None:
        """From a position on, as batches; empty: nothing so far; None: older rows are wanted than are here."""
        with self._lock:
            batches = self._rows.get(group)
            if not batches or position < first_position(batches[0]):
                return None
            found: list[Any] = []
            for batch in reversed(batches):
                first = first_position(batch)
                if last_position(batch) < position:
                    break
                found.append(batch if first >= position else batch.slice(position - first))
                if first <= position:
                    break
            return found[::-1]
