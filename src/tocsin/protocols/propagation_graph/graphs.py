"""The graphs of one site: the present one, and older ones that somebody may still need something of."""

from tocsin.core.machine import Setup, SiteId
from tocsin.protocols.propagation_graph.graph import AS_FOUND, Graph, tops
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Staged
from tocsin.protocols.propagation_graph.stage import Stage


class Graphs:
    """Everybody begins in graph 0, which the groups of the set-up define."""

    def __init__(self, setup: Setup, options: PropagationGraphOptions) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._balance: int = AS_FOUND if options.balance is None else options.balance
        groups = tuple([tuple(members) for members in setup.groups])
        self.stages: dict[int, Stage] = {}  # by number; the present one has the largest
        self.previous: Decision | None = None  # the graph before the present one
        self.present: Stage = self.add(Decision(0, groups, ()))

    def decision(self) -> Decision:
        """What defines the present graph."""
        return self.present.graph.decision

    def find(self, number: int) -> Stage | None:
        return self.stages.get(number)

    def graph_of(self, decision: Decision) -> Graph:
        return Graph(decision, self._sites, self._site, self._balance)

    def tops_of(self, decision: Decision) -> list[SiteId]:
        """The sites that nobody is above in the graph."""
        return tops(decision, self._sites, self._balance)

    def add(self, decision: Decision) -> Stage:
        """This graph is the present one from here on; the one before it is kept."""
        if self.stages:
            self.previous = self.decision()
        stage = Stage(self.graph_of(decision))
        self.stages[stage.number] = stage
        self.present = stage
        return stage

    def replace(self, decision: Decision) -> Stage:
        """As `add`, and the edges of the one before mean nothing any more."""
        before = self.present.number
        stage = self.add(decision)
        self.remove(before)
        return stage

    def restart(self, decision: Decision) -> None:
        """There is only this graph."""
        self.stages = {}
        self.add(decision)

    def remove(self, number: int) -> None:
        del self.stages[number]

    def is_settled(self) -> bool:
        """Whether all below this site have everything of every graph."""
        for stage in self.stages.values():  # noqa: SIM110
            if not stage.is_settled():
                return False
        return True

    # Checkpoints

    def recall_previous(self, previous: tuple[Decision, ...]) -> None:
        """A checkpoint begins: its graphs follow; what was before the oldest of them, if anything."""
        self.stages = {}
        self.previous = previous[0] if previous else None

    def recall(self, record: Staged) -> None:
        """A graph as it was when the checkpoint was made; the one before it, if there is one, is closed."""
        if self.stages:
            self.present.close(record.decision)
        self.add(record.decision).recall(record)
