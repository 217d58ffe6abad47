"""The tables of producers and of cursors of all groups at one member, and how the log keeps them.

A table stands at the newest step. The snapshot at the start of a file has it as it is after the batch that the snapshot
is in; the deliveries of later batches say what they accepted. So a restart needs no frame to have it again.
"""

from bisect import bisect_left

from tocsin.core.cursors import Cursors, cursors_from_bytes, is_cursor
from tocsin.core.producers import Producers, producers_from_bytes
from tocsin.live.storage.log_format import Deliver, Missed, Op, Snapshot


class ProducerTables:
    """One member's."""

    def __init__(self) -> None:
        self.whole = True  # nothing of the order was missed here, so that nothing is missing in the tables
        self._tables: list[Producers] = []  # by group
        self._cursors: list[Cursors] = []  # by group

    def __len__(self) -> int:
        return sum([len(table) for table in self._tables])

    def of(self, group: int) -> Producers:
        while len(self._tables) <= group:
            self._tables.append(Producers())
        return self._tables[group]

    def cursors_of(self, group: int) -> Cursors:
        while len(self._cursors) <= group:
            self._cursors.append(Cursors())
        return self._cursors[group]

    def all_cursors(self) -> dict[int, dict[str, int]]:
        """By group, by consumer: the next position that it wants."""
        return {group: cursors.rows() for group, cursors in enumerate(self._cursors) if len(cursors)}

    def cursors_state(self) -> tuple[bytes, ...]:
        """As a snapshot keeps it."""
        return tuple([each.to_bytes() for each in self._cursors]) if self.all_cursors() else ()

    def state(self) -> tuple[bytes, ...]:
        """As a snapshot keeps it."""
        return tuple([table.to_bytes() for table in self._tables]) if len(self) else ()

    def on_missed(self) -> None:
        """Something of a group's order will never come here."""
        self.whole = False

    def replay(self, ops: list[Op]) -> None:
        """A batch that is found in the log."""
        if ops and isinstance(ops[0], Snapshot):
            self._tables = [producers_from_bytes(data) for data in ops[0].tables]
            self._cursors = [cursors_from_bytes(data) for data in ops[0].cursors]
            self.whole = ops[0].is_whole
            return
        for op in ops:
            if isinstance(op, Deliver) and op.runs:
                self._take(op)
            elif isinstance(op, Missed):
                self.on_missed()

    def _take(self, op: Deliver) -> None:
        table = self.of(op.group)
        dropped = [index for index, _ in op.dropped]
        for run in op.runs:
            if is_cursor(run.producer):
                self.cursors_of(op.group).take(run.producer, run.number + run.count - 1)
                continue
            for offset in range(run.count):
                index = run.index + offset
                table.take(run.producer, run.number + offset, op.position + index - bisect_left(dropped, index))
