"""Atomic delivery and dynamic groups: sections 5.2.2 and 5.1 of the paper.

What needs a failed site waits for it, and goes on where it left off when it is back: all that takes is stable storage.
So graphs change only because groups do. Which graph is next is decided by ballot (manager.py); Close carries it down
the trees that it ends.

| paper                                               | here                                                   |
|-----------------------------------------------------|--------------------------------------------------------|
| the manager computes a new graph                    | manager.py, successor.py                               |
| Close, to each root and down to every node          | `Decided`, `_follow`; `Close`, the last of every edge  |
| Open, with the new graph                            | the Close brings it: who has closed a tree opens the next |
| graph numbers; messages of a graph not yet open wait | `Decision.since`, `Held`                              |
| queued messages are re-routed                       | `_learn`: sources turn to the new primary destination   |

A site leaves a tree when its Close has come, that is, with all messages of the tree that concern it; so what is ordered
in one tree comes, at every site of both, before what is ordered in the next. Nobody waits for anybody else, but for the
places of sources (counting.py). A tree that a change does not touch stays open.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.anew import Beginning
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.behind import BEHIND, Behind
from tocsin.protocols.propagation_graph.counting import COUNT, Counting
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.held import Held
from tocsin.protocols.propagation_graph.manager import PUSH, Manager
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import (
    Accept,
    Accepted,
    Ack,
    Anew,
    Ask,
    Change,
    Close,
    Decided,
    Decision,
    Heard,
    Hello,
    Null,
    Pass,
    Places,
    Prepare,
    Report,
    Submit,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.parent import NOT_FOR_US
from tocsin.protocols.propagation_graph.records import Abstains, Counted, Opened, Planned, Promised, Voted
from tocsin.protocols.propagation_graph.recovery import Recovery
from tocsin.protocols.propagation_graph.soundness import is_sound_configuration, is_sound_tree
from tocsin.protocols.propagation_graph.stage import Stage
from tocsin.protocols.propagation_graph.successor import bare, ends_tree, incarnation_of, opened_as
from tocsin.protocols.propagation_graph.telling import MANAGE

CHANGE: Final = "CHANGE"  # a change asked for here is not yet in a graph
OLD: Final = "OLD"  # after a restart: messages from before it are kept here that everybody may have

ASKED_MAX: Final = 3  # times that a manager is asked in vain before the asker is manager itself


class AtomicRecovery(Recovery):
    """How a site goes from one graph to the next when all sites count on one another."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        passing: MessagePassing,
        beginning: Beginning,
        asked: AskedChanges,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._passing = passing
        self._graphs = passing.graphs
        self._beginning = beginning
        self._asked = asked
        self._records = records
        self._outbox = outbox
        self._manager = Manager(setup, options, passing.graphs, records, outbox)
        self._counting = Counting(setup, options, passing.graphs, passing.places, passing.outlets, records, outbox)
        self._held = Held()
        self._old: dict[int, int] = {}  # by graph: where the log ended when this life began
        self._change_armed = False  # CHANGE is set
        self._asked_in_vain = 0  # times
        self._behind = Behind(setup, options, passing.graphs, outbox)

    def is_settled(self) -> bool:
        return self._manager.is_settled() and not self._behind.is_behind()

    # Starting

    def start(self, now: Micros, decision: Decision) -> None:
        """Everybody knows the first graph."""

    def resume(self, now: Micros) -> None:
        self._counting.ask(now)
        self._passing.sources.pump_all(now)
        self.ask(now)
        self._manager.resume(now)
        self._follow(now)
        self._old = {number: self._graphs.stages[number].end() for number in sorted(self._graphs.stages)}
        self._ask_parents(now)

    def _ask_parents(self, now: Micros) -> None:
        """A parent that has told this site everything says no more by itself, and this site has forgotten what it heard
        before the restart: ask until it is told again."""
        is_waiting = False
        for number in sorted(self._old):
            stage = self._graphs.find(number)
            if stage is not None and stage.parent >= 0 and stage.first < self._old[number]:
                self._passing.parent.owe_ack(now, stage)
                is_waiting = True
        if is_waiting:
            self._outbox.set_timer(OLD, 0, now + 16 * self._resend_us)

    def recall(self, record: Record) -> None:
        if isinstance(record, Opened):
            self._recall_opened(record.decision)
        elif isinstance(record, Planned):
            self._recall_newest(record.decision)
        elif isinstance(record, (Promised, Voted, Abstains)):
            self._manager.recall(record)
        elif isinstance(record, Counted):
            self._passing.places.on_counted(record)

    # After a lost disk

    def on_anew(self, now: Micros, source: SiteId, anew: Anew) -> None:
        self._maybe_learn(now, self._manager.note_anew(now, source, anew.incarnation))
        self._beginning.answer(source, anew, self._manager.instance(), self._graphs.newest)

    def begin(self, now: Micros, graph: Decision) -> None:
        newest = self._beginning.newest()
        self._records.persist(Planned(newest))
        self._recall_newest(newest)
        self._passing.outlets.start_graph()
        if self._site in graph.concerned:
            self._outbox.send(newest.by, Heard(newest.number, graph.number))
        self._follow(now)

    def _recall_newest(self, decision: Decision) -> None:
        self._graphs.learn(decision)
        self._manager.recall_newest(decision)
        self._asked.on_graph(decision)

    def _recall_opened(self, decision: Decision) -> None:
        if decision.number > 0:
            self._switch(decision)
        else:
            self._graphs.restart(decision)

    def records_needed(self) -> int:
        return 3

    def fold(self) -> list[Record]:
        return [Planned(self._graphs.newest), *self._manager.fold()]

    # Asking for a change

    def ask(self, now: Micros) -> None:
        """Of the manager; in vain several times, of oneself."""
        manager = self._graphs.newest.by
        is_manager = manager == self._site or self._asked_in_vain >= ASKED_MAX
        for change in self._asked.changes():
            if is_manager:
                self._maybe_learn(now, self._manager.note_change(now, self._site, change))
            else:
                self._outbox.send(manager, change)
        if not self._asked.is_empty() and not self._change_armed:
            self._change_armed = True
            delay = 2 * self._resend_us << min(self._asked_in_vain, BACKOFF_MAX)
            self._outbox.set_timer(CHANGE, 0, now + delay)

    # What comes

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, (Pass, Close, Submit)) and message.graph > self._graphs.present.number:
            self._hold(source, message)
        elif isinstance(message, Pass):
            self._on_pass(now, source, message)
        elif isinstance(message, Submit):
            self._on_submit(now, source, message)
        elif isinstance(message, Ack):
            self._on_ack(now, source, message)
        elif isinstance(message, Null):
            self._on_null(now, source, message)
        elif isinstance(message, Close):
            self._on_close(now, source, message)
        elif isinstance(message, Ask):
            self._counting.on_ask(source, message)
        elif isinstance(message, Places):
            self._on_places(now, source, message)
        else:
            self._on_manager_message(now, source, message)

    def _on_manager_message(self, now: Micros, source: SiteId, message: Message) -> None:
        manager = self._manager
        if isinstance(message, Change):
            self._maybe_learn(now, manager.note_change(now, source, message))
        elif isinstance(message, Decided):
            self._on_decided(now, source, message.decision)
        elif isinstance(message, Heard):
            self._maybe_learn(now, manager.on_heard(now, source, message))
        elif isinstance(message, Hello):
            self._on_hello(source, message)
        elif isinstance(message, Prepare):
            manager.on_prepare(now, source, message)
        elif isinstance(message, Report):
            self._maybe_learn(now, manager.on_report(now, source, message))
        elif isinstance(message, Accept):
            manager.on_accept(now, source, message)
        elif isinstance(message, Accepted):
            self._maybe_learn(now, manager.on_accepted(source, message))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == COUNT:
            self._counting.on_timer(now, key)
        elif timer == CHANGE:
            self._change_armed = False
            self._asked_in_vain += 1
            self.ask(now)
        elif timer == OLD:
            self._ask_parents(now)
        elif timer == BEHIND:
            self._behind.on_timer(now)
        elif timer in (MANAGE, PUSH):
            self._maybe_learn(now, self._manager.on_timer(now, timer))

    def _hold(self, source: SiteId, message: Pass | Close | Submit) -> None:
        """A message of a graph that is not yet open here: perhaps this site has missed that it was decided."""
        if message.graph > self._graphs.newest.number and self._held.is_empty():
            self._outbox.send(source, Hello(self._graphs.newest.number))
        self._held.put(source, message)

    def _on_pass(self, now: Micros, source: SiteId, message: Pass) -> None:
        stage = self._graphs.find(message.graph)
        if stage is not None and source == stage.parent:
            number = self._passing.parent.number_of(message)
            if number != NOT_FOR_US:
                self._passing.parent.hear_stable(now, stage, message)
                self._put_early(now, stage, number, message)

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        if submit.graph < self._graphs.present.number:
            self._tell(source, submit.graph)
        else:
            self._passing.primary.on_submit(now, source, submit)

    def _on_close(self, now: Micros, source: SiteId, close: Close) -> None:
        stage = self._graphs.find(close.graph)
        if stage is not None and source == stage.parent and is_sound_tree(close.decision, self._sites):
            self._put_early(now, stage, close.number, close)

    def _put_early(self, now: Micros, stage: Stage, number: int, message: Pass | Close) -> None:
        if self._passing.parent.put_early(stage, number, message):
            self._take_early(now)
        self._passing.parent.owe_ack(now, stage)

    def _take_early(self, now: Micros) -> None:
        """Take what has come from the parent; if that is all of the tree, go on to the next."""
        decision = self._passing.parent.take_early(now)
        if decision is not None and self._maybe_close(now, decision):
            self._follow(now)
        self._passing.parent.watch_gap(now)

    def _on_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        is_over = ack.graph < self._graphs.present.number and self._graphs.find(ack.graph) is None
        if ack.stream == 0 and is_over:
            if ack.stable < ack.end:  # everybody has all of it; the child has not heard, or has forgotten in a crash
                self._outbox.send(source, Null(ack.graph, 0, ack.end, ack.end))
        else:
            self._passing.on_ack(now, source, ack)

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        if null.stream > 0 and null.graph < self._graphs.present.number:
            self._tell(source, null.graph)
            return
        is_known = self._passing.on_null(now, source, null)
        if not is_known and null.graph < self._graphs.present.number:  # it is over here: everybody has all of it
            self._outbox.send(source, Ack(null.graph, 0, null.end, null.end, null.stable, ()))

    def _on_places(self, now: Micros, source: SiteId, answer: Places) -> None:
        if self._counting.on_places(source, answer):
            self._passing.primary.on_counted(now, answer.group)
            self._passing.sources.pump_all(now)
            self._take_early(now)
            self._follow(now)

    # Who is behind

    def _tell(self, target: SiteId, number: int) -> None:
        """Somebody speaks of a graph that is over."""
        if self._graphs.newest.number > number:
            self._outbox.send(target, Decided(self._graphs.newest))

    def _on_hello(self, source: SiteId, hello: Hello) -> None:
        self._tell(source, hello.number)
        if hello.number > self._graphs.newest.number:
            self._outbox.send(source, Hello(self._graphs.newest.number))

    def _on_decided(self, now: Micros, source: SiteId, decision: Decision) -> None:
        if not is_sound_configuration(decision, self._sites):
            return
        if decision.number > self._graphs.newest.number:
            self._learn(now, decision)
        self._outbox.send(source, Heard(self._graphs.newest.number, self._graphs.present.number))

    # From one graph to the next

    def _maybe_learn(self, now: Micros, decision: Decision | None) -> bool:
        """Whether this site, as manager, has just brought a decision about."""
        if decision is not None:
            self._learn(now, decision)
        return decision is not None

    def _learn(self, now: Micros, decision: Decision) -> None:
        """A newer graph is decided: sources turn to its primary destinations, roots close."""
        following: Decision | None = decision
        while following is not None:
            self._records.persist(Planned(following))
            self._graphs.learn(following)
            self._asked.on_graph(following)
            self._asked_in_vain = 0
            self._passing.outlets.start_graph()
            following = self._manager.on_newest(now, following)
        self._follow(now)
        self._counting.ask(now)
        self._passing.sources.pump_all(now)

    def _follow(self, now: Micros) -> None:
        """If nobody is above this site: it closes its tree when the graph that ends it is decided."""
        while self._is_above_all():
            following = self._next_graph()
            if following is None or not self._maybe_close(now, following):
                break
        self._behind.watch(now)

    def _is_above_all(self) -> bool:
        """Whether this site has no parent, or one that has begun anew since and knows nothing of this tree."""
        parent = self._graphs.present.parent
        if parent < 0:
            return True
        return incarnation_of(self._graphs.newest, parent) > incarnation_of(self._graphs.decision(), parent)

    def _next_graph(self) -> Decision | None:
        """The graph that ends this site's tree, if that is decided."""
        present = self._graphs.decision()
        newest = self._graphs.newest
        for graph in newest.pending:
            if graph.number > present.number and ends_tree(opened_as(graph), present, self._site):
                return opened_as(graph)
        if newest.number > present.number and ends_tree(newest, present, self._site):
            return bare(newest)
        return None

    def _maybe_close(self, now: Micros, decision: Decision) -> bool:
        """Close the present tree and open the next, if this site may."""
        closed = self._graphs.present
        if decision.number <= closed.number or not self._counting.is_settled():
            return False
        self._records.persist(Opened(decision))
        self._switch(decision)
        self._open(now, closed)
        return True

    def _switch(self, decision: Decision) -> None:
        """Close the present tree and open the next; also when records are read back after a crash."""
        closed = self._graphs.present
        closed.close(decision)
        opened = self._graphs.add(decision)
        self._passing.places.join(closed.graph, opened.graph)
        self._passing.start_graph()

    def _open(self, now: Micros, closed: Stage) -> None:
        """What opening a tree makes this site do."""
        decision = self._graphs.decision()
        self._behind.start_graph()
        self._passing.application.see_graph(closed, self._graphs.present)
        self._passing.children.pump_all(now, closed)
        self._passing.children.progress(now, closed)
        self._passing.parent.start_graph()
        manager = self._graphs.newest.by
        if self._site in decision.concerned and manager != self._site:
            self._outbox.send(manager, Heard(self._graphs.newest.number, decision.number))
        self._counting.ask(now)
        self._passing.sources.pump_all(now)
        for source, message in self._held.take_all():
            self.on_message(now, source, message)
            self._passing.finish(now)
