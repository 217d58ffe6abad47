"""Message passing down the trees: appendix I of the paper, over reliable edges (sections 3.2 and 5.2.2).

| paper                                   | here                                       |
|-----------------------------------------|--------------------------------------------|
| receive_message, check_queue            | `_on_pass`, `_take_early`                  |
| send_message                            | `_process`, `_send_entry`, `_pump_edge`    |
| next seq# in, next seq# out             | `Stage.next_inward`, `TreeEdge.end`        |
| wait queue                              | `Stage.early`                              |
| local queue                             | `Outbox.deliver`                           |
| say_I'm_alive, null messages            | RESEND, `Null`; BEAT in watching.py        |

The one order of a graph. Every message gets a key from its primary destination p: the key of the last message that p
has taken from its parent, followed by (sites - level of p, p, messages ordered by p so far). Every site takes messages
in increasing order of their keys (compared as tuples): what p orders comes after the message whose key its key begins
with, and before any later message from p's parent, since only ancestors of p, at smaller levels, extend that key
there. So keys are one total order of all messages of a graph that every site respects: the order has no cycle over any
number of sites.
"""

from typing import Final

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.propagation_graph.edges import GAPS_MAX, TreeEdge, gaps, wanted
from tocsin.protocols.propagation_graph.graph import AS_FOUND, Graph
from tocsin.protocols.propagation_graph.messages import Ack, Close, Decision, Null, Pass
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.record_messages import Passed
from tocsin.protocols.propagation_graph.stage import Stage

RESEND: Final = "RESEND"  # key: graph * sites + child; the edge is not done
ACK: Final = "ACK"  # key 0: to the parents; 1 + source: to a source
GAP: Final = "GAP"  # a message from the parent is missing

BACKOFF_MAX: Final = 4  # null messages slow down to one in 2^4 time-outs: a crowded medium must be able to recover
FUTURE_MAX: Final = 1_024  # messages of graphs not yet open here that are held; more are dropped, and asked for later


class Passing(Machine):
    """The message passing protocol among the stages, that is, graphs, of one site."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._outbox = outbox
        self._resend_us: int = options.resend_us
        self._ack_us: int = options.ack_us
        self._gap_us: int = options.gap_us
        self._window: int = options.window
        self._balance: int = AS_FOUND if options.balance is None else options.balance
        groups = tuple([tuple(members) for members in setup.groups])
        self._stages: dict[int, Stage] = {}  # by number: the present graph, and older ones not yet over
        self._stage: Stage = self._add_stage(Decision(0, groups, ()))  # the present graph
        self._places: dict[tuple[GroupId, SiteId], int] = {}  # by group and source: next place; of groups it handles
        self._future: list[tuple[SiteId, Message]] = []  # messages of graphs that are not yet open here
        self._acking: set[int] = set()  # keys of ACK timers that are set
        self._gap_armed = False
        self._stopped = False  # non-atomic: this site has reported, and takes nothing more in this graph
        self._released = False  # in this step something became stable that others may wait for

    def quiet(self) -> bool:
        for stage in self._stages.values():  # noqa: SIM110
            if not stage.is_settled():
                return False
        return True

    def _graph_of(self, decision: Decision) -> Graph:
        return Graph(decision, self._sites, self._site, self._balance)

    def _add_stage(self, decision: Decision) -> Stage:
        stage = Stage(self._graph_of(decision))
        self._stages[stage.number] = stage
        return stage

    def _persist(self, record: Record) -> None:
        self._outbox.persist(record)

    # Down the tree

    def _delivers(self, stage: Stage, group: GroupId) -> bool:
        return stage.graph.has_member(group, self._site)

    def _process(self, now: Micros, record: Passed) -> None:
        """Take a message in this site's order: keep it, deliver it, send it on."""
        stage = self._stage
        self._persist(record)
        self._note(stage, record)
        if self._delivers(stage, record.group):
            self._deliver(record)
        self._send_entry(now, stage, record)
        self._progress(now, stage)

    def _deliver(self, record: Passed) -> None:
        self._outbox.deliver(record.group, record.origin, record.seqno, record.payload)

    def _note(self, stage: Stage, record: Passed) -> None:
        """What a record changes here; also when it is read back after a crash."""
        stage.take(record)
        self._places[(record.group, record.origin)] = record.place + 1

    def _send_entry(self, now: Micros, stage: Stage, record: Passed) -> None:
        """One message to all children concerned that have got everything before it."""
        together: list[SiteId] = []
        edges: list[tuple[int, int]] = []
        for child in stage.graph.routes.get(record.group, []):
            edge = stage.edges[child]
            if edge.next_send == edge.end - 1 and edge.end <= edge.acked + self._window:
                together.append(child)
                edges.append((child, edge.next_send))
                edge.next_send += 1
            self._arm_edge(now, stage, child, edge)
        if together:
            self._outbox.multicast(together, self._pass(record, tuple(edges)))

    def _pass(self, record: Passed, edges: tuple[tuple[int, int], ...]) -> Pass:
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

    def _pump_edge(self, now: Micros, stage: Stage, child: SiteId) -> None:
        edge = stage.edges[child]
        while edge.next_send < min(edge.end, edge.acked + self._window):
            self._send_number(stage, child, edge.next_send)
            edge.next_send += 1
        self._arm_edge(now, stage, child, edge)

    def _send_number(self, stage: Stage, child: SiteId, number: int) -> None:
        record = stage.entry(stage.edges[child].index_of(number))
        if record is not None:
            self._outbox.send(child, self._pass(record, ((child, number),)))
        elif stage.closing is not None:
            self._outbox.send(child, Close(stage.number, number, stage.closing))

    def _arm_edge(self, now: Micros, stage: Stage, child: SiteId, edge: TreeEdge) -> None:
        if not edge.armed and not edge.is_done():
            edge.armed = True
            self._outbox.set_timer(RESEND, stage.number * self._sites + child, now + self._resend_us)

    def _on_edge_timer(self, now: Micros, key: int) -> None:
        stage = self._stages.get(key // self._sites)
        child = key % self._sites
        if stage is None or stage.ended or child not in stage.edges:
            return
        edge = stage.edges[child]
        edge.armed = False
        if edge.is_done():
            return
        self._outbox.send(child, Null(stage.number, 0, edge.end, edge.floor))
        edge.tries = min(edge.tries + 1, BACKOFF_MAX)
        edge.armed = True
        self._outbox.set_timer(RESEND, key, now + (self._resend_us << edge.tries))

    def _on_edge_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        stage = self._stages.get(ack.graph)
        if stage is None or stage.ended or source not in stage.edges:
            return
        edge = stage.edges[source]
        edge.on_ack(ack.end, ack.settled)
        edge.told = min(ack.stable, edge.floor)  # a child that crashed has to be told again; one may know more than we
        for number in wanted(ack.missing, max(edge.acked, edge.floor), edge.next_send, self._window):
            self._send_number(stage, source, number)
        self._pump_edge(now, stage, source)
        self._progress(now, stage)
        if edge.is_done() and edge.armed:
            edge.armed = False
            self._outbox.cancel_timer(RESEND, stage.number * self._sites + source)

    def _progress(self, now: Micros, stage: Stage) -> None:
        """Who has what has changed: forget what everybody has, and pass the news on."""
        if stage.ended:
            return
        before = stage.first
        for record in stage.trim():
            self._on_trimmed(now, record)
        if stage.first > before:
            self._released = True
            for child in stage.graph.children:
                self._arm_edge(now, stage, child, stage.edges[child])
        if stage.parent >= 0 and stage.said != (stage.next_inward(), stage.settled_inward()):
            stage.news = True
            self._arm_ack(now, 0)

    def _on_trimmed(self, now: Micros, record: Passed) -> None:
        """Everybody has a message; see sourcing.py."""

    # The receiving end

    def _on_pass(self, now: Micros, source: SiteId, message: Pass) -> None:
        stage = self._stages.get(message.graph)
        if stage is None or source != stage.parent:
            return
        for child, number in message.edges:
            if child == self._site:
                self._put_early(now, stage, number, message)
                return

    def _put_early(self, now: Micros, stage: Stage, number: int, message: Pass | Close) -> None:
        following = stage.next_inward()
        open_here = stage.closing is None and not self._stopped
        if open_here and following <= number < following + self._window and self._is_sound(message):
            stage.early[number] = message
            self._take_early(now)
        stage.news = True
        self._arm_ack(now, 0)

    def _is_sound(self, message: Pass | Close) -> bool:
        if isinstance(message, Pass):
            return message.group < len(self._stage.graph.primary) and message.origin < self._sites
        return True

    def _take_early(self, now: Micros) -> None:
        """Take what has come from the parent, in the order of its numbers."""
        stage = self._stage
        while stage is self._stage and stage.next_inward() in stage.early:
            number = stage.next_inward()
            message = stage.early.pop(number)
            if isinstance(message, Close):
                if not self._maybe_close(now, message.decision):
                    stage.early[number] = message
                    break
            else:
                record = Passed(
                    message.graph,
                    True,
                    message.group,
                    message.origin,
                    message.seqno,
                    message.place,
                    message.rank,
                    message.key,
                    message.payload,
                )
                self._process(now, record)
        if self._stage.early and not self._gap_armed:
            self._gap_armed = True
            self._outbox.set_timer(GAP, 0, now + self._gap_us)

    def _maybe_close(self, now: Micros, decision: Decision) -> bool:
        """Close the present graph, if this site may; see changing.py."""
        return False

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        stage = self._stages.get(null.graph)
        if stage is None:
            if null.graph > self._stage.number:
                self._on_newer_null(source)
            else:
                self._on_older_null(source, null)
        elif source == stage.parent and not stage.ended:
            if null.stable <= stage.next_inward():
                stage.parent_stable = max(stage.parent_stable, null.stable)
            self._progress(now, stage)
            self._send_ack(stage, null.end)

    def _on_newer_null(self, source: SiteId) -> None:
        """A null message of a graph that is not yet open here; see recovering.py."""

    def _on_older_null(self, source: SiteId, null: Null) -> None:
        """A null message of a graph that is over here: everybody has all of it."""
        self._outbox.send(source, Ack(null.graph, 0, null.end, null.end, null.stable, ()))

    def _send_ack(self, stage: Stage, end: int) -> None:
        """Tell the parent what is here; `end`: how many messages it says there are."""
        stage.news = False
        following = stage.next_inward()
        known = sorted(stage.early)
        reach = min(end, following + self._window)  # the sender has sent no further
        if following < reach and (not known or known[-1] < reach):
            known.append(reach)  # what lies before it is missing
        missing = gaps(following, known).to_wire(GAPS_MAX)
        settled = stage.settled_inward()
        stage.said = (following, settled)
        self._outbox.send(stage.parent, Ack(stage.number, 0, following, settled, stage.parent_stable, missing))

    def _arm_ack(self, now: Micros, key: int) -> None:
        if key not in self._acking:
            self._acking.add(key)
            self._outbox.set_timer(ACK, key, now + self._ack_us)

    def _on_ack_timer(self, key: int) -> None:
        self._acking.discard(key)
        for number in sorted(self._stages):
            if self._stages[number].news and not self._stages[number].ended:
                self._send_ack(self._stages[number], 0)

    def _on_gap(self, now: Micros) -> None:
        self._gap_armed = False
        if self._stage.early:
            self._send_ack(self._stage, 0)
            self._gap_armed = True
            self._outbox.set_timer(GAP, 0, now + self._resend_us)
