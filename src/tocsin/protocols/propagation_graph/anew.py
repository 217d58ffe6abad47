"""Beginning anew: a site whose disk is lost knows nothing, neither its graph nor what it has voted for.

It asks everybody (`Anew`) until a majority of all sites has answered (`Told`), and somebody of each of its groups. That
question is also what makes the others decide on a graph in which it begins: `Decision.anew` names its incarnation.

- Atomic: it begins in the first graph that names its incarnation. Its trees have ended with that, and are open anew;
  its children did not wait for its Close (`AtomicRecovery._follow`).
- Non-atomic: it begins in a graph in which it is left out; then it is taken in, as everybody is who comes back.

What was delivered in its groups before that graph it will never have: its application is told (`missed`). Its places
begin beyond all that it can have used (`Outlets`), and what it may have voted about it leaves to the others: whoever
decided on the last graph that it can have known of voted about it, and at least one of them has answered.
"""

from typing import Final

from tocsin.core.machine import FIRST_INCARNATION, GroupId, Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import Anew, Decision, Told
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Abstains
from tocsin.protocols.propagation_graph.soundness import is_sound_configuration, is_sound_decision
from tocsin.protocols.propagation_graph.successor import bare, incarnation_of, opened_as

ANEW: Final = "ANEW"  # this site begins anew, and does not know enough


class Beginning:
    """How far a site is that begins anew; and what others tell one."""

    def __init__(self, setup: Setup, options: PropagationGraphOptions, passing: MessagePassing, outbox: Outbox) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._others = [site for site in range(setup.sites) if site != setup.site]
        self._incarnation = setup.incarnation
        self._resend_us: int = options.resend_us
        self._is_atomic: bool = options.failures == "atomic"
        self._passing = passing
        self._outbox = outbox
        self._answers: dict[SiteId, Told] = {}  # the last of each, while it is not over
        self.is_over = setup.incarnation == FIRST_INCARNATION or not self._others

    def recall(self) -> None:
        """A record says that it is over."""
        self.is_over = True

    def ask(self, now: Micros) -> None:
        if not self.is_over:
            self._outbox.multicast(self._others, Anew(self._incarnation))
            self._outbox.set_timer(ANEW, 0, now + 2 * self._resend_us)

    def on_told(self, source: SiteId, told: Told) -> bool:
        """Whether that is enough, and this site begins."""
        if self.is_over or told.incarnation != self._incarnation or not self._is_sound(told.decision):
            return False
        self._answers[source] = told
        if not self._is_enough():
            return False
        self.is_over = True
        self._outbox.cancel_timer(ANEW, 0)
        return True

    def _is_sound(self, decision: Decision) -> bool:
        if self._is_atomic:
            return is_sound_configuration(decision, self._sites)
        return is_sound_decision(decision, self._passing.graphs.newest, self._sites)

    # What the answers say

    def _knowing(self) -> list[SiteId]:
        return [site for site in sorted(self._answers) if self._answers[site].knows]

    def newest(self) -> Decision:
        """The newest graph that anybody knows of."""
        found = self._passing.graphs.newest
        for site in self._knowing():
            if self._answers[site].decision.number > found.number:
                found = self._answers[site].decision
        return found

    def graph(self) -> Decision | None:
        """The graph in which this site begins, if it is decided."""
        found: Decision | None = None
        for site in self._knowing():
            known = graph_of(self._answers[site].decision, self._site, self._incarnation, self._is_atomic)
            if known is not None and (found is None or (known.number < found.number) == self._is_atomic):
                found = known
        return found

    def _is_enough(self) -> bool:
        graph = self.graph()
        knowing = len(self._knowing())
        if graph is None or (len(self._answers) < len(self._others) and 2 * knowing <= self._sites):
            return False
        unknown = [group for group in self._groups(graph) if not self._ends(graph, group)]
        return not [group for group in unknown if self._expected(graph, group)]

    def _groups(self, graph: Decision) -> list[GroupId]:
        return [group for group in range(len(graph.groups)) if self._site in graph.groups[group]]

    def _ends(self, graph: Decision, group: GroupId) -> list[int]:
        """How many messages of the group were before the graph, say its members."""
        found: list[int] = []
        for site in self._knowing():
            told = self._answers[site]
            if self._is_atomic or told.opened == graph.number:
                found.extend([end for known, end in told.ends if known == group])
        return found

    def _expected(self, graph: Decision, group: GroupId) -> list[SiteId]:
        """The other members that may know of it, and may answer."""
        return [site for site in self._unlost(graph, group) if site not in graph.away]

    def _unlost(self, graph: Decision, group: GroupId) -> list[SiteId]:
        members = [site for site in graph.groups[group] if site != self._site]
        return [site for site in members if site not in self._answers or self._answers[site].knows]

    def missed(self, graph: Decision) -> list[tuple[GroupId, int]]:
        """By group, how many messages this site will never have; of those of which somebody knows. Where all members
        have lost their disks, positions begin again."""
        found: list[tuple[GroupId, int]] = []
        for group in self._groups(graph):
            ends = self._ends(graph, group)
            if ends:
                found.append((group, max(ends)))
        return found

    def missed_of(self, graph: Decision) -> list[tuple[GroupId, SiteId, int, int]]:
        """By group of which nobody knows, and by source that is left: its first number, and how many messages to the
        group are lost."""
        found: list[tuple[GroupId, SiteId, int, int]] = []
        for group in [group for group in self._groups(graph) if not self._ends(graph, group)]:
            for site in self._knowing():
                sent = [(first, count) for known, first, count in self._answers[site].sent if known == group]
                found.extend([(group, site, first, count) for first, count in sent if count > 0])
        return found

    def places(self) -> tuple[tuple[GroupId, SiteId, int], ...]:
        """How far sources are."""
        most: dict[tuple[GroupId, SiteId], int] = {}
        for site in self._knowing():
            for group, source, place in self._answers[site].places:
                if source < self._sites:
                    most[(group, source)] = max(most.get((group, source), 0), place)
        return tuple([(group, source, most[(group, source)]) for group, source in sorted(most)])

    def abstains(self, graph: Decision) -> Abstains:
        """It can have voted about the graph after the last that it knew of; of the majority that voted for that one,
        somebody has answered."""
        lost = [group for group in self._groups(graph) if not self._unlost(graph, group)]
        instance = max([self._answers[site].instance for site in self._knowing()])
        return Abstains(instance + 2, tuple(lost))

    # Answering

    def answer(self, source: SiteId, anew: Anew, instance: int, decision: Decision) -> None:
        passing = self._passing
        graphs = passing.graphs
        graph = graph_of(decision, source, anew.incarnation, self._is_atomic)
        ends: list[tuple[GroupId, int]] = []
        if self.is_over and graph is not None and graphs.present.number >= graph.number:
            for group in range(len(graph.groups)):
                members = graph.groups[group]
                if source in members and self._site in members and self._site not in graph.away:
                    ends.append((group, self._end_before(graphs, graph.number, group)))
        self._outbox.send(
            source,
            Told(
                anew.incarnation,
                self.is_over,
                instance,
                graphs.present.number,
                decision,
                tuple(ends),
                (*passing.places.of_groups(tuple([group for group, _ in ends])), *passing.outlets.settled(self._site)),
                passing.outlets.sent(),
            ),
        )

    def _end_before(self, graphs: Graphs, number: int, group: GroupId) -> int:
        """How many messages of the group were delivered here before a graph."""
        end = self._passing.application.end(group)
        for stage in graphs.stages.values():
            if stage.number >= number:
                end -= stage.rank(group)
        return max(0, end)


def graph_of(newest: Decision, site: SiteId, incarnation: int, is_atomic: bool) -> Decision | None:
    """The graph in which a site that has begun anew begins, if it is decided."""
    if incarnation_of(newest, site) != incarnation:
        return None
    if not is_atomic:
        return newest if site in newest.away else None
    for graph in newest.pending:
        if incarnation_of(opened_as(graph), site) == incarnation:
            return opened_as(graph)
    return bare(newest)
