"""A machine's records on stable storage: counted as they are written, and folded into a checkpoint once they are many.

What a checkpoint holds is for the protocol to say. When one is due is the same for all: a restart reads at most
`Options.records_max` records and a few times what is still needed, and what is needed is written again only after at
least as much was written anew.
"""

from typing import Final

from tocsin.core.machine import Outbox
from tocsin.core.message import Record

RANGES_MAX: Final = 1 << 20  # ranges of one RangeSet in a checkpoint; a window of unordered arrivals is far below
EVERYTHING: Final = 1 << 62  # a position beyond the end of any log


class Records:
    """Writes records and counts them."""

    def __init__(self, outbox: Outbox, records_max: int) -> None:
        self._outbox = outbox
        self._records_max = records_max
        self.stat_count = 0  # on disk; it decides when they are folded, never what they say

    def recall(self, records: list[Record]) -> None:
        """After a start: these are on disk."""
        self.stat_count = len(records)

    def persist(self, record: Record) -> None:
        self._outbox.persist(record)
        self.stat_count += 1

    def are_many(self, needed: int) -> bool:
        """Whether a checkpoint is due; `needed` is what it would have to repeat, times a factor."""
        return self.stat_count >= self._records_max + needed

    def fold(self, records: list[Record]) -> None:
        """Replace all records by these."""
        self._outbox.checkpoint(records)
        self.stat_count = len(records)

    def release_log(self, groups: int) -> None:
        """For protocols that never read the delivery log: the owner's retention may drop all of it."""
        for group in range(groups):
            self._outbox.trim(group, EVERYTHING)
