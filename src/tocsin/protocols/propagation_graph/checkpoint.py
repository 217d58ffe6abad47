"""The records on stable storage: how many there are, and when they are folded into a checkpoint."""

from typing import Final

from tocsin.core.machine import Outbox
from tocsin.core.message import Record

RECORDS_MAX: Final = 4_096  # records on disk before a checkpoint


class Checkpoints:
    """Records are folded once they are many, and more than twice what must be written again."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.stat_records = 0  # on disk

    def persist(self, record: Record) -> None:
        self._outbox.persist(record)
        self.stat_records += 1

    def recall(self, records: int) -> None:
        """So many were read back."""
        self.stat_records = records

    def may_be_due(self) -> bool:
        """Whether it is worth while to count what must be written again."""
        return self.stat_records >= RECORDS_MAX

    def is_due(self, needed: int) -> bool:
        """Whether to fold now, if so many records must be written again."""
        return self.stat_records >= RECORDS_MAX + 2 * needed

    def replace(self, records: list[Record]) -> None:
        """These stand for all records so far."""
        self._outbox.checkpoint(records)
        self.stat_records = len(records)
