"""Where a site stands in the sequence of graphs, and what it says of that when it is back or may have missed something.

A site that was away goes on as soon as it hears of the graph after its own. But if one of its groups died with that
graph (votes.py), how many of its messages count is not known before somebody is back who was there. So it waits, and
says how far it was, until a later graph has the group's end. Meanwhile it takes part in deciding on that graph, after
the last one that it knows of; it is away there.
"""

from tocsin.core.machine import GroupId, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.ballots import GraphBallots
from tocsin.protocols.propagation_graph.decided import DecidedGraphs
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Decision, Hello
from tocsin.protocols.propagation_graph.places import SourcePlaces


class Standing:
    """Says `Hello`. What is decided is in `DecidedGraphs`."""

    def __init__(
        self,
        setup: Setup,
        graphs: Graphs,
        places: SourcePlaces,
        decided: DecidedGraphs,
        ballots: GraphBallots,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._others = [site for site in range(setup.sites) if site != setup.site]
        self._graphs = graphs
        self._places = places
        self._decided = decided
        self._ballots = ballots
        self._outbox = outbox

    def awaited(self) -> list[GroupId]:
        """The groups of this site that died with the next graph, and whose end no later graph has yet."""
        present = self._graphs.decision()
        following = self._decided.find(present.number + 1)
        if following is None or self._decided.learned is not None:
            return []
        ends = self._decided.ends()
        return [
            group
            for group, graph in following.dead
            if graph == present.number and (group, graph) not in ends and self._site in present.groups[group]
        ]

    def is_waiting(self) -> bool:
        return bool(self.awaited())

    def is_away(self) -> bool:
        """Whether this site is left out of the graph that it is in."""
        return self._site in self._graphs.decision().away

    def base(self) -> Decision:
        """This site takes part in deciding on the graph after this one: the one it is in, or, while it waits, the last
        of those after it that it knows of."""
        found = self._graphs.decision()
        if self.is_waiting():
            following = self._decided.find(found.number + 1)
            while following is not None:
                found = following
                following = self._decided.find(found.number + 1)
        return found

    def say(self, target: SiteId) -> None:
        self._outbox.send(target, self.hello())

    def say_to_all(self) -> None:
        self._outbox.multicast(self._others, self.hello())
        for group, graph in self._graphs.decision().dead:
            if group in self._ballots.lost:  # nobody will ever know more
                self._outbox.multicast(self._others, Hello(graph, self.base().number, ((group, 0),)))

    def hello(self) -> Hello:
        """In which graph this site is; and what it knows that nobody knows who is there."""
        stage = self._graphs.present
        known = [group for group in self.awaited() if self._site not in stage.graph.decision.away]
        ranks = tuple([(group, stage.rank(group)) for group in known])
        return Hello(stage.number, self.base().number, ranks, tuple(self._places.of_groups(tuple(known))))
