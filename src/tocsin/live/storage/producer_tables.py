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
        """Something of a group's order will never come here, and nobody has said what was in it."""
        self.whole = False

    def replace(self, group: int, data: bytes) -> Producers:
        """What was missed of a group is known: its table is as another member has handed it over."""
        self.of(group)
        self._tables[group] = producers_from_bytes(data)
        return self._tables[group]

    def replace_cursors(self, group: int, data: bytes) -> Cursors:
        """The same of its cursors; none are handed over by a member that knows of none."""
        self.cursors_of(group)
        self._cursors[group] = cursors_from_bytes(data) if data else Cursors()
        return self._cursors[group]

    def replay(self, ops: list[Op]) -> None:
        """A batch that is found in the log."""
        if ops and isinstance(ops[0], Snapshot):
            self._tables = [producers_from_bytes(data) for data in ops[0].tables]
            self._cursors = [cursors_from_bytes(data) for data in ops[0].cursors]
            self.whole = ops[0].is_whole
            return
        for op in ops:
            if isinstance(op, Deliver) and op.runs:
                take_runs(self.of(op.group), self.cursors_of(op.group), op)
            elif isinstance(op, Missed) and op.position >= 0:
                self.replace(op.group, op.table)
                self.replace_cursors(op.group, op.cursors)
            elif isinstance(op, Missed):
                self.on_missed()


def take_runs(table: Producers, cursors: Cursors, op: Deliver) -> None:
    """The messages of a delivery that took positions, and that producers had numbered; and moves of cursors."""
    dropped = [index for index, _ in op.dropped]
    for run in op.runs:
        if is_cursor(run.producer):
            cursors.take(run.producer, run.number + run.count - 1)
            continue
        for offset in range(run.count):
            index = run.index + offset
            table.take(run.producer, run.number + offset, op.position + index - bisect_left(dropped, index))
