"""The message passing protocol (MP) of one site: section 3.2 and appendix I of the paper.

A broadcast goes from its source (sources.py) to the primary destination of its group (primary.py), which gives it a
place in its order (order.py); from there it goes down the tree, from parents (children.py) to children (parent.py).
This part makes the parts and hands them what comes. Which graph is the present one is up to the recovery.
"""

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.acks import ACK, FIRST_SOURCE, TO_PARENTS, AckTimers
from tocsin.protocols.propagation_graph.application import Application
from tocsin.protocols.propagation_graph.children import RESEND, Children
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.messages import Ack, Decision, Null
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.order import Order
from tocsin.protocols.propagation_graph.outlets import Outlets
from tocsin.protocols.propagation_graph.parent import GAP, Parent
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.primary import Primary
from tocsin.protocols.propagation_graph.records import Begun, Closed, Known, Passed, Sent, Settled, Staged
from tocsin.protocols.propagation_graph.sources import SUBMIT, Sources
from tocsin.protocols.propagation_graph.submissions import Submissions


class MessagePassing:
    """Has the parts through which messages flow; each owns its state."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        history: History | None,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self.history = history  # what a site that is away may need; None where none is ever left out
        self.graphs = Graphs(setup, options)
        self.places = SourcePlaces(setup.site)
        self.outlets = Outlets(setup, options, self.graphs)
        self.application = Application(setup.site, setup.log, outbox)
        acks = AckTimers(options, outbox)
        self._acks = acks
        self._submissions = Submissions(setup.site, self.graphs, self.places, acks, outbox)
        self.children = Children(
            setup, options, self.graphs, self.places, self.outlets, self._submissions, history, acks, outbox
        )
        self.order = Order(self.graphs, self.places, history, self.children, self.application, records)
        self.parent = Parent(setup, options, self.graphs, self.order, self.children, acks, outbox)
        self.primary = Primary(setup, options, self.graphs, self.places, self._submissions, self.order)
        self.sources = Sources(
            setup,
            options,
            self.graphs,
            self.places,
            self.outlets,
            self.primary,
            self.application,
            records,
            outbox,
        )

    def is_settled(self) -> bool:
        """Whether all that was sent and passed on here has arrived."""
        return self.outlets.is_settled() and self.graphs.is_settled()

    # What comes

    def on_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        if ack.stream == 0:
            self.children.on_ack(now, source, ack)
        else:
            self.sources.on_ack(now, source, ack)

    def on_null(self, now: Micros, source: SiteId, null: Null) -> bool:
        """Answer with what is here; False for a graph that is not known here."""
        if null.stream > 0:
            if null.graph == self.graphs.present.number:
                self._submissions.send_ack(null.stream - 1, source)
            return True
        stage = self.graphs.find(null.graph)
        if stage is None:
            return False
        self.parent.on_null(now, source, stage, null)
        return True

    def on_timer(self, now: Micros, timer: str, key: int) -> bool:
        """Whether it is a timer of message passing."""
        if timer == RESEND:
            self.children.on_timer(now, key)
        elif timer == SUBMIT:
            self.sources.on_timer(now, key)
        elif timer == ACK:
            self._on_ack_timer(key)
        elif timer == GAP:
            self.parent.on_gap_timer(now)
        else:
            return False
        return True

    def _on_ack_timer(self, key: int) -> None:
        self._acks.on_timer(key)
        if key == TO_PARENTS:
            self.parent.on_ack_timer()
        else:
            self._submissions.send_acks(key - FIRST_SOURCE)

    def finish(self, now: Micros) -> None:
        """After each input: take and send what waited for something to become stable, and forget old graphs."""
        if self.children.take_release():
            self.primary.on_released(now)
            self.sources.pump_all(now)
        self.children.end_old_graphs()

    # Graphs and restarts

    def start_graph(self) -> None:
        """What every new graph means for sources and primary destinations; also when it is read back."""
        self._submissions.start_graph()
        self.places.start_graph(self.graphs.present.graph)
        self.outlets.start_graph()

    def learn_places(self, decision: Decision) -> None:
        """A decision says how far sources are, also of groups that have no members any more."""
        self.places.learn(decision.places)
        for group, source, place in decision.places:
            outlet = self.outlets.by_group.get(group)
            if source == self._site and outlet is not None and not decision.groups[group]:
                outlet.end_at(place)

    def begin(self, record: Begun) -> None:
        """This site has begun anew in a graph; also when that is read back."""
        self.graphs.restart(record.decision)
        self.places.learn(record.places)
        self.start_graph()

    def resume(self, now: Micros) -> None:
        """After a restart: go on where this site left off; what the others have is heard again."""
        self.application.resume(len(self.graphs.newest.groups))
        self.outlets.start_over()
        for number in sorted(self.graphs.stages):
            stage = self.graphs.stages[number]
            self.children.progress(now, stage)
            self.children.arm_all(now, stage)
            if stage.parent >= 0:
                self.parent.owe_ack(now, stage)

    def recall(self, record: Record) -> bool:
        """Read a record back; False if it is none of message passing."""
        if isinstance(record, Sent):
            self.outlets.put(record)
        elif isinstance(record, Passed):
            self.order.note(self.graphs.stages[record.graph], record)
        elif isinstance(record, Known):
            self.places.recall(record)
        elif isinstance(record, Settled):
            self.outlets.recall(record)
        elif isinstance(record, Staged):
            self.graphs.recall(record)
        elif isinstance(record, Closed):
            self.graphs.stages[record.graph].recall_closed(record)
        else:
            return False
        return True

    def records_needed(self) -> int:
        """How many records a checkpoint of message passing needs."""
        needed = self.places.count() + self.outlets.count()
        for stage in self.graphs.stages.values():
            needed += len(stage.log) + 2
        return needed

    def fold_graphs(self) -> list[Record]:
        """Of a checkpoint: the places, and the graphs with the messages they keep."""
        records: list[Record] = []
        records.extend(self.places.fold())
        for number in sorted(self.graphs.stages):
            stage = self.graphs.stages[number]
            records.append(stage.fold())
            for entry in stage.log:
                if entry is not None:
                    records.append(entry)
            if stage.closing is not None:
                records.append(Closed(number, stage.closing, bool(stage.log)))
        return records
