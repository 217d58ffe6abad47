"""Atomic delivery and dynamic groups: sections 5.2.2 and 5.1 of the paper.

What needs a failed site waits for it, and goes on where it left off when it is back: all that takes is stable storage.
So graphs change only because groups do. The manager decides on graphs; Close carries them through the trees.

| paper                                               | here                                                   |
|-----------------------------------------------------|--------------------------------------------------------|
| the manager computes a new graph                    | `Manager.decide`: on the groups; all compute the forest |
| Close, to each root and down to every node          | `Plan` to the roots, `Close` as the last message of every edge |
| Open, with the new graph                            | the Close brings it: who has closed a graph opens the next |
| graph numbers; messages of a graph not yet open wait | `Decision.number`, `Held`                              |
| queued messages are re-routed                       | `_switch`: sources turn to the new primary destination  |

Every site hears of every graph, in order: from its parent in the graph before, or from the manager if nobody is above
it. A site leaves a graph when its Close has come, that is, with all messages of the graph that concern it; so what is
ordered in one graph comes, at every site, before what is ordered in the next. Nobody waits for anybody else, but for
the places of sources (counting.py).
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.counting import COUNT, Counting
from tocsin.protocols.propagation_graph.held import Held
from tocsin.protocols.propagation_graph.manager import MANAGE, Manager
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import (
    Ack,
    Ask,
    Change,
    Close,
    Decision,
    Heard,
    Null,
    Pass,
    Places,
    Plan,
    Submit,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.parent import NOT_FOR_US
from tocsin.protocols.propagation_graph.records import Counted, Opened, Planned, Summary
from tocsin.protocols.propagation_graph.recovery import Recovery
from tocsin.protocols.propagation_graph.soundness import is_sound_decision
from tocsin.protocols.propagation_graph.stage import Stage

CHANGE: Final = "CHANGE"  # a change asked for here is not yet in a graph


class AtomicRecovery(Recovery):
    """How a site goes from one graph to the next when all sites count on one another."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        passing: MessagePassing,
        asked: AskedChanges,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._manager_site: SiteId = min(options.manager, setup.sites - 1)
        self._resend_us: int = options.resend_us
        self._passing = passing
        self._graphs = passing.graphs
        self._asked = asked
        self._records = records
        self._outbox = outbox
        self._manager = Manager(setup, options, passing.graphs, records, outbox)
        self._counting = Counting(setup, options, passing.graphs, passing.places, records, outbox)
        self._held = Held()
        self._coming: dict[int, Decision] = {}  # from the manager, not yet open here; by number
        self._change_armed = False  # CHANGE is set

    def is_settled(self) -> bool:
        return self._manager.is_settled() and not self._coming

    # Starting

    def start(self, now: Micros, decision: Decision) -> None:
        self._manager.start(decision)

    def resume(self, now: Micros) -> None:
        self._counting.ask(now)
        self._passing.sources.pump_all(now)
        self.ask(now)
        self._manager.tell(now)
        for decision in self._manager.decisions():
            if decision.number > self._graphs.present.number:
                self._take_plan(now, decision)

    def recall(self, record: Record) -> None:
        if isinstance(record, Opened):
            self._recall_opened(record.decision)
        elif isinstance(record, Planned):
            self._manager.note(record.decision)
        elif isinstance(record, Counted):
            self._passing.places.on_counted(record)
        elif isinstance(record, Summary):
            self._manager.forget_all()

    def _recall_opened(self, decision: Decision) -> None:
        if decision.number > 0:
            self._switch(decision)
        else:
            self._graphs.restart(decision)
            self._manager.start(decision)

    def records_needed(self) -> int:
        return len(self._manager.decisions())

    def fold(self) -> list[Record]:
        return [Planned(decision) for decision in self._manager.decisions()]

    # Asking for a change

    def ask(self, now: Micros) -> None:
        for change in self._asked.changes():
            if self._manager_site == self._site:
                self._on_change(now, self._site, change)
            else:
                self._outbox.send(self._manager_site, change)
        if not self._asked.is_empty() and not self._change_armed:
            self._change_armed = True
            self._outbox.set_timer(CHANGE, 0, now + 2 * self._resend_us)

    def _on_change(self, now: Micros, asker: SiteId, change: Change) -> None:
        if self._site == self._manager_site:
            decision = self._manager.decide(now, asker, change)
            if decision is not None:
                self._take_plan(now, decision)

    # What comes

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, (Pass, Close, Submit)) and message.graph > self._graphs.present.number:
            self._held.put(source, message)
        elif isinstance(message, Pass):
            self._on_pass(now, source, message)
        elif isinstance(message, Submit):
            self._passing.primary.on_submit(now, source, message)
        elif isinstance(message, Ack):
            self._passing.on_ack(now, source, message)
        elif isinstance(message, Null):
            self._on_null(now, source, message)
        elif isinstance(message, Close):
            self._on_close(now, source, message)
        elif isinstance(message, Plan):
            self._on_plan(now, source, message)
        elif isinstance(message, Heard):
            self._manager.on_heard(source, message)
        elif isinstance(message, Change):
            self._on_change(now, source, message)
        elif isinstance(message, Ask):
            self._counting.on_ask(source, message)
        elif isinstance(message, Places):
            self._on_places(now, source, message)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == COUNT:
            self._counting.on_timer(now, key)
        elif timer == CHANGE:
            self._change_armed = False
            self.ask(now)
        elif timer == MANAGE:
            self._manager.on_timer(now)

    def _on_pass(self, now: Micros, source: SiteId, message: Pass) -> None:
        stage = self._graphs.find(message.graph)
        if stage is not None and source == stage.parent:
            number = self._passing.parent.number_of(message)
            if number != NOT_FOR_US:
                self._put_early(now, stage, number, message)

    def _on_close(self, now: Micros, source: SiteId, close: Close) -> None:
        stage = self._graphs.find(close.graph)
        if stage is not None and source == stage.parent and self._is_sound(close.decision):
            self._put_early(now, stage, close.number, close)

    def _put_early(self, now: Micros, stage: Stage, number: int, message: Pass | Close) -> None:
        if self._passing.parent.put_early(stage, number, message):
            self._take_early(now)
        self._passing.parent.owe_ack(now, stage)

    def _take_early(self, now: Micros) -> None:
        """Take what has come from the parent; if that is all of the graph, go on to the next."""
        decision = self._passing.parent.take_early(now)
        if decision is not None:
            self._maybe_close(now, decision)
        self._passing.parent.watch_gap(now)

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        is_known = self._passing.on_null(now, source, null)
        if not is_known and null.graph < self._graphs.present.number:  # it is over here: everybody has all of it
            self._outbox.send(source, Ack(null.graph, 0, null.end, null.end, null.stable, ()))

    def _on_places(self, now: Micros, source: SiteId, answer: Places) -> None:
        if self._counting.on_places(source, answer):
            self._passing.primary.on_counted(now, answer.group)
            self._passing.sources.pump_all(now)
            self._take_early(now)
            self._open_coming(now)

    # From one graph to the next

    def _is_sound(self, decision: Decision) -> bool:
        return is_sound_decision(decision, self._graphs.decision(), self._sites)

    def _on_plan(self, now: Micros, source: SiteId, plan: Plan) -> None:
        if source == self._manager_site and self._is_sound(plan.decision):
            if plan.decision.number <= self._graphs.present.number:
                self._outbox.send(source, Heard(plan.decision.number))
            else:
                self._take_plan(now, plan.decision)

    def _take_plan(self, now: Micros, decision: Decision) -> None:
        self._coming[decision.number] = decision
        self._open_coming(now)

    def _open_coming(self, now: Micros) -> None:
        """Nobody is above this site: it closes when the manager says so."""
        following = self._coming.get(self._graphs.present.number + 1)
        while following is not None and self._graphs.present.parent < 0 and self._maybe_close(now, following):
            if self._manager_site != self._site:
                self._outbox.send(self._manager_site, Heard(following.number))
            following = self._coming.get(self._graphs.present.number + 1)

    def _maybe_close(self, now: Micros, decision: Decision) -> bool:
        """Close the present graph and open the next, if that is this one and this site may."""
        closed = self._graphs.present
        if decision.number != closed.number + 1 or not self._counting.is_settled():
            return False
        self._records.persist(Opened(decision))
        self._switch(decision)
        self._open(now, closed)
        return True

    def _switch(self, decision: Decision) -> None:
        """Close the present graph and open the next; also when records are read back after a crash."""
        closed = self._graphs.present
        closed.close(decision)
        opened = self._graphs.add(decision)
        self._passing.places.join(closed.graph, opened.graph)
        self._passing.start_graph()
        self._asked.on_graph(decision)
        for number in sorted(self._coming):
            if number <= decision.number:
                del self._coming[number]

    def _open(self, now: Micros, closed: Stage) -> None:
        """What opening a graph makes this site do."""
        self._passing.application.see_graph(closed, self._graphs.present)
        self._passing.children.pump_all(now, closed)
        self._passing.children.progress(now, closed)
        self._passing.parent.start_graph()
        self._counting.ask(now)
        self._passing.sources.pump_all(now)
        for source, message in self._held.take_all():
            self.on_message(now, source, message)
            self._passing.finish(now)
