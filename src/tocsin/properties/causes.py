"""Which message may have caused which: the broadcasts of a run, each with those that its site had seen before it.

A broadcast follows the one before it at its site, and what was delivered there in between; of the messages of one site
only the newest is kept, because it follows the others. The rest is what can be reached.
"""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array

from tocsin.properties.case import Case
from tocsin.properties.graph import components
from tocsin.properties.history import IS_BROADCAST


class Causes:
    """Effects of messages, and an order of all messages in which effects come before their causes."""

    def __init__(self, case: Case) -> None:
        count = len(case.history.stream_of)
        self.effects: list[list[int]] = [[] for _ in range(count)]  # by message: broadcasts that follow it
        first_logs, first_places = case.broadcast_at
        for index in range(len(case.logs)):
            self._add_site(case, index, first_logs, first_places)
        # by message: smaller for an effect than for its causes; equal for messages that follow one another in a circle,
        # which no real run has, but a trace may say so
        self.depth = array("i", [0]) * count
        for depth, component in enumerate(components(self.effects)):
            for message in component:
                self.depth[message] = depth

    def _add_site(self, case: Case, index: int, first_logs: array[int], first_places: array[int]) -> None:
        log = case.logs[index]
        delivered = iter([*case.sequences[index].places, len(log.messages)])
        next_delivery = next(delivered)
        newest: dict[int, int] = {}  # site of messages delivered since the last broadcast: the newest of them
        strangers: list[int] = []  # delivered since then, never broadcast
        last_own = -1
        for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True)):
            if place == next_delivery:
                next_delivery = next(delivered)
                source = first_logs[message]
                if source < 0:
                    strangers.append(message)
                elif source not in newest or first_places[newest[source]] < first_places[message]:
                    newest[source] = message
            elif event == IS_BROADCAST and first_logs[message] == index and first_places[message] == place:
                for cause in [last_own, *newest.values(), *strangers]:
                    if cause >= 0 and cause != message:
                        self.effects[cause].append(message)
                newest.clear()
                strangers.clear()
                last_own = message
