"""The edges to the children, in all graphs of a site: what is sent down the trees, and what everybody has.

| paper, appendix I and section 3.2    | here                                    |
|--------------------------------------|-----------------------------------------|
| send_message                         | `send`, `pump`                          |
| next seq# out                        | `TreeEdge.end`                          |
| say_I'm_alive, null messages         | RESEND, `Null`; BEAT in detector.py     |

The paper's edges are reliable by assumption; ours are made so (edges.py). Their acknowledgements also say who has what,
up and down the tree (stage.py): a message that everybody has is forgotten, and its source is told.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.acks import TO_PARENTS, AckTimers
from tocsin.protocols.propagation_graph.edges import TreeEdge, wanted
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.messages import Ack, Close, Null, Pass
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlets
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.stage import Stage
from tocsin.protocols.propagation_graph.submissions import Submissions

RESEND: Final = "RESEND"  # key: graph * sites + child; the edge is not done


class Children:
    """The sending ends of a site's edges."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        places: SourcePlaces,
        outlets: Outlets,
        submissions: Submissions,
        history: History | None,
        acks: AckTimers,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._window: int = options.window
        self._graphs = graphs
        self._places = places
        self._outlets = outlets
        self._submissions = submissions
        self._history = history  # what a site that is away may need; None where none is ever left out
        self._acks = acks
        self._outbox = outbox
        self._released = False  # in this step something became stable that others may wait for

    # Sending

    def send(self, now: Micros, stage: Stage, record: Passed) -> None:
        """The newest message of a graph, in one multicast, to all children concerned that have got everything before
        it."""
        together: list[SiteId] = []
        numbers: list[tuple[int, int, int]] = []
        for child in stage.graph.routes.get(record.group, []):
            edge = stage.edges[child]
            if edge.may_send_last(self._window):
                together.append(child)
                numbers.append((child, edge.next_send, edge.floor))
                edge.sent()
            self._arm(now, stage, child, edge)
        if together:
            self._outbox.multicast(together, _pass(record, tuple(numbers)))

    def pump(self, now: Micros, stage: Stage, child: SiteId) -> None:
        """Send a child what the window allows."""
        edge = stage.edges[child]
        while edge.may_send(self._window):
            self._send_number(stage, child, edge.next_send)
            edge.sent()
        self._arm(now, stage, child, edge)

    def pump_all(self, now: Micros, stage: Stage) -> None:
        for child in stage.graph.children:
            self.pump(now, stage, child)

    def _send_number(self, stage: Stage, child: SiteId, number: int) -> None:
        edge = stage.edges[child]
        record = stage.entry(edge.index_of(number))
        if record is not None:
            self._outbox.send(child, _pass(record, ((child, number, edge.floor),)))
        elif stage.closing is not None:
            self._outbox.send(child, Close(stage.number, number, stage.closing))

    def say_alive(self, stage: Stage) -> None:
        """A null message to every child, needed or not."""
        for child in stage.graph.children:
            self._send_null(stage, child, stage.edges[child])

    def answer(self, stranger: SiteId) -> None:
        """A sign of life to a site that is nobody's neighbour."""
        self._outbox.send(stranger, Null(self._graphs.present.number, 0, 0, 0))

    def _send_null(self, stage: Stage, child: SiteId, edge: TreeEdge) -> None:
        self._outbox.send(child, Null(stage.number, 0, edge.end, edge.floor))

    # Time-outs and acknowledgements

    def _timer_key(self, stage: Stage, child: SiteId) -> int:
        return stage.number * self._sites + child

    def _arm(self, now: Micros, stage: Stage, child: SiteId, edge: TreeEdge) -> None:
        if not edge.armed and not edge.is_done():
            edge.armed = True
            self._outbox.set_timer(RESEND, self._timer_key(stage, child), now + self._resend_us)

    def arm_all(self, now: Micros, stage: Stage) -> None:
        for child in stage.graph.children:
            self._arm(now, stage, child, stage.edges[child])

    def on_timer(self, now: Micros, key: int) -> None:
        stage = self._graphs.find(key // self._sites)
        child = key % self._sites
        if stage is None or stage.ended or child not in stage.edges:
            return
        edge = stage.edges[child]
        edge.armed = False
        if edge.is_done():
            return
        self._send_null(stage, child, edge)
        edge.armed = True
        self._outbox.set_timer(RESEND, key, now + (self._resend_us << edge.tried_in_vain()))

    def on_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        stage = self._graphs.find(ack.graph)
        if stage is None or stage.ended or source not in stage.edges:
            return
        edge = stage.edges[source]
        edge.on_ack(ack.end, ack.settled)
        edge.on_told(ack.stable)
        for number in wanted(ack.missing, max(edge.acked, edge.floor), edge.next_send, self._window):
            self._send_number(stage, source, number)
        self.pump(now, stage, source)
        self.progress(now, stage)
        if edge.is_done() and edge.armed:
            edge.armed = False
            self._outbox.cancel_timer(RESEND, self._timer_key(stage, source))

    def cancel_timers(self, stage: Stage) -> None:
        """The edges of this graph mean nothing any more."""
        for child in stage.graph.children:
            self._outbox.cancel_timer(RESEND, self._timer_key(stage, child))

    def end_old_graphs(self) -> None:
        """Forget the graphs of which everybody has everything."""
        for number in sorted(self._graphs.stages):
            stage = self._graphs.stages[number]
            if stage is not self._graphs.present and stage.is_over():
                self.cancel_timers(stage)
                self._graphs.remove(number)

    # What everybody has

    def progress(self, now: Micros, stage: Stage) -> None:
        """Who has what has changed: forget what everybody has, and pass the news on."""
        if stage.ended:
            return
        before = stage.first
        for record in stage.trim():
            self._on_stable(now, record)
        if stage.first > before:
            self._released = True
            self.arm_all(now, stage)
        if stage.parent >= 0 and stage.inward.has_news(stage.settled_inward()):
            stage.inward.owe_ack()
            self._acks.arm(now, TO_PARENTS)

    def _on_stable(self, now: Micros, record: Passed) -> None:
        """Everybody has a message: where it was ordered here, its source may forget it."""
        if not record.inward:
            self._places.settle(record)
            if record.origin == self._site:
                self._outlets.outlet(record.group).settle(record.place + 1)
            elif record.graph == self._graphs.present.number:
                self._submissions.owe_ack(now, record.group, record.origin)
        if self._history is not None and not self._graphs.decision().away:
            self._history.drop(record)

    def take_release(self) -> bool:
        """Whether something became stable since this was last asked."""
        released = self._released
        self._released = False
        return released


def _pass(record: Passed, edges: tuple[tuple[int, int, int], ...]) -> Pass:
    return Pass(
        record.graph,
        edges,
        record.group,
        record.origin,
        record.seqno,
        record.place,
        record.rank,
        record.key,
        record.payload,
    )
