"""Messages of closed graphs, and of the present one, that a site which is away may need."""

from tocsin.core.machine import GroupId
from tocsin.protocols.propagation_graph.messages import Passed


class History:
    """By graph, group and rank."""

    def __init__(self) -> None:
        self._graphs: dict[int, dict[GroupId, dict[int, Passed]]] = {}

    def add(self, record: Passed) -> None:
        self._graphs.setdefault(record.graph, {}).setdefault(record.group, {})[record.rank] = record

    def drop(self, record: Passed) -> None:
        graph = self._graphs.get(record.graph)
        if graph is not None and record.group in graph:
            graph[record.group].pop(record.rank, None)

    def find(self, graph: int, group: GroupId, rank: int) -> Passed | None:
        groups = self._graphs.get(graph)
        if groups is None or group not in groups:
            return None
        return groups[group].get(rank)

    def forget_before(self, graph: int) -> None:
        """Everybody has everything of the graphs before this one."""
        for number in sorted(self._graphs):
            if number < graph:
                del self._graphs[number]

    def count(self) -> int:
        total = 0
        for groups in self._graphs.values():
            for ranks in groups.values():
                total += len(ranks)
        return total

    def records(self) -> list[Passed]:
        """All of them, in a defined order."""
        found: list[Passed] = []
        for graph in sorted(self._graphs):
            for group in sorted(self._graphs[graph]):
                for rank in sorted(self._graphs[graph][group]):
                    found.append(self._graphs[graph][group][rank])
        return found
