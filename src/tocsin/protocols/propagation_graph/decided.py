"""The graphs that are decided: what a site that missed some has to hear of, and which one is to be opened here next."""

from typing import Final

from tocsin.core.machine import GroupId, Outbox, SiteId
from tocsin.protocols.propagation_graph.messages import Decided, Decision

DECISIONS_SENT_MAX: Final = 4  # in answer to one Hello


class DecidedGraphs:
    """A graph is decided once for each number (deciding.py), so nothing here is ever replaced by something else."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._by_number: dict[int, Decision] = {}  # what somebody may have missed, the present one, and what is to come
        self.learned: Decision | None = None  # the next graph, while what is missing of the present one is fetched

    def start(self, decision: Decision) -> None:
        """Everybody knows the first graph."""
        self._by_number = {decision.number: decision}

    def find(self, number: int) -> Decision | None:
        return self._by_number.get(number)

    def note(self, decision: Decision) -> None:
        self._by_number[decision.number] = decision

    def learn(self, decision: Decision) -> None:
        """The graph after the present one is decided."""
        self.learned = decision
        self.note(decision)

    def on_opened(self, decision: Decision) -> None:
        """It is the present one. If nobody is away, all have reported: nobody misses an older one."""
        self.learned = None
        self.note(decision)
        if not decision.away:
            for number in sorted(self._by_number):
                if number < decision.number:
                    del self._by_number[number]

    def ends(self) -> dict[tuple[GroupId, int], int]:
        """By group and graph: how many messages of it count, of groups that were dead."""
        found: dict[tuple[GroupId, int], int] = {}
        for decision in self._by_number.values():
            for group, graph, final in decision.ends:
                found[(group, graph)] = final
        return found

    def send_ends(self, target: SiteId, groups: list[GroupId], graph: int) -> None:
        """Tell a site that waits for the ends of dead groups of this graph, if they are known here."""
        for number in sorted(self._by_number):
            if [end for end in self._by_number[number].ends if end[0] in groups and end[1] == graph]:
                self.send(target, number)

    def send(self, target: SiteId, number: int) -> None:
        """Tell a site of a graph, if it is known here."""
        decision = self._by_number.get(number)
        if decision is not None:
            self._outbox.send(target, Decided(decision))

    def send_after(self, target: SiteId, number: int) -> None:
        """Tell a site that is in this graph of the next ones."""
        following = number + 1
        while following in self._by_number and following <= number + DECISIONS_SENT_MAX:
            self.send(target, following)
            following += 1

    def all(self) -> list[Decision]:
        return [self._by_number[number] for number in sorted(self._by_number)]
