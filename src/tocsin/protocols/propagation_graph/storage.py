"""Stable storage: what a site reads back after a crash, and how its records are folded.

Records are read in the order in which they were written, and do what they did then, without sending anything. Of the
edges only the numbers that were trimmed are kept; the rest is heard again from the other ends.
"""

from typing import Final

from tocsin.core.machine import Outbox, Setup
from tocsin.core.message import Record
from tocsin.protocols.propagation_graph.edges import TreeEdge
from tocsin.protocols.propagation_graph.fetching import Fetching
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.record_messages import (
    Asked,
    Counted,
    Decide,
    Forgotten,
    Kept,
    Known,
    Lacking,
    Learned,
    Opened,
    Passed,
    Planned,
    Promised,
    Sent,
    Settled,
    Staged,
    Summary,
    Voted,
)
from tocsin.protocols.propagation_graph.stage import Stage

RECORDS_MAX: Final = 4_096  # records on disk before a checkpoint
EVERYTHING: Final = 1 << 62


class Storing(Fetching):
    """Reads records and folds them."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self.stat_records = 0  # on disk since the last checkpoint

    def _persist(self, record: Record) -> None:
        self._outbox.persist(record)
        self.stat_records += 1

    def _recall(self, record: Record) -> None:
        if isinstance(record, Sent):
            self._next_seqno = max(self._next_seqno, record.seqno + 1)
            self._put_out(self._outlet(record.group), record)
        elif isinstance(record, Passed):
            self._note(self._stages[record.graph], record)
        elif isinstance(record, Opened):
            self._recall_opened(record.decision)
        elif isinstance(record, Asked):
            self._asked_count = max(self._asked_count, record.number + 1)
            self._asked.append(record)
            self._forget_asked(self._stage.graph.decision)
        elif isinstance(record, Planned):
            self._make(record.decision)
        elif isinstance(record, Counted):
            self._note_counted(record)
        elif isinstance(record, Promised):
            self._promised = record.ballot
            self._stopped = True
        elif isinstance(record, Voted):
            self._voted_ballot = record.ballot
            self._voted = record.decision
        elif isinstance(record, Learned):
            self._take_back(record.decision)
        elif isinstance(record, Kept):
            self._history.add(record.entry)
        elif isinstance(record, Forgotten):
            self._history.oldest = record.oldest
            self._history.floors = dict(record.floors)
        elif isinstance(record, Lacking):
            self._history.let_go_before(record.graph + 1)
        elif isinstance(record, Decide):
            self._decisions[record.decision.number] = record.decision
        elif isinstance(record, Known):
            self._places[(record.group, record.source)] = record.place
            self._final[(record.group, record.source)] = record.final
        elif isinstance(record, Settled):
            outlet = self._outlet(record.group)
            outlet.end = record.settled
            outlet.settled = record.settled
            outlet.start_over()
        elif isinstance(record, Staged):
            self._recall_stage(record)
        elif isinstance(record, Summary):
            self._recall_summary(record)

    def _recall_opened(self, decision: Decision) -> None:
        if decision.number > 0:
            self._switch(decision)
        else:
            self._stages = {}
            self._stage = self._add_stage(decision)
            self._made = {0: decision}
            self._decisions = {0: decision} if self._recovers else {}

    def _recall_summary(self, record: Summary) -> None:
        self._next_seqno = record.next_seqno
        self._asked_count = record.asked
        self._stages = {}
        self._made = {}
        self._unheard = {}
        self._previous = None
        for decision in record.previous:
            self._previous = decision
        for group, graph in record.uncounted:
            self._uncounted[group] = graph

    def _recall_stage(self, record: Staged) -> None:
        """A graph as it was when the checkpoint was made; the one before it, if there is one, is closed."""
        if self._stages:
            self._stage.close(record.decision)
            self._previous = self._stage.graph.decision
        stage = self._add_stage(record.decision)
        self._stage = stage
        stage.own = record.own
        stage.last_key = record.last_key
        stage.inward_first = record.inward
        stage.parent_stable = record.inward
        for group, rank in record.ranks:
            stage.ranks[group] = rank
        for child, floor in record.floors:
            stage.edges[child] = TreeEdge(floor)

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is still needed, once they are many."""
        if self.stat_records < RECORDS_MAX:
            return False
        needed = len(self._places) + len(self._asked) + len(self._made)
        for stage in self._stages.values():
            needed += len(stage.log) + 1
        for outlet in self._outlets.values():
            needed += len(outlet.waiting) + 1
        needed += self._history.count()
        if self.stat_records < RECORDS_MAX + 2 * needed:
            return False
        records = self._fold()
        self._outbox.checkpoint(records)
        self.stat_records = len(records)
        for group in range(len(self._stage.graph.primary)):
            self._outbox.trim(group, EVERYTHING)  # nothing here reads the log
        return True

    def _fold(self) -> list[Record]:
        previous: tuple[Decision, ...] = () if self._previous is None else (self._previous,)
        records: list[Record] = [
            Summary(self._next_seqno, self._asked_count, tuple(sorted(self._uncounted.items())), previous)
        ]
        for group, source in sorted(self._places):
            final = self._final.get((group, source), 0)
            records.append(Known(group, source, self._places[(group, source)], final))
        for number in sorted(self._stages):
            stage = self._stages[number]
            records.append(_staged(stage))
            for entry in stage.log:
                if entry is not None:
                    records.append(entry)
        if self._recovers:
            records.extend(self._fold_recovery())
        for number in sorted(self._made):
            records.append(Planned(self._made[number]))
        records.extend(self._asked)
        for group in sorted(self._outlets):
            outlet = self._outlets[group]
            records.append(Settled(group, outlet.end, outlet.settled))
            records.extend(outlet.waiting)
        return records

    def _fold_recovery(self) -> list[Record]:
        """What a site that is away may need, and how far the next graph is."""
        records: list[Record] = [Decide(self._decisions[number]) for number in sorted(self._decisions)]
        records.extend([Kept(entry) for entry in self._history.records()])
        records.append(Forgotten(self._history.oldest, tuple(sorted(self._history.floors.items()))))
        if self._promised:
            records.append(Promised(self._stage.number + 1, self._promised))
        if self._voted is not None:
            records.append(Voted(self._voted_ballot, self._voted))
        if self._learned is not None:
            records.append(Learned(self._learned))
        return records


def _staged(stage: Stage) -> Staged:
    floors = [(child, stage.edges[child].floor) for child in stage.graph.children]
    own = stage.own
    for entry in stage.log:
        if entry is not None and not entry.inward:
            own -= 1  # the entries follow, and count again
    ranks = tuple(sorted(stage.ranks.items()))
    return Staged(stage.graph.decision, ranks, own, stage.last_key, stage.inward_first, tuple(floors))
