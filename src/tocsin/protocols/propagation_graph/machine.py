"""`propagation_graph`: messages to overlapping groups are ordered on their way down a forest of sites.

Paper: Garcia-Molina, Spauster, "Ordered and Reliable Multicast Communication", Princeton CS-TR-184-88, 1988.

| section                         | here                                                                           |
|---------------------------------|--------------------------------------------------------------------------------|
| 3.1, appendix I: PG generator   | `tocsin.planning.propagation`; graph.py: the forest as one site sees it        |
| 3.2, appendix I: MP protocol    | message_passing.py; sources.py, primary.py, order.py, parent.py, children.py   |
| 5.1 dynamic groups              | atomic.py; manager.py, successor.py, counting.py, held.py                      |
| 5.2.1 non-atomic delivery       | non_atomic.py; detector.py, wishes.py, deciding.py, votes.py, fetching.py      |
| 5.2.2 atomic delivery           | atomic.py: a site goes on where it left off                                    |
| a lost disk (not in the paper)  | anew.py                                                                        |
| the message history, recovery   | records.py, `_recall`, `_fold`; history.py: what a site that is away may need  |

The machine has the message passing protocol, which is the same in both ways to meet failures, and one of the two ways
(recovery.py). Each part owns its fields: what may change one is in the file that defines it.

Deviations: docs/protocols/propagation_graph.md, "We differ from the paper in".
"""

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.anew import ANEW, Beginning
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.atomic import AtomicRecovery
from tocsin.protocols.propagation_graph.history import History
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import Anew, Told
from tocsin.protocols.propagation_graph.non_atomic import NonAtomicRecovery
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.records import Asked, Begun, Opened, Summary
from tocsin.protocols.propagation_graph.recovery import Recovery


class PropagationGraph(Machine):
    """A site of the protocol."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        self._outbox = outbox
        self._records = Records(outbox, options.records_max)
        self._asked = AskedChanges(setup.site, self._records)
        self._recovery: Recovery
        history = History(options.keep) if options.failures == "non_atomic" else None
        self._passing = MessagePassing(setup, options, history, self._records, outbox)
        self._beginning = Beginning(setup, options, self._passing, outbox)
        if history is not None:
            self._recovery = NonAtomicRecovery(
                setup, options, self._passing, history, self._beginning, self._asked, self._records, outbox
            )
        else:
            self._recovery = AtomicRecovery(
                setup, options, self._passing, self._beginning, self._asked, self._records, outbox
            )

    # Questions

    def room(self) -> int:
        return self._passing.outlets.room() if self._beginning.is_over else 0

    def room_for(self, group: GroupId) -> int:
        return self.room() if self._passing.graphs.primary_of(group) >= 0 else 0

    def quiet(self) -> bool:
        if not self._beginning.is_over:
            return False
        return self._asked.is_empty() and self._recovery.is_settled() and self._passing.is_settled()

    def groups(self) -> list[list[SiteId]] | None:
        return [list(members) for members in self._passing.graphs.newest.groups]

    # What happens

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, (Begun, Summary)):
                self._beginning.recall()
        if not self._beginning.is_over:
            self._asked.recall_all(records)
            self._beginning.ask(now)
            return
        if not records:
            decision = self._passing.graphs.decision()
            self._records.persist(Opened(decision))
            self._recovery.start(now, decision)
            return
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._passing.resume(now)
        self._recovery.resume(now)
        self._finish(now)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._passing.sources.broadcast(now, group, payload)
        self._finish(now)
        return seqno

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:
        self._asked.ask(group, members)
        if self._beginning.is_over:
            self._recovery.ask(now)
            self._finish(now)

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Told):
            if self._beginning.on_told(source, message):
                self._begin(now)
        elif not self._beginning.is_over:
            if isinstance(message, Anew):
                self._beginning.answer(source, message, 0, self._passing.graphs.newest)
            return
        elif isinstance(message, Anew):
            self._recovery.on_anew(now, source, message)
        else:
            self._recovery.on_message(now, source, message)
        self._finish(now)

    def _begin(self, now: Micros) -> None:
        """This site begins anew: all that it needs to know it has been told."""
        beginning = self._beginning
        graph = beginning.graph()
        assert graph is not None, "that it is decided is part of what is enough"
        founded = self._passing.graphs.present
        begun = Begun(graph, beginning.places())
        abstains = beginning.abstains(graph)
        self._records.persist(begun)
        self._records.persist(abstains)
        self._recall(begun)
        self._recall(abstains)
        for group, count in beginning.missed(graph):
            if count > 0:
                self._passing.application.miss(group, count)
        for group, origin, first, count in beginning.missed_of(graph):
            self._passing.application.miss_of(group, origin, first, count)
        self._passing.application.see_graph(founded, self._passing.graphs.present)
        self._asked.begin(dict(beginning.newest().applied))
        self._recovery.begin(now, graph)
        self._recovery.ask(now)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == ANEW:
            self._beginning.ask(now)
            return
        if not self._passing.on_timer(now, timer, key):
            self._recovery.on_timer(now, timer, key)
        self._finish(now)

    def _finish(self, now: Micros) -> None:
        """At the end of a step."""
        self._passing.finish(now)
        self._maybe_checkpoint()

    # Stable storage

    def _recall(self, record: Record) -> None:
        """Records are read in the order in which they were written, and do what they did then, without sending."""
        if isinstance(record, Begun):
            self._asked.recall_begun()
            self._passing.begin(record)
            self._recovery.recall(record)
        elif isinstance(record, Asked):
            self._asked.recall(record, self._passing.graphs.newest)
        elif not self._passing.recall(record):
            if isinstance(record, Summary):
                self._recall_summary(record)
            self._recovery.recall(record)

    def _recall_summary(self, record: Summary) -> None:
        """A checkpoint begins."""
        self._passing.outlets.numbers.resume(record.next_seqno)
        self._passing.graphs.forget_all()
        self._passing.places.recall_uncounted(record.uncounted)
        self._asked.recall_count(record.asked)

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is still needed, once they are many."""
        if not self._records.are_many(0):
            return False
        needed = self._passing.records_needed() + len(self._asked.fold()) + self._recovery.records_needed()
        if not self._records.are_many(2 * needed):
            return False
        self._records.fold(self._fold())
        self._records.release_log(len(self._passing.graphs.newest.groups))
        return True

    def _fold(self) -> list[Record]:
        """A checkpoint. Of the edges only what was trimmed is kept; the rest is heard again from the other ends."""
        records: list[Record] = [
            Summary(
                self._passing.outlets.numbers.following,
                self._asked.count(),
                self._passing.places.fold_uncounted(),
            )
        ]
        records.extend(self._passing.fold_graphs())
        records.extend(self._recovery.fold())
        records.extend(self._asked.fold())
        records.extend(self._passing.outlets.fold())
        return records
