"""The tables of producers of all groups at one member, and how the log keeps them.

A table stands at the newest step. The snapshot at the start of a file has it as it is after the batch that the snapshot
is in; the deliveries of later batches say what they accepted. So a restart needs no frame to have it again.
"""

from bisect import bisect_left

from tocsin.core.producers import Producers, producers_from_bytes
from tocsin.live.storage.log_format import Deliver, Missed, Op, Snapshot


class ProducerTables:
    """One member's."""

    def __init__(self) -> None:
        self.whole = True  # nothing of the order was missed here, so that nothing is missing in the tables
        self._tables: list[Producers] = []  # by group

    def __len__(self) -> int:
        return sum([len(table) for table in self._tables])

    def of(self, group: int) -> Producers:
        while len(self._tables) <= group:
            self._tables.append(Producers())
        return self._tables[group]

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

    def replay(self, ops: list[Op]) -> None:
        """A batch that is found in the log."""
        if ops and isinstance(ops[0], Snapshot):
            self._tables = [producers_from_bytes(data) for data in ops[0].tables]
            self.whole = ops[0].is_whole
            return
        for op in ops:
            if isinstance(op, Deliver) and op.runs:
                take_runs(self.of(op.group), op)
            elif isinstance(op, Missed) and op.position >= 0:
                self.replace(op.group, op.table)
            elif isinstance(op, Missed):
                self.on_missed()


def take_runs(table: Producers, op: Deliver) -> None:
    """The messages of a delivery that took positions, and that producers had numbered."""
    dropped = [index for index, _ in op.dropped]
    for run in op.runs:
        for offset in range(run.count):
            index = run.index + offset
            table.take(run.producer, run.number + offset, op.position + index - bisect_left(dropped, index))
