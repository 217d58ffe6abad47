"""The graphs of one site: the present one, and older ones that somebody may still need something of."""

from tocsin.core.machine import GroupId, Setup, SiteId
from tocsin.protocols.propagation_graph.graph import AS_FOUND, Graph
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Staged
from tocsin.protocols.propagation_graph.stage import Stage
from tocsin.protocols.propagation_graph.successor import first_decision, tree_number


class Graphs:
    """Everybody begins in graph 0, which the groups of the set-up define. Where trees change one by one (successor.py)
    the newest graph that is decided may be ahead of the one that this site is in; sources go by the newest."""

    def __init__(self, setup: Setup, options: PropagationGraphOptions) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self.balance: int = AS_FOUND if options.balance is None else options.balance
        first = first_decision(setup.groups, min(options.manager, setup.sites - 1), options.failures == "atomic")
        self.stages: dict[int, Stage] = {}  # by number; the present one has the largest
        self.present: Stage = self.add(first)
        self.newest: Decision = first  # that is known here to be decided
        self._routing: Graph = self.present.graph  # the newest

    def decision(self) -> Decision:
        """What defines the present graph."""
        return self.present.graph.decision

    def find(self, number: int) -> Stage | None:
        return self.stages.get(number)

    def graph_of(self, decision: Decision) -> Graph:
        return Graph(decision, self._sites, self._site, self.balance)

    # The newest graph

    def learn(self, decision: Decision) -> None:
        """A newer graph is decided."""
        self.newest = decision
        self._routing = self.graph_of(decision)

    def primary_of(self, group: GroupId) -> SiteId:
        """The primary destination to which messages of the group go now; NOBODY if the group has none."""
        return self._routing.primary_of(group)

    def tree_of(self, group: GroupId) -> int:
        """The number that they carry."""
        return tree_number(self.newest, group)

    # Those of this site

    def add(self, decision: Decision) -> Stage:
        """This graph is the present one from here on; the one before it is kept."""
        stage = Stage(self.graph_of(decision))
        self.stages[stage.number] = stage
        self.present = stage
        return stage

    def replace(self, decision: Decision) -> Stage:
        """As `add`, and the edges of the one before mean nothing any more."""
        before = self.present.number
        stage = self.add(decision)
        self.remove(before)
        self.newest = decision
        self._routing = stage.graph
        return stage

    def restart(self, decision: Decision) -> None:
        """There is only this graph."""
        self.stages = {}
        self._routing = self.add(decision).graph
        self.newest = decision

    def remove(self, number: int) -> None:
        del self.stages[number]

    def is_settled(self) -> bool:
        """Whether all below this site have everything of every graph."""
        for stage in self.stages.values():  # noqa: SIM110
            if not stage.is_settled():
                return False
        return True

    # Checkpoints

    def forget_all(self) -> None:
        """A checkpoint begins: its graphs follow."""
        self.stages = {}

    def recall(self, record: Staged) -> None:
        """A graph as it was when the checkpoint was made; its messages follow, but for the Close."""
        self.add(record.decision).recall(record)
        self.learn(record.decision)  # unless a newer one follows
