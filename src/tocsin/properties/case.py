"""One run as the properties see it. What several of them need is computed once, when the first asks for it."""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array
from collections.abc import Mapping
from collections.abc import Sequence as Names
from functools import cached_property

from tocsin.properties.history import IS_BROADCAST, IS_DELIVER, History, Log
from tocsin.properties.members import Members
from tocsin.properties.order import Order
from tocsin.properties.sequences import Sequence, net_sequence
from tocsin.traces.rows import Row


class Case:
    """A run's whole logs, by site name; truncated ones are known by name only."""

    def __init__(self, history: History, groups: Mapping[str, Names[str]], one_clock: bool) -> None:
        self.history = history
        self.one_clock = one_clock
        self.logs: list[Log] = []  # the whole ones, by site name
        self.truncated: dict[str, str] = {}  # site: its hole
        self._groups = groups
        for site in sorted(history.logs):
            log = history.logs[site]
            if log.hole is None:
                self.logs.append(log)
            else:
                self.truncated[site] = log.hole

    @cached_property
    def sequences(self) -> list[Sequence]:
        """S(s) of docs/guarantees.md, by log."""
        return [net_sequence(log) for log in self.logs]

    @cached_property
    def delivered(self) -> int:
        """D of docs/guarantees.md: how many deliveries the order properties examine."""
        return sum(len(sequence.messages) for sequence in self.sequences)

    @cached_property
    def has_broadcasts(self) -> bool:
        return any(IS_BROADCAST in log.events for log in self.logs)

    @cached_property
    def has_deliveries(self) -> bool:
        return any(IS_DELIVER in log.events for log in self.logs)

    @cached_property
    def broadcast_at(self) -> tuple[array[int], array[int]]:
        """By message: the log and the place of its first broadcast row, by (site name, order); -1 if there is none."""
        logs = array("i", [-1]) * len(self.history.stream_of)
        places = array("i", [-1]) * len(self.history.stream_of)
        for index, log in enumerate(self.logs):
            for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
                if event == IS_BROADCAST and logs[message] < 0:
                    logs[message] = index
                    places[message] = place
        return logs, places

    @cached_property
    def members(self) -> Members:
        return Members(self.history, self.logs, self.truncated, self._groups)

    @cached_property
    def order(self) -> Order:
        return Order([sequence.messages for sequence in self.sequences], self.history)

    @cached_property
    def truncation(self) -> str | None:
        """The obstacle that truncated logs are, in words."""
        if not self.truncated:
            return None
        site, hole = next(iter(self.truncated.items()))
        others = f", and {len(self.truncated) - 1} more logs" if len(self.truncated) > 1 else ""
        return f"run {self.history.run}: the log of site {site} is truncated ({hole}){others}"

    def row(self, log: int, place: int) -> Row:
        """A broadcast, deliver or rollback row."""
        return self.history.row(self.logs[log], place)

    def delivery_row(self, log: int, message: int) -> Row:
        """The delivery of a message in a site's sequence."""
        sequence = self.sequences[log]
        return self.row(log, sequence.places[sequence.messages.index(message)])

    def text(self, message: int) -> str:
        return self.history.text(message)

    def lacking(self, event: str) -> str:
        return f"run {self.history.run}: no {event} events"
