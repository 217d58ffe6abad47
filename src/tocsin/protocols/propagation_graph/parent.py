"""The edge from the parent: messages come in the order of their numbers, or wait (appendix I, section 3.2).

| paper                                   | here                            |
|-----------------------------------------|---------------------------------|
| receive_message, check_queue            | `put_early`, `take_early`       |
| next seq# in                            | `InEdge.following`              |
| wait queue                              | `InEdge.early`                  |
| local queue                             | `Outbox.deliver`                |
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.acks import TO_PARENTS, AckTimers
from tocsin.protocols.propagation_graph.children import Children
from tocsin.protocols.propagation_graph.edges import GAPS_MAX, gaps
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Ack, Close, Decision, Null, Pass
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.order import Order
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.stage import Stage

GAP: Final = "GAP"  # a message from the parent is missing

NOT_FOR_US: Final = -1


class Parent:
    """The receiving ends of a site's edges: one in the present graph, others in graphs that are closed here."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        order: Order,
        children: Children,
        acks: AckTimers,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._gap_us: int = options.gap_us
        self._window: int = options.window
        self._graphs = graphs
        self._order = order
        self._children = children
        self._acks = acks
        self._outbox = outbox
        self._gap_armed = False  # the GAP timer is set; always while something waits in the present graph

    def number_of(self, message: Pass) -> int:
        """The number of a message on the edge to this site, or NOT_FOR_US."""
        for child, number, _ in message.edges:
            if child == self._site:
                return number
        return NOT_FOR_US

    def hear_stable(self, now: Micros, stage: Stage, message: Pass) -> None:
        """What the parent knows of stability comes with its messages, so that a child keeps little more than it."""
        for child, _, stable in message.edges:
            if child == self._site and stable > stage.inward.stable and not stage.ended:
                stage.inward.hear_stable(stable)
                self._children.progress(now, stage)

    def put_early(self, stage: Stage, number: int, message: Pass | Close) -> bool:
        """Put a message from the parent into the wait queue, if it is new and sound; whether it is there."""
        following = stage.inward.following()
        if stage.is_open() and following <= number < following + self._window and self._is_sound(message):
            stage.inward.put_early(number, message)
            return True
        return False

    def _is_sound(self, message: Pass | Close) -> bool:
        if isinstance(message, Pass):
            return message.group < len(self._graphs.present.graph.primary) and message.origin < self._sites
        return True

    def take_early(self, now: Micros) -> Decision | None:
        """Take what has come from the parent, in the order of its numbers, up to a Close; what that says, if it is next
        and the graph may be closed."""
        inward = self._graphs.present.inward
        while inward.following() in inward.early:
            number = inward.following()
            message = inward.early[number]
            if isinstance(message, Close):
                return message.decision
            inward.pop_early(number)
            self._order.take(now, _passed(message))
        return None

    # Acknowledgements

    def owe_ack(self, now: Micros, stage: Stage) -> None:
        stage.inward.owe_ack()
        self._acks.arm(now, TO_PARENTS)

    def on_null(self, now: Micros, source: SiteId, stage: Stage, null: Null) -> None:
        if source == stage.parent and not stage.ended:
            stage.inward.hear_stable(null.stable)
            self._children.progress(now, stage)
            self._send_ack(stage, null.end)

    def on_ack_timer(self) -> None:
        for number in sorted(self._graphs.stages):
            stage = self._graphs.stages[number]
            if stage.inward.owes_ack and not stage.ended:
                self._send_ack(stage, 0)

    def _send_ack(self, stage: Stage, end: int) -> None:
        """Tell the parent what is here; `end`: how many messages it says there are."""
        inward = stage.inward
        following = inward.following()
        known = sorted(inward.early)
        reach = min(end, following + self._window)  # the sender has sent no further
        if following < reach and (not known or known[-1] < reach):
            known.append(reach)  # what lies before it is missing
        missing = gaps(following, known).to_wire(GAPS_MAX)
        settled = stage.settled_inward()
        inward.acknowledge(settled)
        self._outbox.send(stage.parent, Ack(stage.number, 0, following, settled, inward.stable, missing))

    # Gaps

    def watch_gap(self, now: Micros) -> None:
        """What waits may be waiting for a message that was lost, or only for one that was overtaken."""
        if self._graphs.present.inward.early and not self._gap_armed:
            self._gap_armed = True
            self._outbox.set_timer(GAP, 0, now + self._gap_us)

    def on_gap_timer(self, now: Micros) -> None:
        self._gap_armed = False
        if self._graphs.present.inward.early:
            self._send_ack(self._graphs.present, 0)
            self._gap_armed = True
            self._outbox.set_timer(GAP, 0, now + self._resend_us)

    def start_graph(self) -> None:
        """Nothing waits in a new graph."""
        if self._gap_armed:
            self._gap_armed = False
            self._outbox.cancel_timer(GAP, 0)


def _passed(message: Pass) -> Passed:
    return Passed(
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
