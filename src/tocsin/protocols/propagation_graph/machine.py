"""`propagation_graph`: messages to overlapping groups are ordered on their way down a forest of sites.

Paper: Garcia-Molina, Spauster, "Ordered and Reliable Multicast Communication", Princeton CS-TR-184-88, 1988.

| section                         | here                                  |
|---------------------------------|---------------------------------------|
| 3.1, appendix I: PG generator   | `tocsin.planning.propagation`, graph.py |
| 3.2, appendix I: MP protocol    | passing.py, sourcing.py, edges.py, stage.py |
| 5.1 dynamic groups              | changing.py                           |
| 5.2.1 non-atomic delivery       | watching.py, deciding.py, votes.py, recovering.py, fetching.py |
| 5.2.2 atomic delivery           | storage.py: a site goes on where it left off |

Deviations: docs/protocols/propagation_graph.md.
"""

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.propagation_graph.changing import CHANGE, COUNT, MANAGE
from tocsin.protocols.propagation_graph.deciding import GRACE, PUSH
from tocsin.protocols.propagation_graph.messages import Ack, Ask, Change, Close, Heard, Null, Pass, Places, Plan, Submit
from tocsin.protocols.propagation_graph.passing import ACK, GAP, RESEND
from tocsin.protocols.propagation_graph.record_messages import Opened
from tocsin.protocols.propagation_graph.recovering import FETCH
from tocsin.protocols.propagation_graph.recovery_messages import (
    Accept,
    Accepted,
    Decided,
    Fetch,
    Gone,
    Hello,
    Install,
    Prepare,
    Ready,
    Report,
    Supply,
    Wish,
)
from tocsin.protocols.propagation_graph.sourcing import SUBMIT
from tocsin.protocols.propagation_graph.storage import Storing
from tocsin.protocols.propagation_graph.watching import BEAT, WISH


class PropagationGraph(Storing):
    """Dispatches what happens to the parts of the protocol."""

    def on_start(self, now: Micros, records: list[Record]) -> None:
        if not records:
            first = Opened(self._stage.graph.decision)
            self._persist(first)
            self._recall(first)
            self._watch(now)
            return
        for record in records:
            self._recall(record)
        self.stat_records = len(records)
        for group in range(len(self._stage.graph.decision.groups)):
            self._ends[group] = self._log.end(group)
        self._resume(now)

    def _resume(self, now: Micros) -> None:
        """Go on where this site left off; what the others have is heard again."""
        for outlet in self._outlets.values():
            outlet.start_over()
        for number in sorted(self._stages):
            stage = self._stages[number]
            self._progress(now, stage)
            for child in stage.graph.children:
                self._arm_edge(now, stage, child, stage.edges[child])
            if stage.parent >= 0:
                stage.news = True
                self._arm_ack(now, 0)
        self._count(now)
        self._pump_outlets(now)
        self._ask_manager(now)
        if self._recovers:
            self._outbox.multicast(self._others(), Hello(self._stage.number))
            self._watch(now)
            self._install(now)
            self._consider(now)
        self._tell_graphs(now)
        for number in sorted(self._made):
            if number > self._stage.number:
                self._take_plan(now, self._made[number])
        self._finish(now)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = super().broadcast(now, group, payload)
        self._finish(now)
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        self._on_word(source)
        if isinstance(message, (Pass, Close, Submit)) and message.graph > self._stage.number:
            self._hold(source, message)
        elif isinstance(message, Pass):
            self._on_pass(now, source, message)
        elif isinstance(message, Submit):
            if message.graph == self._stage.number:
                self._on_submit(now, source, message)
        elif isinstance(message, Ack):
            if message.stream == 0:
                self._on_edge_ack(now, source, message)
            else:
                self._on_outlet_ack(now, source, message)
        elif isinstance(message, Null):
            self._on_null(now, source, message)
        elif isinstance(message, Close):
            self._on_close(now, source, message)
        elif self._recovers:
            self._on_recovery_message(now, source, message)
        else:
            self._on_manager_message(now, source, message)
        self._finish(now)

    def _on_manager_message(self, now: Micros, source: SiteId, message: Message) -> None:
        """Atomic: how groups change."""
        if isinstance(message, Plan):
            self._on_plan(now, source, message)
        elif isinstance(message, Heard):
            self._on_heard(source, message)
        elif isinstance(message, Change):
            self._on_change(now, source, message)
        elif isinstance(message, Ask):
            self._on_ask(source, message)
        elif isinstance(message, Places):
            self._on_places(now, source, message)

    def _on_recovery_message(self, now: Micros, source: SiteId, message: Message) -> None:
        """Non-atomic: how groups change and failed sites are left out."""
        if isinstance(message, Prepare):
            self._on_prepare(now, source, message)
        elif isinstance(message, Report):
            self._on_report(now, source, message)
        elif isinstance(message, Install):
            self._on_install(now, source, message)
        elif isinstance(message, Ready):
            self._on_ready(now, source, message)
        elif isinstance(message, Accept):
            self._on_accept(now, source, message)
        elif isinstance(message, Accepted):
            self._on_accepted(now, source, message)
        elif isinstance(message, Decided):
            self._on_decided(now, message.decision)
        elif isinstance(message, Hello):
            self._on_hello(now, source, message)
        elif isinstance(message, Wish):
            self._on_wish(now, source, message)
        elif isinstance(message, Change):
            self._on_change(now, source, message)
        elif isinstance(message, Fetch):
            self._on_fetch(source, message)
        elif isinstance(message, Supply):
            self._on_supply(now, source, message)
        elif isinstance(message, Gone):
            self._on_gone(now, source, message)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            self._on_edge_timer(now, key)
        elif timer == SUBMIT:
            self._on_submit_timer(now, key)
        elif timer == ACK:
            self._on_ack_timer(key)
        elif timer == GAP:
            self._on_gap(now)
        elif timer == COUNT:
            self._on_count_timer(now, key)
        elif timer == CHANGE:
            self._change_armed = False
            self._ask_manager(now)
        elif timer == MANAGE:
            self._manage_armed = False
            self._tell_graphs(now)
        elif timer == BEAT:
            self._on_beat(now)
        elif timer == WISH:
            self._on_wish_timer(now)
        elif timer == GRACE:
            self._maybe_propose(now, True)
        elif timer == PUSH:
            self._on_push(now)
        elif timer == FETCH:
            self._on_fetch_timer(now)
        self._finish(now)

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:
        super().change_group(now, group, members)
        self._finish(now)

    def _finish(self, now: Micros) -> None:
        """At the end of a step."""
        self._release(now)
        self._end_old_graphs()
        self._maybe_checkpoint()
