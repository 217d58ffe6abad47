"""Messages of closed graphs, and of the present one, that a site which is away may need; at most so many of them.

A site takes messages in the one order of graphs and keys, so the oldest are the first that were added. Where there are
too many the oldest go: all graphs before `oldest`, and of that graph the ranks below `floors`. Who asks is told.
"""

from collections import deque

from tocsin.core.machine import GroupId
from tocsin.core.message import Record
from tocsin.protocols.propagation_graph.records import Forgotten, Kept, Passed


class History:
    """By graph, group and rank."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.oldest = 0  # messages of graphs before this one may be gone
        self.floors: dict[GroupId, int] = {}  # by group: ranks of graph `oldest` below this one may be gone
        self._graphs: dict[int, dict[GroupId, dict[int, Passed]]] = {}
        self._order: deque[Passed] = deque()  # as they came; some are dropped already
        self._count = 0

    def add(self, record: Passed) -> None:
        ranks = self._graphs.setdefault(record.graph, {}).setdefault(record.group, {})
        if record.rank not in ranks:
            self._count += 1
        ranks[record.rank] = record
        self._order.append(record)

    def drop(self, record: Passed) -> None:
        """Everybody has it, or it does not count."""
        graph = self._graphs.get(record.graph)
        if graph is not None and record.group in graph and graph[record.group].pop(record.rank, None) is not None:
            self._count -= 1
        self._skip_dropped()

    def _skip_dropped(self) -> None:
        while self._order and not self._holds(self._order[0]):
            self._order.popleft()

    def _holds(self, record: Passed) -> bool:
        return self.find(record.graph, record.group, record.rank) is record

    def find(self, graph: int, group: GroupId, rank: int) -> Passed | None:
        groups = self._graphs.get(graph)
        if groups is None or group not in groups:
            return None
        return groups[group].get(rank)

    def shrink(self, needed: Passed | None) -> None:
        """Let the oldest go until at most `keep` are left, or the next one is `needed`: somebody present lacks it."""
        if self._count <= self._keep:
            return
        self._skip_dropped()
        while self._count > self._keep:
            record = self._order[0]
            if needed is not None and needed.graph == record.graph and needed.key <= record.key:
                return
            self._note_gone(record.graph, record.group, record.rank + 1)
            self.drop(record)

    def _note_gone(self, graph: int, group: GroupId, floor: int) -> None:
        if graph > self.oldest:
            self.oldest = graph
            self.floors = {}
        self.floors[group] = max(self.floors.get(group, 0), floor)

    def let_go_before(self, graph: int) -> None:
        """This site lacks some of the graphs before this one: others have to ask elsewhere."""
        self.forget_before(graph)
        if graph > self.oldest:
            self.oldest = graph
            self.floors = {}

    def is_gone(self, graph: int, group: GroupId, rank: int) -> bool:
        """Whether the message was here, or may have been, and is kept no more."""
        return graph < self.oldest or (graph == self.oldest and rank < self.floors.get(group, 0))

    def forget_before(self, graph: int) -> None:
        """Everybody has everything of the graphs before this one."""
        for number in sorted(self._graphs):
            if number < graph:
                for ranks in self._graphs[number].values():
                    self._count -= len(ranks)
                del self._graphs[number]
        self._skip_dropped()

    def count(self) -> int:
        return self._count

    # Checkpoints

    def fold(self) -> list[Record]:
        records: list[Record] = []
        records.extend([Kept(entry) for entry in self.records()])
        records.append(Forgotten(self.oldest, tuple(sorted(self.floors.items()))))
        return records

    def recall(self, record: Forgotten) -> None:
        self.oldest = record.oldest
        self.floors = dict(record.floors)

    def records(self) -> list[Passed]:
        """All of them, oldest first."""
        return [record for record in self._order if self._holds(record)]
