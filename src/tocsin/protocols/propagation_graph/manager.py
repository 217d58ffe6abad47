"""The manager of section 5.1: it decides on graphs, one after another, and tells those that nobody tells.

Every site hears of every graph from its parent in the graph before. Roots, and sites in no group, have no parent: the
manager tells them until they have confirmed.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Change, Decision, Heard, Plan
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Planned
from tocsin.protocols.propagation_graph.soundness import PLANS_MAX, is_sound_change

MANAGE: Final = "MANAGE"  # somebody has not heard of a graph


class Manager:
    """What the manager knows; at other sites, the first graph and nothing to tell."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._graphs = graphs
        self._records = records
        self._outbox = outbox
        self._made: dict[int, Decision] = {}  # by number: from the graph before the first not heard of by all
        self._unheard: dict[int, list[SiteId]] = {}  # by number: who has to be told and has not confirmed
        self._armed = False  # MANAGE is set

    def start(self, decision: Decision) -> None:
        """Everybody knows the first graph."""
        self._made = {decision.number: decision}

    def is_settled(self) -> bool:
        return not self._unheard

    def decide(self, now: Micros, asker: SiteId, change: Change) -> Decision | None:
        """Decide on the graph with this change, and tell; None if it is not the asker's next one, or has to wait."""
        if len(self._unheard) >= PLANS_MAX:
            return None
        last = self._made[max(self._made)]
        applied = dict(last.applied)
        if change.number != applied.get(asker, 0) or not is_sound_change(change, last, self._sites):
            return None
        applied[asker] = change.number + 1
        groups = list(last.groups)
        while len(groups) <= change.group:
            groups.append(())
        groups[change.group] = change.members
        decision = Decision(last.number + 1, tuple(groups), tuple(sorted(applied.items())))
        self._records.persist(Planned(decision))
        self.note(decision)
        self.tell(now)
        return decision

    def note(self, decision: Decision) -> None:
        """A graph of ours, and who has to be told of it; also when it is read back."""
        previous = self._made.get(decision.number - 1)
        self._made[decision.number] = decision
        if previous is not None:
            above_all = self._graphs.tops_of(previous)
            self._unheard[decision.number] = [site for site in above_all if site != self._site]
            self._forget()

    def _forget(self) -> None:
        """What everybody has heard of."""
        for number in sorted(self._unheard):
            if not self._unheard[number]:
                del self._unheard[number]
        oldest = min(self._unheard) if self._unheard else max(self._made)
        for number in sorted(self._made):
            if number < oldest - 1:
                del self._made[number]

    def tell(self, now: Micros) -> None:
        for number in sorted(self._unheard):
            for site in self._unheard[number]:
                self._outbox.send(site, Plan(self._made[number]))
        if self._unheard and not self._armed:
            self._armed = True
            self._outbox.set_timer(MANAGE, 0, now + 2 * self._resend_us)

    def on_timer(self, now: Micros) -> None:
        self._armed = False
        self.tell(now)

    def on_heard(self, source: SiteId, heard: Heard) -> None:
        waiting = self._unheard.get(heard.number)
        if waiting is not None and source in waiting:
            waiting.remove(source)
            self._forget()

    # Checkpoints

    def decisions(self) -> list[Decision]:
        """Those that are kept, in the order of their numbers."""
        return [self._made[number] for number in sorted(self._made)]

    def forget_all(self) -> None:
        """A checkpoint begins: the decisions follow."""
        self._made = {}
        self._unheard = {}
