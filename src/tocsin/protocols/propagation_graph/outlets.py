"""A site's own broadcasts, from the first of each group that somebody may still lack on."""

from tocsin.core.machine import GroupId, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.protocols.propagation_graph.edges import OutEdge
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Ack
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Sent, Settled


class Outlet(OutEdge):
    """The edge from a source to the group's primary destination; its numbers are places.

    `acked`: ordered by the primary destination of the present graph. `settled`: need not be sent again, come what may.
    """

    def __init__(self, group: GroupId, start: int) -> None:
        super().__init__(start)
        self.group = group
        self.waiting: list[Sent] = []  # the places from `settled` on
        self.barriers: list[tuple[int, int]] = []  # as `waiting`, with causal order: (graph, log) when it was broadcast
        self.tree = 0  # the number of the group's tree, to whose primary destination it goes; -1: there is none
        self.probing = False  # a new primary destination has not yet said what it has: one message at a time

    def put(self, record: Sent) -> None:
        self.waiting.append(record)
        self.end += 1

    def at(self, place: int) -> Sent:
        return self.waiting[place - self.settled]

    def barrier(self, place: int) -> tuple[int, int]:
        return self.barriers[place - self.settled]

    def is_settled(self) -> bool:
        return self.settled == self.end

    def settle(self, settled: int) -> None:
        """Messages below this place need not be sent again."""
        settled = min(settled, self.acked)
        if settled > self.settled:
            del self.waiting[: settled - self.settled]
            del self.barriers[: settled - self.settled]
            self.settled = settled

    def on_answer(self, ack: Ack) -> None:
        """The primary destination says what it has ordered."""
        self.probing = False
        if ack.end > self.acked or ack.settled > self.settled:
            self.tries = 0
        self.acked = max(self.acked, ack.end)
        self.next_send = max(self.next_send, self.acked)

    def on_ordered(self, known: int) -> None:
        """This site is the primary destination, and messages below this place are in its order."""
        self.probing = False
        self.acked = max(self.acked, min(known, self.end))
        self.next_send = self.acked

    def end_at(self, known: int) -> None:
        """The group has no members any more, and messages below this place are with all who were."""
        self.acked = max(self.acked, min(known, self.end))
        self.next_send = max(self.next_send, self.acked)
        self.settle(self.acked)

    def take_next(self) -> Sent:
        """This site is the primary destination, and orders the next message."""
        record = self.at(self.acked)
        self.acked += 1
        self.next_send = self.acked
        return record

    def start_over(self) -> None:
        """Another graph: its primary destination will say what it has."""
        self.acked = self.settled
        self.next_send = self.settled
        self.tries = 0
        self.probing = True


class Outlets:
    """The outlets of all groups that this site has broadcast to."""

    def __init__(self, setup: Setup, options: PropagationGraphOptions, graphs: Graphs) -> None:
        self.start = setup.first_seqno  # of places: beyond all that an earlier incarnation can have used
        self._backlog: int = options.backlog
        self._causal: bool = options.causal
        self._graphs = graphs
        self.numbers = OwnNumbers(setup.first_seqno)
        self.by_group: dict[GroupId, Outlet] = {}

    def room(self) -> int:
        """What waits for a group that nobody is there of takes no room: no more is taken for it."""
        unsettled = 0
        for outlet in self.by_group.values():
            if self._graphs.primary_of(outlet.group) >= 0:
                unsettled += outlet.end - outlet.settled
        return self._backlog - unsettled

    def is_settled(self) -> bool:
        """Whether nothing is under way. What waits for a group that has no members, or none that is there, is not."""
        for outlet in self.by_group.values():
            if not outlet.is_settled() and self._graphs.primary_of(outlet.group) >= 0:
                return False
        return True

    def outlet(self, group: GroupId) -> Outlet:
        found = self.by_group.get(group)
        if found is None:
            found = Outlet(group, self.start)
            found.tree = self._graphs.tree_of(group)
            self.by_group[group] = found
        return found

    def sent(self) -> tuple[tuple[GroupId, int, int], ...]:
        """By group: the first number of this incarnation, and how many messages everybody has, or had."""
        return tuple(
            [(group, self.start, self.by_group[group].settled - self.start) for group in sorted(self.by_group)]
        )

    def settled(self, site: SiteId) -> list[tuple[GroupId, SiteId, int]]:
        """By group: below which place this site, whose number this is, sends nothing any more."""
        return [(group, site, self.by_group[group].settled) for group in sorted(self.by_group)]

    def next_record(self, group: GroupId, payload: bytes) -> Sent:
        """The record of the next broadcast, to be persisted and `put`."""
        return Sent(group, self.numbers.following, self.outlet(group).end, payload)

    def put(self, record: Sent) -> Outlet:
        """A broadcast has its number and its place; also when it is read back after a crash."""
        self.numbers.recall(record.seqno)
        outlet = self.outlet(record.group)
        outlet.put(record)
        if self._causal:
            outlet.barriers.append((self._graphs.present.number, self._graphs.present.end()))
        return outlet

    def start_graph(self) -> None:
        """Another graph is the newest: where the tree is another one, its primary destination is asked what it has."""
        for outlet in self.by_group.values():
            tree = self._graphs.tree_of(outlet.group)
            if tree != outlet.tree:
                outlet.tree = tree
                outlet.start_over()

    def start_over(self) -> None:
        """After a restart."""
        for outlet in self.by_group.values():
            outlet.tree = self._graphs.tree_of(outlet.group)
            outlet.start_over()

    # Checkpoints

    def recall(self, record: Settled) -> None:
        """The messages that are not settled follow."""
        outlet = Outlet(record.group, record.settled)
        outlet.start_over()
        self.by_group[record.group] = outlet

    def count(self) -> int:
        """Records that a checkpoint needs."""
        needed = 0
        for outlet in self.by_group.values():
            needed += len(outlet.waiting) + 1
        return needed

    def fold(self) -> list[Record]:
        records: list[Record] = []
        for group in sorted(self.by_group):
            outlet = self.by_group[group]
            records.append(Settled(group, outlet.end, outlet.settled))
            records.extend(outlet.waiting)
        return records
