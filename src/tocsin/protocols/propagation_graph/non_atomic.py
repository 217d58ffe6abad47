"""Non-atomic delivery: section 5.2.1 of the paper. A graph without the failed site opens.

| paper                                              | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| failures are detected, the manager is informed     | detector.py, wishes.py                                   |
| the manager closes, and determines what is missing | deciding.py, votes.py                                    |
| survivors install what they miss                   | `_install`, fetching.py                                  |
| the new graph opens                                | `_complete`, `_open`                                     |
| sources resend by source sequence number           | `_switch`: outlets start over, the primary says where    |
| the failed site rolls back its tail and redelivers | closing.py: the same as for survivors                    |

We differ: the graph is decided by a majority of all sites (deciding.py), so that a suspicion may be wrong, any number
of managers may work at once, and a partition cannot give two lines of graphs. Group changes go the same way. Every
site, survivor or not, goes through the same steps: take back what does not count, fetch what counts and is missing, in
the order of the keys, then open the next graph.
"""

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.anew import Beginning
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.ballots import GraphBallots
from tocsin.protocols.propagation_graph.closing import Closing
from tocsin.protocols.propagation_graph.decided import DecidedGraphs
from tocsin.protocols.propagation_graph.deciding import GRACE, PUSH, Deciding
from tocsin.protocols.propagation_graph.detector import BEAT, Detector
from tocsin.protocols.propagation_graph.fetching import FETCH, Fetching
from tocsin.protocols.propagation_graph.held import Held
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import (
    Ack,
    Anew,
    Change,
    Decided,
    Decision,
    Fetch,
    Gone,
    Hello,
    Null,
    Pass,
    Submit,
    Supply,
    Wish,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.parent import NOT_FOR_US
from tocsin.protocols.propagation_graph.records import (
    Abstains,
    Begun,
    Decide,
    Forgotten,
    Kept,
    Lacking,
    Learned,
    Opened,
    Promised,
    Voted,
)
from tocsin.protocols.propagation_graph.recovery import Recovery
from tocsin.protocols.propagation_graph.soundness import is_sound_decision, is_sound_next
from tocsin.protocols.propagation_graph.stage import Stage
from tocsin.protocols.propagation_graph.standing import Standing
from tocsin.protocols.propagation_graph.votes import resolved
from tocsin.protocols.propagation_graph.watching import Watching
from tocsin.protocols.propagation_graph.wishes import WISH, Wishes


class NonAtomicRecovery(Recovery):
    """How a site goes from one graph to the next when failed sites are left out."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        passing: MessagePassing,
        history: History,
        beginning: Beginning,
        asked: AskedChanges,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._passing = passing
        self._graphs = passing.graphs
        self._history = history
        self._asked = asked
        self._records = records
        self._outbox = outbox
        self._beginning = beginning
        self._held = Held()
        self._decided = DecidedGraphs(outbox)
        self._ballots = GraphBallots(setup, records)
        self._standing = Standing(setup, passing.graphs, passing.places, self._decided, self._ballots, outbox)
        self._detector = Detector(setup, options, passing.graphs, passing.outlets, outbox)
        self._wishes = Wishes(
            setup, options, passing.graphs, self._detector, self._decided, self._standing, asked, outbox
        )
        self._watching = Watching(setup, passing, self._detector, self._wishes, self._decided, self._standing)
        self._fetching = Fetching(setup, options, passing.graphs, history, passing.application, outbox)
        self._closing = Closing(passing, history, self._fetching, records)
        self._deciding = Deciding(
            setup,
            options,
            passing.graphs,
            passing.places,
            self._detector,
            self._wishes,
            self._decided,
            self._standing,
            self._ballots,
            self._fetching,
            outbox,
        )

    def is_settled(self) -> bool:
        if self._graphs.present.stopped or self._decided.learned is not None or self._standing.is_away():
            return False
        return self._detector.is_sure() and not self._wishes.wants_graph()

    # Starting

    def start(self, now: Micros, decision: Decision) -> None:
        self._decided.start(decision)
        self._detector.watch(now)

    def resume(self, now: Micros) -> None:
        self._passing.sources.pump_all(now)
        self.ask(now)
        self._standing.say_to_all()
        self._detector.watch(now)
        self._install(now)
        if self._decided.learned is None and self._decided.find(self._graphs.present.number + 1) is not None:
            self._go_on(now)
        self._wishes.consider(now)

    def on_anew(self, now: Micros, source: SiteId, anew: Anew) -> None:
        self._watching.on_anew(now, source, anew)
        instance = max(self._ballots.number, self._graphs.present.number + 1)
        self._beginning.answer(source, anew, instance, self._graphs.decision())

    def begin(self, now: Micros, graph: Decision) -> None:
        self._standing.say_to_all()
        self._detector.watch(now)

    def recall(self, record: Record) -> None:
        if isinstance(record, Opened):
            self._recall_opened(record.decision)
        elif isinstance(record, Begun):
            self._decided.start(record.decision)
            self._history.let_go_before(record.decision.number)
            self._ballots.start_graph(record.decision.number + 1)
        elif isinstance(record, Abstains):
            self._ballots.abstain(record)
        elif isinstance(record, Promised):
            self._graphs.present.stop()
            self._ballots.recall_promise(record)
        elif isinstance(record, Voted):
            self._ballots.recall_vote(record)
        elif isinstance(record, Learned):
            self._decided.learn(record.decision)
            self._closing.take_back(record.decision)
        elif isinstance(record, Lacking):
            self._history.let_go_before(record.graph + 1)
        elif isinstance(record, Decide):
            self._decided.note(record.decision)
            self._ballots.start_graph(record.decision.number + 1)
        elif isinstance(record, Kept):
            self._history.add(record.entry)
        elif isinstance(record, Forgotten):
            self._history.recall(record)

    def _recall_opened(self, decision: Decision) -> None:
        if decision.number > 0:
            self._switch(decision)
        else:
            self._graphs.restart(decision)
            self._decided.start(decision)

    def records_needed(self) -> int:
        return self._history.count()

    def fold(self) -> list[Record]:
        """What a site that is away may need, and how far the next graph is."""
        records: list[Record] = []
        records.extend([Decide(decision) for decision in self._decided.all()])
        records.extend(self._history.fold())
        records.extend(self._ballots.fold())
        if self._decided.learned is not None:
            records.append(Learned(self._decided.learned))
        return records

    # What comes

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        self._detector.hear(source)
        if isinstance(message, (Pass, Submit)) and message.graph > self._graphs.present.number:
            self._hold(source, message)
        elif isinstance(message, Pass):
            self._on_pass(now, source, message)
        elif isinstance(message, Submit):
            self._on_submit(now, source, message)
        elif isinstance(message, Ack):
            self._passing.on_ack(now, source, message)
        elif isinstance(message, Null):
            self._on_null(now, source, message)
        elif isinstance(message, Hello):
            self._watching.on_hello(now, source, message)
        elif isinstance(message, Wish):
            self._watching.on_wish(now, source, message)
        elif isinstance(message, Change):
            self._watching.on_change(now, source, message)
        elif isinstance(message, (Fetch, Supply, Gone)):
            self._on_fetching_message(now, source, message)
        elif isinstance(message, Decided):
            self._on_decided(now, message.decision)
        else:
            self._maybe_learn(now, self._deciding.on_message(now, source, message))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == BEAT:
            self._watching.on_beat(now)
        elif timer == WISH:
            if self._wishes.on_timer():
                self._maybe_learn(now, self._deciding.prepare(now))
                self._wishes.wait_for_all(now)
        elif timer == GRACE:
            self._maybe_learn(now, self._deciding.on_grace_timer(now))
        elif timer == PUSH:
            self._deciding.on_push_timer(now)
        elif timer == FETCH:
            self._fetching.on_timer(self._decided.learned)
            self._on_fetched(now)

    def _hold(self, source: SiteId, message: Message) -> None:
        """A message of a graph that is not yet open here: perhaps this site has missed that it was decided."""
        if self._held.is_empty():
            self._standing.say(source)
        self._held.put(source, message)

    def _on_pass(self, now: Micros, source: SiteId, message: Pass) -> None:
        stage = self._graphs.find(message.graph)
        if stage is not None and source == stage.parent:
            number = self._passing.parent.number_of(message)
            if number != NOT_FOR_US:
                self._passing.parent.hear_stable(now, stage, message)
                if self._passing.parent.put_early(stage, number, message):
                    self._passing.parent.take_early(now)
                    self._passing.parent.watch_gap(now)
                self._passing.parent.owe_ack(now, stage)

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        if submit.graph < self._graphs.present.number:
            self._decided.send_after(source, submit.graph)  # the sender has not heard of it
        else:
            self._passing.primary.on_submit(now, source, submit)

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        if null.graph < self._graphs.present.number:
            self._decided.send_after(source, null.graph)  # the sender was left out, and has not heard of it
        elif null.graph > self._graphs.present.number:
            if self._decided.learned is None:
                self._standing.say(source)
        else:
            self._passing.on_null(now, source, null)

    def ask(self, now: Micros) -> None:
        self._watching.ask(now)

    # From a decision to the next graph: take back, fetch, open

    def _on_decided(self, now: Micros, decision: Decision) -> None:
        present = self._graphs.decision()
        if decision.number <= present.number or self._decided.find(decision.number) is not None:
            return
        if decision.number == present.number + 1:
            is_sound = is_sound_next(decision, present, self._sites)
        else:
            is_sound = is_sound_decision(decision, present, self._sites)
        if is_sound:
            self._decided.note(decision)
            if self._decided.learned is None:
                self._go_on(now)

    def _go_on(self, now: Micros) -> None:
        """To the next graph, if it is decided, and so is all that it leaves open."""
        following = self._decided.find(self._graphs.present.number + 1)
        if following is not None and self._decided.learned is None:
            if self._standing.is_waiting():
                self._wait(now)
            else:
                self._learn(now, resolved(following, self._decided.ends()))

    def _wait(self, now: Micros) -> None:
        """For the end of a dead group; take part in deciding on it."""
        base = self._standing.base()
        if self._ballots.number <= base.number:
            for number in range(self._graphs.present.number + 1, base.number + 1):
                known = self._decided.find(number)
                if known is not None:
                    self._records.persist(Decide(known))
            self._wishes.cancel_timer()
            self._wishes.start_graph(base)
            self._deciding.cancel_timers()
            self._deciding.on_learned()
            self._deciding.start_graph()
        self._graphs.present.stop()
        self._wishes.note_revival(self._standing.hello())
        self._standing.say_to_all()
        self._wishes.consider(now)

    def _maybe_learn(self, now: Micros, decision: Decision | None) -> bool:
        """Whether this site, as manager, has just decided on a graph."""
        if decision is not None:
            self._decided.note(decision)
            self._go_on(now)
        return decision is not None

    def _learn(self, now: Micros, decision: Decision) -> None:
        """The next graph is decided: undo what does not count of the present one, then fetch what is missing."""
        self._decided.learn(decision)
        self._closing.undo(decision)
        self._deciding.on_learned()
        self._install(now)

    def _install(self, now: Micros) -> None:
        """Open the decided graph, if there is one, once nothing is missing of the present one."""
        decision = self._decided.learned
        if decision is not None:
            missing = self._fetching.missing(decision)
            if missing:
                self._fetching.fetch(now, decision, missing)
            else:
                self._complete(now, decision)

    def _on_fetching_message(self, now: Micros, source: SiteId, message: Fetch | Supply | Gone) -> None:
        decision = self._decided.learned
        if isinstance(message, Fetch):
            self._fetching.on_fetch(source, message)
        elif isinstance(message, Gone):
            if decision is not None and self._fetching.on_gone(source, message, decision):
                self._fetch_more(now, decision, message.group)
        else:
            if decision is None:
                decision = self._deciding.next
            if decision is not None and self._fetching.on_supply(message, decision):
                self._fetch_more(now, decision, message.group)

    def _fetch_more(self, now: Micros, decision: Decision, group: GroupId) -> None:
        if not self._fetching.fetch_more(now, decision, group):
            self._on_fetched(now)

    def _on_fetched(self, now: Micros) -> None:
        """Go on with the graph that is decided, or that is to be."""
        self._install(now)
        self._maybe_learn(now, self._deciding.gather(now))

    def _complete(self, now: Micros, decision: Decision) -> None:
        """Deliver what was missing, in the order of the keys, and open the next graph."""
        closed = self._graphs.present
        self._closing.complete(decision)
        self._records.persist(Opened(decision))
        self._fetching.stop()
        self._passing.children.cancel_timers(closed)
        self._wishes.cancel_timer()
        self._deciding.cancel_timers()
        self._switch(decision)
        self._open(now, closed)
        self._detector.watch(now)
        if self._decided.find(self._graphs.present.number + 1) is not None:
            self._go_on(now)
        else:
            self._wishes.consider(now)

    def _switch(self, decision: Decision) -> None:
        """Leave the present graph for the next; also when records are read back after a crash."""
        closed = self._graphs.present
        self._graphs.replace(decision)
        self._decided.on_opened(decision)
        self._passing.learn_places(decision)
        if not decision.away:  # all reported, that is, all have everything of the graphs before the last
            self._history.forget_before(closed.number)
        self._passing.start_graph()
        self._asked.on_graph(decision)
        self._ballots.keep_lost(decision)
        self._deciding.start_graph()
        self._fetching.start_graph()
        self._detector.start_graph()
        self._wishes.start_graph(decision)

    def _open(self, now: Micros, closed: Stage) -> None:
        """What opening a graph makes this site do."""
        self._passing.application.see_graph(closed, self._graphs.present)
        self._passing.parent.start_graph()
        self._passing.sources.pump_all(now)
        for source, message in self._held.take_all():
            self.on_message(now, source, message)
            self._passing.finish(now)
