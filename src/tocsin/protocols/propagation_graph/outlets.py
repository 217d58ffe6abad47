"""A source's own broadcasts to one group, from the first that somebody may still lack on."""

from tocsin.core.machine import GroupId
from tocsin.protocols.propagation_graph.edges import OutEdge
from tocsin.protocols.propagation_graph.record_messages import Sent


class Outlet(OutEdge):
    """The edge from a source to the group's primary destination; its numbers are places.

    `acked`: ordered by the primary destination of the present graph. `settled`: need not be sent again, come what may.
    """

    def __init__(self, group: GroupId) -> None:
        super().__init__(0)
        self.group = group
        self.waiting: list[Sent] = []  # the places from `settled` on
        self.barriers: list[tuple[int, int]] = []  # as `waiting`, with causal order: (graph, log) when it was broadcast
        self.probing = False  # a new primary destination has not yet said what it has: one message at a time

    def put(self, record: Sent) -> None:
        self.waiting.append(record)
        self.end += 1

    def at(self, place: int) -> Sent:
        return self.waiting[place - self.settled]

    def settle(self, settled: int) -> None:
        """Messages below this place need not be sent again."""
        settled = min(settled, self.acked)
        if settled > self.settled:
            del self.waiting[: settled - self.settled]
            del self.barriers[: settled - self.settled]
            self.settled = settled

    def start_over(self) -> None:
        """Another graph: its primary destination will say what it has."""
        self.acked = self.settled
        self.next_send = self.settled
        self.tries = 0
        self.probing = True


class Stream:
    """What a primary destination knows of one source's messages to one group."""

    def __init__(self) -> None:
        self.early: dict[int, tuple[int, bytes]] = {}  # the wait queue: by place, number and payload
        self.news = False  # there is something to acknowledge
