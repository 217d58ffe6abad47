"""How far each source has got in each group: its places, the source sequence numbers of section 5.2.1.

A site that handles a group's messages knows the next place of every source, since it has all of them. Who becomes
primary destination goes on from there: a source's message is ordered once, and in the order of its places.

A new member has not had the messages before. Atomic: the group is uncounted until the primary destination before has
told the places (counting.py); until then this site orders nothing in it. Non-atomic: the decision brings them.
"""

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.propagation_graph.graph import Graph
from tocsin.protocols.propagation_graph.records import Counted, Known, Passed


class SourcePlaces:
    """By group and source; and, as primary destination, what the source may forget."""

    def __init__(self, site: SiteId) -> None:
        self._site = site
        self._following: dict[tuple[GroupId, SiteId], int] = {}  # the next place; of groups handled here
        self._finals: dict[tuple[GroupId, SiteId], int] = {}  # places below need not be sent again; at most `following`
        self._uncounted: dict[GroupId, int] = {}  # groups joined, in which graph, whose places are not known here

    def following(self, group: GroupId, source: SiteId) -> int:
        """The next place of the source in the group."""
        return self._following.get((group, source), 0)

    def final(self, group: GroupId, source: SiteId) -> int:
        """Messages below this place are with everybody, or will be: the source may forget them."""
        return self._finals.get((group, source), 0)

    def of_group(self, group: GroupId) -> list[tuple[SiteId, int]]:
        """By source, the next place."""
        return [(source, place) for _, source, place in self.of_groups((group,))]

    def of_groups(self, groups: tuple[GroupId, ...]) -> list[tuple[GroupId, SiteId, int]]:
        found: list[tuple[GroupId, SiteId, int]] = []
        for group, source in sorted(self._following):
            if group in groups:
                found.append((group, source, self._following[(group, source)]))
        return found

    def count(self) -> int:
        """Pairs of group and source that are known."""
        return len(self._following)

    # Messages

    def take(self, record: Passed) -> None:
        """A message is in this site's order."""
        self._following[(record.group, record.origin)] = record.place + 1

    def take_back(self, record: Passed) -> None:
        """It is not any more, nor are later ones: the source has to send it again."""
        self._following[(record.group, record.origin)] = record.place

    def settle(self, record: Passed) -> None:
        """Everybody has a message that was ordered here."""
        final = self.final(record.group, record.origin)
        self._finals[(record.group, record.origin)] = max(final, record.place + 1)

    def raise_to(self, group: GroupId, source: SiteId, floor: int) -> None:
        """The source has begun anew, and its places with it: those below are in the order, or lost with its disk."""
        if floor > self.following(group, source):
            self._following[(group, source)] = floor

    # Graphs

    def start_graph(self, graph: Graph) -> None:
        """What was ordered in an older graph nobody takes back: sources may forget it."""
        self._finals = {}
        for (group, source), place in self._following.items():
            if graph.primary_of(group) == self._site:
                self._finals[(group, source)] = place

    def learn(self, places: tuple[tuple[GroupId, SiteId, int], ...]) -> None:
        """What the others know of how far sources are."""
        for group, source, place in places:
            self._following[(group, source)] = max(self.following(group, source), place)

    def join(self, before: Graph, graph: Graph) -> None:
        """Note which groups this site joins with a graph; it has not had their messages. It may leave others."""
        for group in range(len(graph.decision.groups)):
            if not graph.has_member(group, self._site):
                self._uncounted.pop(group, 0)
            elif not before.has_member(group, self._site):
                knows = graph.decision.knowing[group][0] - 1
                if knows >= 0 and knows != self._site:
                    self._uncounted[group] = graph.number

    def is_counted(self, group: GroupId) -> bool:
        return group not in self._uncounted

    def uncounted(self) -> list[GroupId]:
        return sorted(self._uncounted)

    def joined_in(self, group: GroupId) -> int:
        """The graph with which this site joined a group that is not counted."""
        return self._uncounted[group]

    def on_counted(self, record: Counted) -> None:
        """The places in a group are known here."""
        self._uncounted.pop(record.group, 0)
        for source, place in record.places:
            known = max(self.following(record.group, source), place)
            self._following[(record.group, source)] = known
            self._finals[(record.group, source)] = known

    # Checkpoints

    def fold(self) -> list[Known]:
        return [
            Known(group, source, self._following[(group, source)], self.final(group, source))
            for group, source in sorted(self._following)
        ]

    def fold_uncounted(self) -> tuple[tuple[GroupId, int], ...]:
        return tuple(sorted(self._uncounted.items()))

    def recall(self, record: Known) -> None:
        self._following[(record.group, record.source)] = record.place
        self._finals[(record.group, record.source)] = record.final

    def recall_uncounted(self, uncounted: tuple[tuple[GroupId, int], ...]) -> None:
        for group, graph in uncounted:
            self._uncounted[group] = graph
